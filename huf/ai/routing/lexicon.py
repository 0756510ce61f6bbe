"""Maps words of four languages to concepts, so that what is learned in one language helps in the others.

Words are in lower case without accents. word* is a prefix, *word a suffix; underscores join the words of a
phrase.
"""

from enum import Enum


class Concept(str, Enum):
	"""What a word says about a message.

	Values are terms of the trained model: change them only with a new training.
	"""

	WHAT = "what"
	WHO = "who"
	HOW = "how"
	HOW_MANY = "how_many"
	WHY = "why"
	WHEN = "when"
	WHERE = "where"
	WHICH = "which"
	IS = "is"
	MEANS = "means"
	GENERAL = "general"
	ADVICE = "advice"
	DRAFT = "draft"
	TEXT = "text"
	CODE = "code"
	DEED = "deed"
	SEND = "send"
	LOOK = "look"
	TELL = "tell"
	RECORD = "record"
	WORK = "work"
	STATE = "state"
	NOW = "now"
	WORLD = "world"
	WEB = "web"
	OWN = "own"
	FILE = "file"
	ATTACHED = "attached"
	TALK = "talk"
	YOU = "you"
	ME = "me"
	PLEASE = "please"
	THE = "the"
	A = "a"
	PRODUCT = "product"
	THEN = "then"
	IF = "if"
	NOT = "not"
	TOOL = "tool"
	FEELING = "feeling"
	LEARNED = "learned"
	ONE = "one"
	EASY = "easy"


C = Concept
WORDS: dict[Concept, str] = {
	C.WHAT: "what what's whats wat que q cual cuales was co jaky jaka jake jakou cemu cim ceho",
	C.WHO: "who who's whose quien quienes wer wem wen kdo komu koho",
	C.HOW: "how como wie jak",
	C.HOW_MANY: (
		"how_many how_much how_long how_far how_often count number_of cuanto cuanta cuantos cuantas "
		"wieviel* wie_viel* "
		"wie_lange wie_oft wie_weit anzahl kolik pocet pocty"
	),
	C.WHY: "why por_que porque warum wieso weshalb proc how_come",
	C.WHEN: "when cuando wann kdy",
	C.WHERE: "where donde wo kde kam",
	C.WHICH: "which whichever cuales welche* ktery ktera ktere kteri kterych kterym kterou",
	C.IS: (
		"is are was were be been has have had did does do es son esta estan ha han hay fue era tenemos "
		"tiene ist sind war waren "
		"hat haben gibt wurde wird je jsou byl byla bylo byly ma mame maji bude neni"
	),
	C.MEANS: (
		"mean means meant meaning stand_for stands_for define definition difference differ* concept term "
		"purpose what_is_a "
		"explain* explane describe significa* defin* diferencia* concepto termino explica* esplica "
		"describe* sirve consiste "
		"heisst bedeutet bedeutung unterschied* begriff erklar* erlauter* beschreib* wozu znamena* rozdil* "
		"pojem vysvetli* "
		"objasni* popis slouzi"
	),
	C.GENERAL: (
		"usually generally general typically typical normally normal usual principle always ever people "
		"companies firms "
		"company rule_of_thumb legally legal allowed common famous basics history theory advantages "
		"disadvantages pros cons risks steps "
		"suele* generalmente general normalmente normal tipic* principio gente empresas empresa legal* "
		"ventajas desventajas "
		"riesgos pasos historia teoria frecuente* famos* habitual* "
		"ublich* normalerweise generell allgemein* grundsatzlich firmen unternehmen rechtlich vorteile "
		"nachteile "
		"risiken schritte geschichte theorie typisch* beruhmt* faustregel "
		"obvykle bezne obecne zasade lide firmy firma pravne vyhody nevyhody rizika kroky historie teorie "
		"typick* caste "
		"slavn* byva* mivaji"
	),
	C.ADVICE: (
		"should would could better best good advice tips recommend worth suggest ideas idea "
		"debo deberia* debe deben mejor bueno buena buenas consejo* recomi* recomend* conviene compensa "
		"ideas aconseja* "
		"sollte soll wurde besser beste guten gute gutes rat tipps empfiehl empfehl* lohnt ideen vorschlage* "
		"mel mela bych bys lepsi nejlepsi dobry dobra dobre dobrou rada rady porad* doporuc* vyplati napady "
		"namety"
	),
	C.DRAFT: (
		"write compose draft rewrite rephrase reword translate summarise summarize shorten shorter correct "
		"proofread spell "
		"brainstorm invent imagine pretend role suggest sort turn convert come_up outline plan formulate "
		"phrase paraphrase "
		"congratulate teach say name "
		"escrib* redact* reescrib* traduc* resum* acort* corrig* corrige invent* imagin* sugier* sugiere "
		"propon* esboz* ordena "
		"convierte enumera nombra di ensename ponlo deletrea "
		"schreib* verfass* formulier* ubersetz* fass* zusammenfass* kurz* korrigier* erfind* entwirf "
		"entwerf* denk* dicht* "
		"skizzier* sortier* nenn* spiel* bring* umformulier* buchstabier* setz_die wandle* "
		"napis* sepis* preformuluj* prepis* prelo* shrn* shrnout zkrat* oprav* vymysl* navrhn* nastin* "
		"serad* preved* vyjmenuj* "
		"rekni zahraj* nauc* predstav* hlaskuj*"
	),
	C.TEXT: (
		"letter poem story joke haiku limerick slogan name title titles text sentence paragraph post "
		"template sample example "
		"examples word words synonym recipe checklist agenda caption lyrics riddle quiz regex rhyme quote "
		"clause speech "
		"grammar typo spelling bullet bullets reply german french spanish english "
		"carta poema cuento chiste eslogan nombre titulo titulos texto frase parrafo plantilla ejemplo "
		"palabra sinonimo receta "
		"esquema guion adivinanza rima clausula nota ingles frances gramatica errata vinetas "
		"brief gedicht geschichte witz name namen titel text satz absatz vorlage muster beispiel wort "
		"worter rezept "
		"checkliste tagesordnung ratsel reim klausel zeilen stichpunkt* grammatik tippfehler englisch* "
		"spanisch franzosisch "
		"dopis basen basnicku pohadku povidku vtip slogan jmeno nazev nadpis* text vetu veta vety odstavec "
		"sablon* vzor "
		"priklad slovo synonymum recept osnov* kontrolni hadanku rym dolozku gramatiku pravopis preklep "
		"odrazek anglictiny "
		"anglicky spanelstiny nemciny"
	),
	C.CODE: (
		"function python javascript bash sql vba macro query loop git commit json yaml regex dockerfile "
		"code http join get post "
		"webhooks api funcion codigo bucle consulta comando expresion funktion code schleife abfrage befehl "
		"makro ausdruck "
		"funkci funkce kod kodu cyklus dotaz prikaz makro vyraz vzorec formula formel"
	),
	C.DEED: (
		"create make issue open close set update change cancel delete remove approve reject assign move add "
		"book reserve schedule "
		"remind reminder register log mark post submit renew archive block unblock merge attach upload "
		"import export rename print "
		"reorder order reconcile match split undo restart raise lock pay transfer write_off notify raise "
		"give put invite "
		"duplicate execute run generate fix correct it record note convert fill forward cancel release hold "
		"copy import "
		"crea creale haz hazme emite abre cierra pon ponme ponle cambia actualiza anula cancela borra "
		"elimina quita aprueba "
		"rechaza asigna asignale mueve anade reserva programa recuerdame registra apunta anota contabiliza "
		"renueva archiva "
		"bloquea fusiona une adjunta sube importa exporta renombra imprime concilia divide deshaz paga "
		"traspasa avisame avisa "
		"cita duplica ejecuta lanza genera da dale deja comunica informa pide haced retrasa imputa baja "
		"marca prepara saca "
		"leg lege erstell* stell* offne schliess* setz* ander* aktualisier* stornier* losch* entfern* "
		"genehmig* lehn* weise "
		"verschieb* schieb* buch* reservier* plan* erinner* registrier* notier* vermerk* verbuch* "
		"verlanger* archivier* sperr* "
		"hang* lade importier* exportier* benenn* druck* bestell* gleich* teil* starte stopp* erhoh* "
		"bezahl* uberweis* umlager* "
		"melde gib nimm kopier* fuhr* generier* erzeug* trag* trage halte heb* zusammenlegen anheben "
		"uberfuhre uberweise mahn* "
		"zaloz* vytvor* vystav* otevri uzavri zavri nastav* zmen* aktualizuj* storno* stornuj* smaz* vymaz* "
		"odstran* schval* "
		"zamitni prirad* presun* posun* pridej zamluv* rezervuj* naplanuj* pripomen* upozorni zapis* "
		"poznamenej zauctuj* "
		"prodluz* archivuj* zablokuj* odblokuj* sluc* spoj* pripoj* priloz* nahraj* naimportuj* vyexportuj* "
		"prejmenuj* vytiskni "
		"objednej* sparuj* rozdel* vrat* spust* zvedni zaplat* odepis* vyhod* vygeneruj* zkopiruj* proved* "
		"udelej* dej "
		"preved* pust* zarezervuj* poznac* urguj* zastav* zdraz* pozastav* odskrtni prehod* predej vloz* "
		"pozvi"
	),
	C.SEND: (
		"send email_to mail forward ping notify reply answer invite envia* manda* mandale mandame reenvia* "
		"escribele avisa "
		"contesta responde schick* sende verschick* leite weiter antwort* beantwort* lade_ein posli poslat "
		"preposli rozesli "
		"odpovez odeslat vyrid* call tell inform"
	),
	C.FEELING: (
		"feel nervous afraid bored sad tired angry happy stressed overwhelmed triste nervios* aburro "
		"agobiad* mal cansa* miedo "
		"nervos traurig fad mude schlecht angst gestresst bojim nudim smutn* mizerne unav* nervozn* stres*"
	),
	C.LEARNED: (
		"invented caused century history capital planet wrote born died king war country ancient roman* "
		"theory famous economist* "
		"when_did invento causo capital planeta murio nacio rey guerra pais roman* "
		"erfunden hauptstadt planet geschrieben starb romer krieg land kurs_fur "
		"vynalezl* zpusobil* hlavni_mesto planeta napsal* zemrel* dozil* valk* riman* byznys"
	),
	C.ONE: "one se si man einem einer jeden someone",
	C.EASY: (
		"beginners kids children school new_colleague simple simpler short shortly briefly roughly words "
		"sentences "
		"principiantes ninos nino escuela sencill* breve* brevemente frases anfanger* kind kindern kinder "
		"einfach* kurz grob "
		"zacatecni* diteti detem skolak* jednodus* strucn* kratce zhruba vetami"
	),
	C.LOOK: (
		"find search look lookup check show list pull get see compare count read verify fetch investigate "
		"research see_if rank "
		"monitor watch find_out review analyze analyse summarize scan browse need give_me show_me pull_up "
		"let_me_know locate "
		"busca* buscar encuentra* localiza averigua* comprueba* mira* revisa* ensena* muestra* lista* lee "
		"leeme compara consulta "
		"investiga* descarga* dime consigue* consigueme cuenta necesito quiero ver pasame averiguar "
		"analiza* vigila* repasa "
		"such* find* prüf* pruf* zeig* schau* sieh* vergleich* lies besorg* recherchier* zahl* brauch* "
		"durchsuch* werte* "
		"liste* auflisten hol* raus herunter nachsehen google* stell_zusammen durchgehen behalte "
		"najdi* najit vyhledej* zjisti* over* ukaz* podivej* mrkni koukni porovnej* precti* stahni* "
		"potrebuj* prohledej* "
		"projdi* spocitej* sezen* vypis* hlidej* prozkoumej* seznam* zkontroluj* porozhledni vygoogluj "
		"dohledej"
	),
	C.TELL: "tell tell_me know inform dime cuenta* cuentame sag* erzahl* rekni povez pover",
	C.RECORD: (
		"invoice* order orders customer customers supplier* client clients item items stock warehouse "
		"payment* ticket* lead leads "
		"opportunit* quote quotes quotation* delivery deliveries shipment* parcel* contract* account* "
		"employee* timesheet* "
		"payroll payslip* leave purchase* bom batch* serial pallet* machine* maintenance vacancy applied "
		"applicant* candidate* survey tender handbook manual policy insurance password address phone number "
		"debtor* plan log import job shop warranty batches boxes units pieces unit project* task* campaign "
		"newsletter* branch complaint* "
		"expense* receipt* bank statement* journal budget vendor* contact* label* po so "
		"factura* pedido* cliente* proveedor* articulo* existencias almacen pago* ticket* incidencia* lead* "
		"oportunidad* "
		"presupuesto* albaran* envio* paquete* contrato* cuenta* empleado* horas nomina* vacaciones compra* "
		"lote* serie pale* "
		"proyecto* tarea* campana boletin queja* reclamacion* gasto* recibo* extracto asiento tarifa* "
		"saldo* ficha cobro* maquina* mantenimiento candidat* encuesta licitacion manual politica poliza "
		"telefono deudor* plan log importacion unidades cajas piezas plantilla empleados acuerdo facturado "
		"rechnung* auftrag* auftrage bestellung* kunde* kunden lieferant* artikel* lager* bestand* zahlung* "
		"verkaufschance* "
		"angebot* lieferschein* lieferung* sendung* paket* vertrag* vertrage konto* konten mitarbeiter* "
		"stunden* lohn* urlaub* "
		"einkauf* stuckliste* charge* seriennummer* palette* projekt* aufgabe* kampagne* reklamation* "
		"beschwerde* spesen beleg* "
		"kontoauszug* budget* filiale* preisliste* saldo "
		"faktur* objednavk* zakaznik* zakaznic* dodavatel* polozk* sklad* zasob* platb* tiket* prilezitost* "
		"nabidk* dodac* "
		"zasilk* balik* smlouv* ucet uctu ucty zamestnan* vykaz* mzd* mzdy dovolen* nakup* kusovnik* sarz* "
		"seriov* palet* projekt* "
		"ukol* kampan* stiznost* reklamac* vydaj* uctenk* vypis* rozpoct* rozpocet pobock* cenik* stroj* "
		"udrzb* uchazec* pruzkum rizeni prirucc* manual pojist* telefon* dluznik* plan* logu import* eshop "
		"shop kusu kusy krabic* palet* sroub* vykres* pohledav* zustatek"
	),
	C.WORK: (
		"meeting* calendar appointment* inbox emails unread notes minutes shift roster on_call holiday sick "
		"hours reminder "
		"revenue sales turnover margin profit figures report* spend spent spending forecast commission cost "
		"costs debtors owe owes "
		"reunion* calendario agenda bandeja correos notas turno* ventas ingresos margen facturacion "
		"informe* gastado beneficio "
		"comision coste* debe deben cifras deudores "
		"termin* kalender* posteingang mails notizen schicht* dienst* umsatz* marge* gewinn* zahlen "
		"bericht* ausgegeben "
		"provision* kosten schuldner prognose* bereitschaft "
		"schuzk* kalendar* schrank* mail* poznamk* smen* trzb* obrat* marz* zisk* cisla report* utrat* "
		"proviz* naklad* dluzi* "
		"dluznik* progno* pohotovost porad*"
	),
	C.STATE: (
		"overdue open unpaid outstanding pending active missing late blocked expire* due paid shipped "
		"arrived delayed left draft "
		"status failed approved sold bought returned most least top best_selling biggest cheapest late "
		"vencid* pendiente* abiert* pagad* impagad* activ* retraso atrasad* bloquead* caduc* venc* llegado "
		"llego enviado estado "
		"borrador* fallo queda* mas_vendido barato mas_barato "
		"uberfallig* offen* unbezahlt* bezahlt ausstehend* aktiv* gesperrt verspat* abgelaufen lauft "
		"ablauf* auslauf* geliefert "
		"versendet angekommen status entwurf* fehlgeschlagen ubrig rest* billig* "
		"splatnost* nezaplacen* zaplacen* otevren* aktivn* zablokovan* zpozden* prochaz* konci* dorazil* "
		"odesl* prisl* stav "
		"koncept* spadl* zbyva* nejlevnejsi levnejsi nejvic nejvetsi"
	),
	C.NOW: (
		"today tonight tomorrow yesterday now current currently latest newest recent recently right_now "
		"this_week this_month "
		"this_year last_week last_month last_year last_quarter next_week next_month at_the_moment so_far "
		"lately overnight "
		"monday tuesday wednesday thursday friday saturday sunday weekend morning noon january february "
		"march april may june "
		"july august september october november december quarter still yet already these_days this last "
		"next since 0000 "
		"hoy manana ayer ahora actual* actualmente ultim* reciente* esta_semana este_mes este_ano lunes "
		"martes miercoles jueves "
		"viernes sabado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre "
		"noviembre diciembre "
		"trimestre anoche pasado pasada proxima proximo viene ya momento noche semana mes ano "
		"heute morgen gestern jetzt aktuell* derzeit* gerade neueste* zurzeit letzt* nachst* heuer montag "
		"dienstag mittwoch "
		"donnerstag freitag samstag sonntag wochenende janner januar februar marz april mai juni juli "
		"august september oktober "
		"november dezember quartal* woche monat jahr nacht abend schon noch dies* gestrig* momentan "
		"dnes* zitra zitre* vcera vcerej* ted nyni aktualn* nejnovejs* posledni* minul* pristi tento tenhle "
		"letos loni lon* "
		"pondeli utery streda stredu ctvrtek patek sobota sobotu nedele nedeli vikend* ledn* unor* brezn* "
		"dubn* kvetn* cervn* "
		"cervenc* srpn* zari rijn* listopad* prosin* ctvrtlet* tyden mesic rok noci vecer uz jeste "
		"momentalne soucasn* prave"
	),
	C.WORLD: (
		"weather rain snow temperature news headlines bitcoin ethereum stock_price shares share_price "
		"exchange_rate dollar euro "
		"pound rate rates price prices inflation flight* train* traffic hotel* restaurant* match score "
		"strike* election* oil date outside degrees warm cold nearby lawyer phone "
		"petrol opening_hours open_hours minister ceo trading sunset film* movie* outside degrees nearby "
		"sunset lawyer cheaper competitor* alternatives market reviews "
		"tiempo lluvia llueve nevar temperatura noticias titulares acciones cotizacion cambio dolar libra "
		"precio precios inflacion "
		"vuelo* tren trenes trafico atasco hotel partido huelga* elecciones petroleo gasolina gasoleo "
		"horario ministr* cartelera "
		"competencia alternativas mercado opiniones resenas grados fuera peso cerca gasolinera abogado "
		"barril "
		"wetter regnet schneit temperatur nachrichten schlagzeilen neuigkeiten aktie* kurs wechselkurs "
		"franken preis preise "
		"inflation* flug fluge zug zuge stau hotel spiel* streik* wahl olpreis diesel offnungszeiten "
		"minister* kino filme "
		"konkurrenz alternativen markt bewertungen testberichte leitzins draussen anwalt nahe "
		"pocasi prset snezit teplota zpravy akcie kurz dolar libra cena ceny inflace letenk* let lety vlak* "
		"doprav* hotel zapas "
		"stavk* volby volieb ropa ropy nafta oteviraci otevreno ministr* kino konkurenc* nahradu trh "
		"recenze stupnu sazba venku okoli pravnik* hraje koruny"
	),
	C.WEB: (
		"web website site online internet google url link links linkedin forum forums page homepage "
		"en_linea pagina sitio enlace* "
		"webseite seite netz homepage foren links stranky strance webu forech internetu odkaz* 0url"
	),
	C.OWN: (
		"*amos *emos *imos *ujeme *ime *ame our ours us we my mine nuestr* nos mi mis tenemos nosotros "
		"hemos llevamos unser* uns wir mein* nas nase nasi nasich nasim "
		"nasem nam nami mame muj moje moji mych me mne svoje jsme"
	),
	C.FILE: (
		"pdf excel csv xlsx word docx spreadsheet file files slide slides chart scan scanned photo picture "
		"recording image folder "
		"hoja archivo fichero word documento grafic* diapositivas foto audio carpeta escanead* "
		"datei tabelle folien diagramm bild foto aufnahme ordner gescannt* dokument "
		"soubor* tabulk* graf prezentac* fotk* nahravk* slozk* naskenovan* dokument* excelu excelov*"
	),
	C.ATTACHED: (
		"attached attachment* attach uploaded enclosed sent_you adjunt* subido subi mandado angehangt* "
		"anhang beigefugt* "
		"hochgeladen* anbei priloz* priloze nahral* poslal*"
	),
	C.TALK: (
		"hi hello hey thanks thank_you thx bye goodbye good_morning good_evening ok okay yes no sure great "
		"fine cool haha "
		"welcome sorry never_mind night evening hola gracias adios buenos_dias buenas vale si no claro "
		"genial jaja* perfecto "
		"chao encantado hallo danke tschuss guten_morgen guten_abend servus ja nein klar super toll haha "
		"passt ahoj cau diky "
		"dekuj* nashle dobry_den dobre_rano ano ne jasne super fajn haha dobrou zatim"
	),
	C.YOU: (
		"you your yourself you're tu eres puedes te sabes du dich dir dein* bist kannst konntest ty tve "
		"tvoje jsi muzes umis tebe te tve"
	),
	C.ME: "i me im i'm i'd i've yo me soy estoy tengo quiero ich mir mich ja jsem chci mi mam potrebuju",
	C.PLEASE: "please pls kindly could_you can_you would_you por_favor porfa podrias puedes bitte kannst_du "
	"konntest_du prosim prosimte mohl mohla",
	C.THE: "the that this those el la los las del al der die das den dem des ten ta to tu toho tento tuhle",
	C.A: "a an some un una unos unas ein eine einen einer eines nejaky nejaka nejake",
	C.PRODUCT: "erpnext frappe excel erp kanban scrum vlookup linkedin",
	C.THEN: "then afterwards after first finally and_then luego despues primero entonces dann danach erst "
	"zuerst anschliessend pak potom nejdriv nejprve nasledne",
	C.IF: "if whether unless si ob falls wenn jestli pokud kdyby zda",
	C.NOT: "not no don't didn't without missing never kein* nicht ohne nie nikdy ne bez sin nunca falta "
	"fehlt chybi",
	C.TOOL: "agent agents tools tool system agente herramientas sistema agenten werkzeuge im_system agenta "
	"nastroje systemu",
}
