"""The words the offline planner knows, in four languages. Only data: no rule lives here.

Each row has one string a language, in the order of LANGUAGES. Words are folded (small letters, no accents, ss
for the sharp s), `_` joins the words of a phrase, a trailing `*` stands for any ending.
"""

from enum import Enum

LANGUAGES = ("en", "de", "es", "cs")


class Operation(str, Enum):
	"""What a request wants done, and what a tool does."""

	COUNT = "count"
	LIST = "list"
	GET = "get"
	CREATE = "create"
	UPDATE = "update"
	DELETE = "delete"
	SUBMIT = "submit"
	CANCEL = "cancel"


VERBS = {
	Operation.COUNT: (
		"how_many count number_of",
		"wie_viele wieviele anzahl",
		"cuantos cuantas numero_de",
		"kolik pocet",
	),
	Operation.LIST: (
		"list show display find search see view which what who give get fetch tell look_up",
		"zeig zeige zeigen liste auflisten welche* suche suchen finde finden gib nenne was wer",
		"lista listar muestra muestrame mostrar ver busca buscar encuentra dame dime cuales que quien",
		"ukaz* zobraz* vypis vypsat najdi najit hledej vyhledej ktere kteri ktery jake co kdo dej seznam",
	),
	Operation.CREATE: (
		"create add new insert register set_up make_a make_an make_me make_new write_a write_an write_down remind remind_me",
		"erstell erstelle erstellen anlegen lege fuge hinzufugen neue neuen neues neuer notiere schreib schreibe "
		"eintragen erinner erinnere erinner_mich erinnere_mich",
		"crea crear creame anade anadir agrega agregar nueva nuevo apunta anota escribe registra recuerdame",
		"vytvor* pridej pridat zaloz zalozit novy nova nove novou napis zapis pripomen pripomen_mi",
	),
	Operation.UPDATE: (
		"update change set edit modify mark rename assign close complete finish reopen enable disable activate "
		"deactivate move postpone reschedule",
		"andere andern aktualisier* setz setze setzen markier* bearbeite bearbeiten schliess* erledig* abschliessen "
		"umbenennen weise aktivier* deaktivier* verschieb*",
		"actualiza actualizar cambia cambiar modifica modificar marca marcar pon edita cierra cerrar completa "
		"termina renombra asigna reabre activa desactiva mueve aplaza",
		"zmen* uprav* nastav* oznac* zavri uzavri dokonci prejmenuj prirad aktualizuj povol zakaz presun* odloz",
	),
	Operation.DELETE: (
		"delete remove erase purge wipe destroy",
		"losch losche loschen entferne entfernen",
		"elimina eliminar borra borrar quita",
		"smaz smazat odstran odstranit vymaz vymazat",
	),
	Operation.SUBMIT: ("submit", "einreichen buche", "presenta valida", "schval predloz"),
	Operation.CANCEL: (
		"cancel",
		"storniere stornieren",
		"cancela cancelar anula anular",
		"zrus zrusit stornuj stornovat",
	),
}

REMINDERS = {
	"todo": (
		"remind remind_me",
		"erinner erinnere erinner_mich erinnere_mich",
		"recuerdame",
		"pripomen pripomen_mi",
	)
}
"""Verbs that name what is to be created."""

ACHIEVEMENTS = {
	"closed": (
		"close complete finish",
		"schliess* erledig* abschliessen",
		"cierra cerrar completa termina",
		"zavri uzavri dokonci",
	),
	"open": ("reopen", "", "reabre", ""),
	"enabled": ("enable activate", "aktivier*", "activa", "povol"),
	"disabled": ("disable deactivate", "deaktivier*", "desactiva", "zakaz"),
	"cancelled": ("cancel", "storniere stornieren", "cancela cancelar anula anular", "zrus zrusit"),
}
"""Verbs that name the value a field is to get."""

VALUES = {
	"open": ("open pending", "offen*", "abiert* pendiente*", "otevren*"),
	"closed": (
		"closed done completed complete finished",
		"geschlossen* erledigt* abgeschlossen* fertig",
		"cerrad* hech* terminad* completad*",
		"uzavren* hotov* splnen* dokoncen*",
	),
	"cancelled": ("cancelled canceled", "storniert* abgebrochen*", "cancelad* anulad*", "zrusen*"),
	"high": (
		"high urgent important",
		"hoch hohe* wichtig* dringend*",
		"alta alto urgente* important*",
		"vysok* naleh*",
	),
	"medium": ("medium normal", "mittel* normal*", "media medio normal", "stredn*"),
	"low": ("low", "niedrig*", "baja bajo", "nizk*"),
	"enabled": ("enabled active", "aktiv*", "activ* habilitad*", "aktivni* povolen*"),
	"disabled": (
		"disabled inactive blocked",
		"deaktiviert* inaktiv* gesperrt*",
		"desactivad* inactiv* deshabilitad*",
		"neaktivni* deaktivovan* zakazan*",
	),
	"public": ("public", "offentlich*", "public*", "verejn*"),
}

FIELDS = {
	"status": ("status state", "status zustand", "estado", "stav"),
	"priority": ("priority", "prioritat", "prioridad", "priorita priority prioritu prioritou"),
	"description": ("description described", "beschreibung", "descripcion", "popis popisem"),
	"title": (
		"title titled name named called subject",
		"titel betitelt namens name betreff",
		"titulo titulad* llamad* nombre asunto",
		"nazev nazvem nazvan* jmeno jmenem predmet",
	),
	"content": (
		"content contents text body message saying",
		"inhalt text nachricht",
		"contenido texto mensaje",
		"obsah obsahem text textem",
	),
	"date": ("date due deadline", "datum fallig*", "fecha", "datum termin terminem"),
	"email": ("email e-mail mail", "e-mail email mail", "correo email", "e-mail email mail"),
	"assignee": (
		"assigned assignee assign allocated owner",
		"zugewiesen weise",
		"asignad* asigna",
		"prirazen* prirad",
	),
	"city": ("city town location place", "stadt ort", "ciudad lugar", "mesto misto"),
	"language": ("language", "sprache", "idioma lengua", "jazyk*"),
}
"""Cues for a field's value. A tool's argument belongs to the row that one of its own words is in."""

TEXT_CUES = {"title": ("titled named called", "betitelt namens", "titulad* llamad*", "nazvan*")}
"""Cues that announce a title on their own, without a "with" before them."""

FUNCTION_WORDS = (
	"a an the of in on at by for from to and or is are was were be been do does did have has had there here i "
	"you your we our it its this that these those any all some can could would will want need like currently "
	"existing me us so just now still about into as with system record records entry entries every many much "
	"everything everyone anything them one ones",
	"der die das den dem des ein eine einen einer eines es gibt ist sind im in am an auf zu zur zum von vom fur "
	"mit und oder ich du wir mir mich uns mein meine meinen meiner alle aller hier bitte kannst konnen konntest "
	"mochte will hat haben habe gerade aktuell noch so als hinzu system vorhanden vorhandenen eintrage viele "
	"alles",
	"el la los las un una unos unas de del en y o a al es son hay esta estan por para con mi mis me nos tu tus se "
	"su sus todos todas lo le les puedes puede quiero tengo tiene sistema como registros actualmente "
	"todo",
	"je jsou v ve na do od z ze s se si a i nebo o u k pro za ten ta to tom ty muj moje moji me mych mi mne nam "
	"vsechny vsech vsechna muzes prosim chci mam mate mame systemu jako zaznamu zaznamy aktualne tu tady zde "
	"vse vsechno",
)
RUN = (
	"run execute start use call ask do",
	"starte fuhre benutze frage",
	"ejecuta usa pregunta",
	"spust pouzij zeptej",
)
"""Verbs for tools of any kind."""
ARTICLES = ("the a an", "dem der die das den einem einer ein eine", "el la los un una", "")
MINE = ("my mine", "mein meine meinen meiner", "mi mis", "muj moje moji me mych")
POLITE = ("please pls kindly thanks thank_you", "bitte danke", "por_favor gracias", "prosim diky dekuji")
NEGATIONS = (
	"not don't dont never without",
	"nicht kein keine keinen nie ohne",
	"no nunca sin",
	"ne nikdy bez",
)
DOUBTS = (
	"how why should when did does was were who if whether can_i may_i could_i",
	"wie warum wieso weshalb soll sollte wann wer wenn falls ob darf_ich kann_ich",
	"como por_que deberia debo cuando quien si puedo",
	"jak proc kdy kdo mel mela pokud kdyz jestli muzu mohu smim",
)
"""Before a verb of change they make the request a question about it."""
NEVER_MIND = (
	"never_mind nevermind forget_it stop cancel no",
	"egal vergiss_es abbrechen stopp nein",
	"olvidalo cancela no dejalo",
	"nech_to zrusit nic ne",
)

LEADS = (
	"to that for about which saying",
	"um zu zum dass fur uber an hinzu daran",
	"para de que sobre a",
	"aby na pro o ze",
)
"""What stands between "a todo" and its text."""
INTO = (
	"to_my to_the to_our onto_my on_my",
	"zu_meinen zu_meiner zu_den auf_meine zur",
	"a_mis a_mi a_la a_las",
	"do_mych k_mym mezi_me do",
)
JOINERS = ("with and having", "mit und", "con y", "s se a")
MARKERS = ("as to is into with", "als auf in zu mit", "como a en con", "jako na za s")
"""Between a document's name and the value it is to get."""
SEARCH_CUES = (
	"about containing named called matching mentioning with like",
	"uber mit namens",
	"sobre con llamad*",
	"o obsahujici s jmenem",
)
THEN = (
	"and_then then after_that and_afterwards",
	"und_dann dann danach",
	"y_luego luego despues y_despues",
	"a_pak pak potom a_potom",
)
AND = ("and also", "und", "y", "a")
OF = ("of for", "von des der vom fur", "de del", "")

ORDERS = {
	"creation desc": (
		"last latest newest recent most_recent",
		"letzte* neueste* neuste*",
		"ultim* reciente*",
		"posledni* nejnovejsi*",
	),
	"creation asc": ("first oldest earliest", "erste* alteste*", "primer* antigu*", "prvni* nejstarsi*"),
}

SMALLTALK = {
	"greeting": (
		"hi hello hey good_morning good_afternoon good_evening",
		"hallo guten_tag guten_morgen guten_abend moin servus",
		"hola buenos_dias buenas_tardes buenas_noches",
		"ahoj dobry_den dobre_rano dobry_vecer nazdar cau",
	),
	"thanks": (
		"thanks thank_you thx cheers",
		"danke dankeschon vielen_dank",
		"gracias muchas_gracias",
		"diky dekuji dekuju",
	),
	"bye": (
		"bye goodbye good_bye see_you",
		"tschuss auf_wiedersehen bis_bald",
		"adios hasta_luego hasta_pronto",
		"na_shledanou sbohem",
	),
	"ok": (
		"ok okay alright great cool yes no",
		"ok okay gut super ja nein",
		"ok vale bien bueno si",
		"ok dobre super ano",
	),
	"help": (
		"help what_can_you_do what_do_you_do what_are_you_able what_can_i_ask which_tools_do_you what_tools_do_you",
		"hilfe was_kannst_du was_konnen_sie welche_werkzeuge",
		"ayuda que_puedes_hacer que_sabes_hacer que_herramientas",
		"pomoc co_umis co_dokazes co_muzes co_umite",
	),
	"identity": (
		"who_are_you what_are_you are_you_an_ai are_you_a_model are_you_chatgpt are_you_a_bot which_model "
		"what_model",
		"wer_bist_du was_bist_du bist_du_eine_ki welches_modell",
		"quien_eres que_eres eres_una_ia que_modelo",
		"kdo_jsi co_jsi jsi_ai jsi_model jaky_model",
	),
}
