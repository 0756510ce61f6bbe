"""Built-in patterns in four languages with the route and the tool they indicate.

Matched by `heuristics.find_match`.
"""

from dataclasses import dataclass

from huf.ai.routing.types import Need, Route

SURE = 0.95
"""A row for the chat with this confidence counts whatever else the message contains."""
AGENT, CHAT = Route.AGENT, Route.CHAT


@dataclass(frozen=True)
class Pattern:
	"""`language` is a code or "" for all, `reason` a key of `texts.json` or a text, `need` a tool or ""."""

	language: str
	pattern: str
	route: Route
	need: str
	confidence: float
	reason: str


FILES = (
	r"(excel|xlsx?|csv|pdf|docx?|word|powerpoint|pptx)\b(?! *-?(formula|function|macro|course|kurs|funktion|"
	r"funci))"
)
IDENTIFIER = r"\b(?-i:[A-Z]{2,6})(-[A-Z0-9]{2,6})*-\d{3,}\b"
NEWS = "noticias|news|nachrichten|schlagzeilen|zpravy|headlines|titulares"

_Group = tuple[Route, str, float, str, tuple[tuple[str, str], ...]]
# fmt: off
_GROUPS: tuple[_Group, ...] = (
	(AGENT, Need.EXPLICIT_AGENT, 1.0, "explicit", (
		("es", r"(?<!(?<!\bqué )\bno )(?<!\bsin )\b(usa|utiliza|usar|activa|llama al?|que) (el |al |un )?"
			r"(modo )?agente\b"),
		("en", r"(?<!n\Wt )(?<!(?<!\bwhy )\bnot )(?<!\bnever )\b(use|ask|let|have|activate) "
			r"(the |an |your )?agent\b"),
		("de", r"\b(nutze?|benutze?|verwende|lass|frage?|starte) (den |einen |deinen )?agent(en)?\b"
			r"(?! nicht\b)"),
		("cs", r"\b(použij|zapoj|spusť|nech|zavolej|ať) (na to )?agent(a|ovi|em)?\b"),
	)),
	(CHAT, "", SURE, "no_agent", (
		("es", r"\b(no (uses|utilices|actives|llames)|sin (usar|utilizar)) (el |al |un )?(modo )?agente\b"),
		("en", r"(n\Wt|(?<!\bwhy )\bnot|\bnever|\bwithout) (use|using|ask|asking|activate) "
			r"(the |an |your )?agent\b"),
		("de", r"\b(nutze?|benutze?|verwende|frage?) (bitte )?(nicht (den |einen |deinen )?agent(en)?\b|"
			r"(den |einen |deinen )?agent(en)? nicht\b)"),
		("cs", r"\b(nepoužívej|nepoužij|nezapojuj|nevolej) agenta\b"),
	)),
	(AGENT, Need.WEB_SEARCH, 0.9, "web", (
		("es", r"^\W*(por favor,? )?(busca|búscame|averigua|investiga)\b.{0,80}\b(web|internet|google|"
			r"en línea|precio|cotización|noticias|hoy|actual|actuales|actualizad[ao]s?|últim[ao]s?)\b"),
		("es", r"\b(necesito|quiero) (buscar )?información (actualizada|reciente)"),
		("en", r"^\W*((please|can you|could you) )?(search|look|google|find|research)\b.{0,80}\b(web|"
			r"internet|online|price|news|today|latest|current)\b"),
		("de", r"^\W*(bitte )?(suche?|recherchiere?|google|finde?)\b.{0,80}\b(web|internet|netz|online|"
			r"preis|kurs|nachrichten|heute|aktuell\w*)\b"),
		("cs", r"^\W*(prosím,? )?(najdi|vyhledej|zjisti|hledej|dohledej|vygoogluj)\b.{0,80}\b(webu?|"
			r"internetu?|cenu?|kurz|zprávy|dnes\w*|aktuální\w*|nejnovější)\b"),
		("", rf"^\W*(últimas |latest |letzte |poslední )?({NEWS}) (sobre|de|about|on|zu|über|o|from)\b"),
		("", r"\b(precio|cotización|price|kurs|preis|cena|kurz) (del |of |vom |von )?(bitcoin|ethereum|gold|"
			r"oro|dollar|dólar|euro)\w*.{0,12}(hoy|today|now|heute|jetzt|dnes|teď|aktuell)"),
	)),
	(AGENT, Need.OPEN_URL, 0.9, "url", (
		("", r"https?://\w\S+"),
		("es", r"^\W*(navega|entra|visita|accede|abre la (web|página))\b.{0,40}\w\.\w"),
		("es", r"^\W*(ve a|abre) https?://"),
		("en", r"^\W*(go to|visit|navigate|open the (site|website|page))\b.{0,40}\w\.\w"),
		("de", r"^\W*(geh auf|besuche?|navigiere?|öffne die (seite|webseite))\b.{0,40}\w\.\w"),
		("cs", r"^\W*(jdi na|přejdi|navštiv|otevři (stránku|web))\b.{0,40}\w\.\w"),
	)),
	(AGENT, Need.GENERATE_FILE, 0.9, "file", (
		("es", rf"\b(genera|crea|haz|exporta|prepara|saca|convierte|pasa)(me|nos)?\b.{{0,60}}\b{FILES}"),
		("en", rf"\b(generate|create|make|export|build|produce|prepare|put together|convert|"
			rf"save)\b.{{0,60}}\b({FILES}|spreadsheet\b)"),
		("de", rf"\b(generiere?|erstelle?|erzeuge?|mache?|exportiere?|wandle)\b.{{0,60}}\b{FILES}"),
		("cs", rf"\b(vygeneruj|vytvoř|udělej|vyexportuj|exportuj|připrav|převeď)\b.{{0,60}}\b{FILES}"),
	)),
	(AGENT, Need.EXECUTE_CODE, 0.9, "code", (
		("es", r"^\W*(por favor,? )?ejecuta(lo|la)?\b"),
		("es", r"^\W*(puedes|podrías) (ejecutar|correr)\b.{0,20}\b(código|script|sql|python)\b"),
		("es", r"^\W*(por favor,? )?corre (este|el|mi) (código|script)\b"),
		("en", r"^\W*((please|can you|could you),? )?(run|execute)\b.{0,20}(\b(code|script|sql|python|query|"
			r"snippet)\b|:)"),
		("de", r"^\W*(bitte )?führ(e|t)?\b.{0,60}\baus\b.{0,10}:"),
		("de", r"^\W*((bitte )?führ(e|t)?|kannst du)\b.{0,20}\b(code|skript|script|sql|python)\b.{0,20}"
			r"\baus"),
		("cs", r"^\W*(prosím,? )?(spusť|proveď|vykonej)\b.{0,30}(\b(kód|skript|dotaz|sql|python)\w*|:)"),
	)),
	(AGENT, Need.READ_FILE, 0.9, "attachment", (
		("es", r"\b(adjunt[ao]s?|te adjunto|he (subido|adjuntado)|acabo de (subir|adjuntar)|que subí)\b"),
		("en", r"\b(attached|(the|this|my) attachments?|i('ve| have)? (just )?(uploaded|attached))\b"),
		("de", r"\b(angehängte[nrms]?|beigefügte[nrms]?|im anhang|hochgeladene[nrms]?)\b"),
		("cs", r"\b(přilože\w+|v příloze|jsem (ti )?(nahrála?|přiložila?)|nahran\w+)\b"),
	)),
	(AGENT, Need.FIND_RECORDS, 0.85, "records", (
		("", IDENTIFIER),
		("de", r"^\W*wie ?viele?\b.{1,60}\b(hab|habe|haben) (ich|wir)\b"),
	)),
	(AGENT, Need.CHANGE_RECORDS, 0.9, "change", (
		("es", r"^\W*(nueva (tarea|nota)|nuevo recordatorio)\b"),
		("es", r"^\W*(por favor,? )?(crea|añade|apunta|anota)(me)? una? (nuev[ao] )?"
			r"(tarea|nota|cita|recordatorio)\b"),
		("es", r"^\W*(por favor,? )?(marca\b.{1,60}\bcomo|recuerda que)\b(?![^,.!?]*\?)"),
		("en", r"^\W*new (task|to-?do|note|reminder)\b"),
		("en", r"^\W*(please )?remember (that|this|my)\b(?![^,.!?]*\?)"),
		("de", r"^\W*neue (aufgabe|notiz|erinnerung)\b"),
		("de", r"^\W*(lege? (eine )?)?(aufgabe|notiz|erinnerung) (anlegen|an)\b"),
		("de", r"^\W*(bitte )?merke? dir\b"),
		("cs", r"^\W*(nový úkol|nová (poznámka|připomínka)|(založ|přidej) (nov\w+ )?(úkol|poznámku))\b"),
		("cs", r"^\W*(prosím,? )?(označ\b.{1,60}\bjako|(za)?pamatuj si)\b"),
	)),
	(AGENT, Need.SEND_MESSAGE, 0.9, "send", (
		("es", r"^\W*(por favor,? )?(envía|manda)(me|le|les)?\b.{0,40}\b(correo|e-?mail|mensaje)\b"),
		("en", r"^\W*((please|can you|could you),? )?send\b.{0,40}\b(e-?mail|message)\b"),
		("de", r"^\W*(bitte )?(sende?|schicke?)\b.{0,40}\b(e-?mail|mail|nachricht)\b"),
		("de", r"^\W*(e-?)?mail an\b"),
		("cs", r"^\W*(prosím,? )?(pošli|odešli)\b.{0,40}\b(e-?mail|mail|zprávu)\b"),
	)),
	(CHAT, "", SURE, "talk", (
		("es", r"^\W*(hola|buen[oa]s( (días|tardes|noches))?|(muchas |mil )?gracias( por .{1,30})?|adiós|"
			r"hasta (luego|mañana|pronto)|chao|vale|ok|sí|no|perfecto|genial|de acuerdo|entendido|"
			r"encantad[oa])( (y )?(gracias|hola|adiós))?\W*$"),
		("en", r"^\W*(hi|hello|hey|good (morning|afternoon|evening|night)|thanks|thank you|thx|(good)?bye|"
			r"see you|ok|okay|yes|no|sure|great|perfect|cool)( (there|so much|a lot|very much|again|thanks|"
			r"all|everyone))*\W*$"),
		("de", r"^\W*(hallo|hi|servus|moin|guten (morgen|tag|abend)|gute nacht|danke( (schön|sehr|dir))?|"
			r"vielen dank|tschüss|auf wiedersehen|bis (bald|dann|morgen)|ok|okay|ja|nein|klar|super|"
			r"passt)( (danke|dir|zusammen))?\W*$"),
		("cs", r"^\W*(ahoj|čau|nazdar|dobr(ý den|é ráno|ý večer|ou noc)|díky|děkuj[ui]|moc děkuju|"
			r"na shledanou|nashle|zatím|ok|ano|ne|jasně|dobře|super|fajn)( (moc|díky|všem))?\W*$"),
	)),
	(CHAT, "", 0.85, "talk", (
		("", r"^\W*((do you )?remember|erinnerst du dich|te acuerdas|recuerdas|pamatuješ( si)?)\b"
			r"[^,.!?]*\?\W*$"),
	)),
	(CHAT, "", 0.9, "definition", (
		("es", r"^\W*(qué (es|son|significan?|quiere decir)|define)\b.{2,60}$"),
		("en", r"^\W*(what (is|are) (an? )?[\w-]+( [\w-]+)?\W*$|what does .{1,40} mean\b|define \w+)"),
		("de", r"^\W*(was (ist|sind) (eine? )?[\w-]+( [\w-]+)?\W*$|was (bedeutet|heißt)\b|definiere\b)"),
		("cs", r"^\W*(co (je|jsou|znamená|znamenají)( to)? [\w-]+( [\w-]+)?\W*$|definuj\b)"),
	)),
	(CHAT, "", 0.85, "explanation", (
		("es", r"^\W*explica(me|le)?\b"),
		("en", r"^\W*(please )?explain\b"),
		("de", r"^\W*(erkläre?|erläutere?)\b"),
		("cs", r"^\W*(vysvětli|objasni)\b"),
	)),
	(CHAT, "", 0.85, "text", (
		("es", r"^\W*res[uú]me(me|lo)?\b"),
		("es", r"^\W*(traduce|corrige|reescribe|acorta)\b.{0,60}(:|\beste (texto|párrafo)\b|\besta frase\b)"),
		("en", r"^\W*(please )?(summari[sz]e|translate|rewrite|rephrase|proofread|shorten)\b.{0,60}(:|"
			r"\bthis (text|sentence|paragraph)\b)"),
		("de", r"^\W*(fass|fasse|übersetze?|formuliere?|korrigiere?|kürze?)\b.{0,60}(:|\b(diesen|"
			r"den folgenden) (text|satz|absatz)\b)"),
		("cs", r"^\W*(shrň|přelož|přepiš|oprav|zkrať)\b.{0,60}(:|\b(tento|tenhle|následující) (text|"
			r"odstavec)\b)"),
	)),
	(CHAT, "", SURE, "howto", (
		("es", r"^\W*cómo (se|puedo|podría|debo|hago para)\b"),
		("en", r"^\W*how (do|does|can|could|should|would) (i|you|one|we|people)\b|^\W*how to\b"),
		("de", r"^\W*wie \w+ man\b"),
		("cs", r"^\W*jak (mohu|můžu|mám|lze|se dá|se obvykle|správně)\b"),
	)),
	(CHAT, "", SURE, "creative", (
		("es", r"^\W*(cuéntame|escribe|inventa|dime|hazme) (un|una) (chiste|poema|cuento|historia|"
			r"adivinanza)\b"),
		("en", r"^\W*(tell|write|give) (me )?a (short |funny )?(joke|poem|story|riddle|haiku)\b"),
		("de", r"^\W*(erzähl|schreib|sag)e? (mir )?(einen?|ein) (witz|gedicht|geschichte|rätsel)\b"),
		("cs", r"^\W*(řekni|napiš|pověz) (mi )?(vtip|básničku|báseň|pohádku|hádanku)\b"),
	)),
)
# fmt: on
PATTERNS = tuple(
	Pattern(language, pattern, route, need, confidence, reason)
	for route, need, confidence, reason, rows in _GROUPS
	for language, pattern in rows
)
