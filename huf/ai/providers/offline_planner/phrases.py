"""What the offline planner says, in four languages. Only data: `say` picks a sentence and fills it in."""

from huf.ai.providers.offline_planner.words import LANGUAGES

PHRASES = {
	"no_model": (
		"No model is configured, so I follow fixed rules and understand simple requests only.",
		"Es ist kein Modell eingerichtet: Ich folge festen Regeln und verstehe nur einfache Bitten.",
		"No hay ningún modelo configurado: sigo reglas fijas y solo entiendo peticiones sencillas.",
		"Není nastaven žádný model: řídím se pevnými pravidly a rozumím jen jednoduchým žádostem.",
	),
	"add_model": (
		"To add one, open **Models** in Huf and add an AI Provider with its API key.",
		"Um eines hinzuzufügen, öffne in Huf **Models** und lege einen AI Provider mit seinem API-Schlüssel an.",
		"Para añadir uno, abre **Models** en Huf y crea un AI Provider con su clave de API.",
		"Model přidáte v Huf: otevřete **Models** a založte AI Provider s jeho API klíčem.",
	),
	"not_understood": (
		"I did not understand that well enough to act on it.",
		"Das habe ich nicht gut genug verstanden, um etwas zu tun.",
		"No lo he entendido lo bastante bien como para hacer algo.",
		"Tomu jsem nerozuměl natolik, abych něco udělal.",
	),
	"cannot": (
		"None of my tools does that with {thing}. What I can do with it: {deeds}.",
		"Keines meiner Werkzeuge kann das mit {thing}. Was ich damit kann: {deeds}.",
		"Ninguna de mis herramientas hace eso con {thing}. Lo que sí puedo: {deeds}.",
		"Žádný z mých nástrojů to s {thing} neumí. Co s tím umím: {deeds}.",
	),
	"abilities": ("What I can do here:", "Was ich hier kann:", "Lo que puedo hacer aquí:", "Co tu umím:"),
	"no_tools": (
		"This agent has no tools, so I can neither look anything up nor change anything.",
		"Dieser Agent hat keine Werkzeuge; ich kann also nichts nachsehen und nichts ändern.",
		"Este agente no tiene herramientas, así que no puedo consultar ni cambiar nada.",
		"Tento agent nemá žádné nástroje, takže nemohu nic vyhledat ani změnit.",
	),
	"greeting": ("Hello!", "Hallo!", "¡Hola!", "Dobrý den!"),
	"thanks": ("You are welcome.", "Gern geschehen.", "De nada.", "Není zač."),
	"bye": ("Goodbye!", "Auf Wiedersehen!", "¡Hasta luego!", "Na shledanou!"),
	"ok": ("All right.", "In Ordnung.", "De acuerdo.", "Dobře."),
	"never_mind": (
		"All right, nothing was done.",
		"In Ordnung, es wurde nichts getan.",
		"De acuerdo, no se ha hecho nada.",
		"Dobře, nic se nestalo.",
	),
	"not_done": (
		"I changed nothing: this reads like a question about a change, or a wish that it not be made.",
		"Ich habe nichts geändert: Das liest sich wie eine Frage nach einer Änderung oder wie ein Verbot.",
		"No he cambiado nada: esto parece una pregunta sobre un cambio, o el deseo de que no se haga.",
		"Nic jsem nezměnil: zní to jako otázka na změnu nebo přání, aby se nestala.",
	),
	"ask_field": (
		"What should **{field}** be for {thing}?",
		"Was soll in {thing} bei **{field}** stehen?",
		"¿Qué valor debe tener **{field}** en {thing}?",
		"Co má být v {thing} v poli **{field}**?",
	),
	"ask_option": (
		"What should **{field}** be for {thing}? One of: {options}.",
		"Was soll in {thing} bei **{field}** stehen? Möglich sind: {options}.",
		"¿Qué valor debe tener **{field}** en {thing}? Uno de: {options}.",
		"Co má být v {thing} v poli **{field}**? Na výběr je: {options}.",
	),
	"ask_name": (
		"Which {thing}? Please give its exact name.",
		"Welcher Eintrag in {thing}? Bitte nenne den genauen Namen.",
		"¿Qué registro de {thing}? Indica su nombre exacto.",
		"Který záznam v {thing}? Uveďte prosím jeho přesný název.",
	),
	"ask_exact": (
		"I do this only to a document whose exact name you give. These come closest:",
		"Das mache ich nur mit einem Eintrag, dessen genauen Namen du nennst. Am nächsten kommen:",
		"Solo lo hago con un registro cuyo nombre exacto indiques. Los más parecidos:",
		"To udělám jen se záznamem, jehož přesný název uvedete. Nejblíže jsou:",
	),
	"ask_which": (
		"Several fit. Which one do you mean? Please give its name:",
		"Mehrere passen. Welchen meinst du? Bitte nenne den Namen:",
		"Hay varios que encajan. ¿Cuál? Indica su nombre:",
		"Odpovídá jich víc. Který myslíte? Uveďte prosím název:",
	),
	"none_fits": (
		"I found no {thing} that fits “{text}”.",
		"Ich habe in {thing} nichts gefunden, das zu „{text}“ passt.",
		"No he encontrado ningún registro de {thing} que encaje con «{text}».",
		"V {thing} jsem nenašel nic, co odpovídá „{text}“.",
	),
	"ask_change": (
		"What should change in {thing}? For example: set {example}.",
		"Was soll sich in {thing} ändern? Zum Beispiel: setze {example}.",
		"¿Qué debe cambiar en {thing}? Por ejemplo: cambia {example}.",
		"Co se má v {thing} změnit? Například: nastav {example}.",
	),
	"ask_tool": (
		"Do you mean {options}?",
		"Meinst du {options}?",
		"¿Te refieres a {options}?",
		"Myslíte {options}?",
	),
	"or": (" or ", " oder ", " o ", " nebo "),
	"count": (
		"There are **{count}** {thing} records{where}.",
		"Es gibt **{count}** Einträge in {thing}{where}.",
		"Hay **{count}** registros de {thing}{where}.",
		"Počet záznamů v {thing}{where}: **{count}**.",
	),
	"count_one": (
		"There is **1** {thing} record{where}.",
		"Es gibt **1** Eintrag in {thing}{where}.",
		"Hay **1** registro de {thing}{where}.",
		"Počet záznamů v {thing}{where}: **1**.",
	),
	"count_none": (
		"There are no {thing} records{where}.",
		"Es gibt keine Einträge in {thing}{where}.",
		"No hay registros de {thing}{where}.",
		"V {thing} nejsou žádné záznamy{where}.",
	),
	"count_more": (
		"There are more than **{count}** {thing} records{where}; I can count no further.",
		"Es gibt mehr als **{count}** Einträge in {thing}{where}; weiter kann ich nicht zählen.",
		"Hay más de **{count}** registros de {thing}{where}; no puedo contar más.",
		"V {thing} je víc než **{count}** záznamů{where}; dál počítat neumím.",
	),
	"list": (
		"{thing}{where}, **{count}** found:",
		"{thing}{where}, **{count}** gefunden:",
		"{thing}{where}, **{count}** encontrados:",
		"{thing}{where}, nalezeno **{count}**:",
	),
	"more": (
		"There are more than these.",
		"Es gibt noch mehr davon.",
		"Hay más, aparte de estos.",
		"Existují i další.",
	),
	"unused": (
		"I could not take these words into account: {words}.",
		"Diese Wörter konnte ich nicht berücksichtigen: {words}.",
		"No he podido tener en cuenta estas palabras: {words}.",
		"Tato slova jsem nemohl vzít v úvahu: {words}.",
	),
	"mine": (
		"These are all that you may see, not only your own.",
		"Das sind alle, die du sehen darfst, nicht nur deine eigenen.",
		"Son todos los que puedes ver, no solo los tuyos.",
		"To jsou všechny, které smíte vidět, nejen vaše.",
	),
	"create": (
		"Created {thing} {what}{how}.",
		"{thing} {what} angelegt{how}.",
		"{thing} {what} creado{how}.",
		"{thing} {what}: vytvořeno{how}.",
	),
	"update": (
		"Changed {thing} {what}{how}.",
		"{thing} {what} geändert{how}.",
		"{thing} {what} modificado{how}.",
		"{thing} {what}: změněno{how}.",
	),
	"delete": ("Deleted {thing} {what}.", "{thing} {what} gelöscht.", "{thing} {what} eliminado.", "{thing} {what}: smazáno."),
	"submit": ("Submitted {thing} {what}.", "{thing} {what} gebucht.", "{thing} {what} validado.", "{thing} {what}: schváleno."),
	"cancel": ("Cancelled {thing} {what}.", "{thing} {what} storniert.", "{thing} {what} cancelado.", "{thing} {what}: stornováno."),
	"failed": ("That did not work: {error}", "Das ging nicht: {error}", "No ha funcionado: {error}", "To se nepodařilo: {error}"),
	"no_result": ("`{tool}` gave no result.", "`{tool}` gab kein Ergebnis.", "`{tool}` no dio resultado.", "`{tool}` nic nevrátil."),
	"can_list": ("count and list", "zählen und auflisten", "contar y listar", "spočítat a vypsat"),
	"can_get": ("show one", "einzeln zeigen", "mostrar uno", "ukázat jeden"),
	"can_create": ("create", "anlegen", "crear", "vytvořit"),
	"can_update": ("change", "ändern", "modificar", "změnit"),
	"can_delete": ("delete by exact name", "löschen (genauer Name)", "eliminar por nombre exacto", "smazat podle přesného názvu"),
	"can_submit": ("submit by exact name", "buchen (genauer Name)", "validar por nombre exacto", "schválit podle přesného názvu"),
	"can_cancel": ("cancel by exact name", "stornieren (genauer Name)", "cancelar por nombre exacto", "stornovat podle přesného názvu"),
}  # fmt: skip


def say(key: str, language: str = "en", **values: object) -> str:
	"""A sentence in a language, with its places filled in."""
	return PHRASES[key][LANGUAGES.index(language)].format(**values)
