"""Patterns for what is plain at a glance. A table and how it is read; whoever calls may hand in rows of their own.

Patterns are matched without regard to capitals and accents. A row that speaks for the chat does not count where the message
also asks for something only tools can give (`BLOCKING`), unless it is sure of itself.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from huf.ai.routing.complexity import read_concepts, without_accents
from huf.ai.routing.lexicon import Concept
from huf.ai.routing.types import Need, Route

SURE = 0.95
BLOCKING = {Concept.OWN, Concept.NOW, Concept.WORLD, Concept.WEB, Concept.FILE, Concept.ATTACHED, "numbered"}
AGENT, CHAT = Route.AGENT, Route.CHAT


@dataclass(frozen=True)
class Pattern:
	"""One row. `language` is a code or "" for all; `reason` a key of `texts.TEXTS` or a text; `need` a tool or "".

	`pattern` must be one that `safe_pattern.check_pattern` lets pass, if somebody outside this module wrote it.
	"""

	language: str
	pattern: str
	route: Route
	need: str
	confidence: float
	reason: str


@dataclass(frozen=True)
class Match:
	"""The rows that agree with the strongest one, strongest first."""

	rows: tuple[Pattern, ...]

	@property
	def strongest(self) -> Pattern:
		return self.rows[0]


def find_match(message: str, more: Iterable[Pattern] = ()) -> Match | None:
	"""What the table says of a message; None where no row speaks, or two of equal strength contradict each other."""
	text = without_accents(message.strip())
	blocked = None
	found = []
	for row in (*more, *PATTERNS):
		if not compiled(row.pattern).search(text):
			continue
		if row.route is CHAT and row.confidence < SURE:
			blocked = is_blocked(message) if blocked is None else blocked
			if blocked:
				continue
		found.append(row)
	return strongest_of(found)


def strongest_of(rows: Sequence[Pattern]) -> Match | None:
	if not rows:
		return None
	ordered = sorted(rows, key=lambda row: -row.confidence)
	rivals = [row for row in ordered if row.route is not ordered[0].route]
	if rivals and rivals[0].confidence == ordered[0].confidence:
		return None
	return Match(tuple(row for row in ordered if row.route is ordered[0].route))


def is_blocked(message: str) -> bool:
	return any(BLOCKING & set(group) for group in read_concepts(message))


@lru_cache(maxsize=1_000)
def compiled(pattern: str) -> re.Pattern:
	return re.compile(without_accents(pattern), re.IGNORECASE | re.DOTALL)


FILES = r"(excel|xlsx?|csv|pdf|docx?|word|powerpoint|pptx)\b(?! *-?(formula|function|macro|course|kurs|funktion|funci))"
IDENTIFIER = r"\b(?-i:[A-Z]{2,6})(-[A-Z0-9]{2,6})*-\d{3,}\b"
NEWS = "noticias|news|nachrichten|schlagzeilen|zpravy|headlines|titulares"

_TABLE: tuple[tuple[str, str, Route, str, float, str], ...] = (
	(
		"es",
		r"\b(usa|utiliza|usar|activa|llama al?|que) (el |al |un )?agente\b",
		AGENT,
		Need.EXPLICIT_AGENT,
		1.0,
		"explicit",
	),
	(
		"en",
		r"\b(use|ask|let|have|activate) (the |an |your )?agent\b",
		AGENT,
		Need.EXPLICIT_AGENT,
		1.0,
		"explicit",
	),
	(
		"de",
		r"\b(nutze?|benutze?|verwende|lass|frage?|starte) (den |einen |deinen )?agent(en)?\b",
		AGENT,
		Need.EXPLICIT_AGENT,
		1.0,
		"explicit",
	),
	(
		"cs",
		r"\b(použij|zapoj|spusť|nech|zavolej|ať) (na to )?agent(a|ovi|em)?\b",
		AGENT,
		Need.EXPLICIT_AGENT,
		1.0,
		"explicit",
	),
	(
		"es",
		r"^\W*(por favor,? )?(busca|búscame|averigua|investiga)\b.{0,80}\b(web|internet|google|en línea|precio|cotización|noticias|hoy|actual|actuales|actualizad[ao]s?|últim[ao]s?)\b",
		AGENT,
		Need.WEB_SEARCH,
		0.9,
		"web",
	),
	(
		"es",
		r"\b(necesito|quiero) (buscar )?información (actualizada|reciente)",
		AGENT,
		Need.WEB_SEARCH,
		0.9,
		"web",
	),
	(
		"en",
		r"^\W*((please|can you|could you) )?(search|look|google|find|research)\b.{0,80}\b(web|internet|online|price|news|today|latest|current)\b",
		AGENT,
		Need.WEB_SEARCH,
		0.9,
		"web",
	),
	(
		"de",
		r"^\W*(bitte )?(suche?|recherchiere?|google|finde?)\b.{0,80}\b(web|internet|netz|online|preis|kurs|nachrichten|heute|aktuell\w*)\b",
		AGENT,
		Need.WEB_SEARCH,
		0.9,
		"web",
	),
	(
		"cs",
		r"^\W*(prosím,? )?(najdi|vyhledej|zjisti|hledej|dohledej|vygoogluj)\b.{0,80}\b(webu?|internetu?|cenu?|kurz|zprávy|dnes\w*|aktuální\w*|nejnovější)\b",
		AGENT,
		Need.WEB_SEARCH,
		0.9,
		"web",
	),
	(
		"",
		rf"^\W*(últimas |latest |letzte |poslední )?({NEWS}) (sobre|de|about|on|zu|über|o|from)\b",
		AGENT,
		Need.WEB_SEARCH,
		0.9,
		"web",
	),
	(
		"",
		r"\b(precio|cotización|price|kurs|preis|cena|kurz) (del |of |vom |von )?(bitcoin|ethereum|gold|oro|dollar|dólar|euro)\w*.{0,12}(hoy|today|now|heute|jetzt|dnes|teď|aktuell)",
		AGENT,
		Need.WEB_SEARCH,
		0.9,
		"web",
	),
	("", r"https?://\w\S+", AGENT, Need.OPEN_URL, 0.9, "url"),
	(
		"es",
		r"^\W*(navega|entra|visita|accede|abre la (web|página))\b.{0,40}\w\.\w",
		AGENT,
		Need.OPEN_URL,
		0.9,
		"url",
	),
	(
		"en",
		r"^\W*(go to|visit|navigate|open the (site|website|page))\b.{0,40}\w\.\w",
		AGENT,
		Need.OPEN_URL,
		0.9,
		"url",
	),
	(
		"de",
		r"^\W*(geh auf|besuche?|navigiere?|öffne die (seite|webseite))\b.{0,40}\w\.\w",
		AGENT,
		Need.OPEN_URL,
		0.9,
		"url",
	),
	(
		"cs",
		r"^\W*(jdi na|přejdi|navštiv|otevři (stránku|web))\b.{0,40}\w\.\w",
		AGENT,
		Need.OPEN_URL,
		0.9,
		"url",
	),
	(
		"es",
		rf"\b(genera|crea|haz|hazme|exporta|prepara|saca|convierte|pasa)\b.{{0,60}}\b{FILES}",
		AGENT,
		Need.GENERATE_FILE,
		0.9,
		"file",
	),
	(
		"en",
		rf"\b(generate|create|make|export|build|produce|prepare|put together|convert|save)\b.{{0,60}}\b({FILES}|spreadsheet\b)",
		AGENT,
		Need.GENERATE_FILE,
		0.9,
		"file",
	),
	(
		"de",
		rf"\b(generiere?|erstelle?|erzeuge?|mache?|exportiere?|wandle)\b.{{0,60}}\b{FILES}",
		AGENT,
		Need.GENERATE_FILE,
		0.9,
		"file",
	),
	(
		"cs",
		rf"\b(vygeneruj|vytvoř|udělej|vyexportuj|exportuj|připrav|převeď)\b.{{0,60}}\b{FILES}",
		AGENT,
		Need.GENERATE_FILE,
		0.9,
		"file",
	),
	("es", r"^\W*ejecuta\b", AGENT, Need.EXECUTE_CODE, 0.9, "code"),
	(
		"en",
		r"^\W*(run|execute)\b.{0,20}(\b(code|script|sql|python|query|snippet)\b|:)",
		AGENT,
		Need.EXECUTE_CODE,
		0.9,
		"code",
	),
	("de", r"^\W*führ(e|t)?\b.{0,60}\baus\b.{0,10}:", AGENT, Need.EXECUTE_CODE, 0.9, "code"),
	(
		"cs",
		r"^\W*(spusť|proveď|vykonej)\b.{0,30}(\b(kód|skript|dotaz|sql|python)\w*|:)",
		AGENT,
		Need.EXECUTE_CODE,
		0.9,
		"code",
	),
	(
		"es",
		r"\b(adjunt[ao]s?|te adjunto|he (subido|adjuntado)|acabo de (subir|adjuntar)|que subí)\b",
		AGENT,
		Need.READ_FILE,
		0.9,
		"attachment",
	),
	(
		"en",
		r"\b(attached|(the|this|my) attachments?|i('ve| have)? (just )?(uploaded|attached))\b",
		AGENT,
		Need.READ_FILE,
		0.9,
		"attachment",
	),
	(
		"de",
		r"\b(angehängte[nrms]?|beigefügte[nrms]?|im anhang|hochgeladene[nrms]?)\b",
		AGENT,
		Need.READ_FILE,
		0.9,
		"attachment",
	),
	(
		"cs",
		r"\b(přilože\w+|v příloze|jsem (ti )?(nahrála?|přiložila?)|nahran\w+)\b",
		AGENT,
		Need.READ_FILE,
		0.9,
		"attachment",
	),
	("", IDENTIFIER, AGENT, Need.FIND_RECORDS, 0.85, "records"),
	(
		"es",
		r"^\W*(hola|buen[oa]s( (días|tardes|noches))?|(muchas |mil )?gracias( por .{1,30})?|adiós|hasta (luego|mañana|pronto)|chao|vale|ok|sí|no|perfecto|genial|de acuerdo|entendido|encantad[oa])( (y )?(gracias|hola|adiós))?\W*$",
		CHAT,
		"",
		SURE,
		"talk",
	),
	(
		"en",
		r"^\W*(hi|hello|hey|good (morning|afternoon|evening|night)|thanks|thank you|thx|(good)?bye|see you|ok|okay|yes|no|sure|great|perfect|cool)( (there|so much|a lot|very much|again|thanks|all|everyone))*\W*$",
		CHAT,
		"",
		SURE,
		"talk",
	),
	(
		"de",
		r"^\W*(hallo|hi|servus|moin|guten (morgen|tag|abend)|gute nacht|danke( (schön|sehr|dir))?|vielen dank|tschüss|auf wiedersehen|bis (bald|dann|morgen)|ok|okay|ja|nein|klar|super|passt)( (danke|dir|zusammen))?\W*$",
		CHAT,
		"",
		SURE,
		"talk",
	),
	(
		"cs",
		r"^\W*(ahoj|čau|nazdar|dobr(ý den|é ráno|ý večer|ou noc)|díky|děkuj[ui]|moc děkuju|na shledanou|nashle|zatím|ok|ano|ne|jasně|dobře|super|fajn)( (moc|díky|všem))?\W*$",
		CHAT,
		"",
		SURE,
		"talk",
	),
	("es", r"^\W*(qué (es|son|significan?|quiere decir)|define)\b.{2,60}$", CHAT, "", 0.9, "definition"),
	(
		"en",
		r"^\W*(what (is|are) (an? )?[\w-]+( [\w-]+)?\W*$|what does .{1,40} mean\b|define \w+)",
		CHAT,
		"",
		0.9,
		"definition",
	),
	(
		"de",
		r"^\W*(was (ist|sind) (eine? )?[\w-]+( [\w-]+)?\W*$|was (bedeutet|heißt)\b|definiere\b)",
		CHAT,
		"",
		0.9,
		"definition",
	),
	(
		"cs",
		r"^\W*(co (je|jsou|znamená|znamenají)( to)? [\w-]+( [\w-]+)?\W*$|definuj\b)",
		CHAT,
		"",
		0.9,
		"definition",
	),
	("es", r"^\W*explica(me|le)?\b", CHAT, "", 0.85, "explanation"),
	("en", r"^\W*(please )?explain\b", CHAT, "", 0.85, "explanation"),
	("de", r"^\W*(erkläre?|erläutere?)\b", CHAT, "", 0.85, "explanation"),
	("cs", r"^\W*(vysvětli|objasni)\b", CHAT, "", 0.85, "explanation"),
	("es", r"^\W*res[uú]me(me|lo)?\b", CHAT, "", 0.85, "text"),
	(
		"es",
		r"^\W*(traduce|corrige|reescribe|acorta)\b.{0,60}(:|\beste (texto|párrafo)\b|\besta frase\b)",
		CHAT,
		"",
		0.85,
		"text",
	),
	(
		"en",
		r"^\W*(please )?(summari[sz]e|translate|rewrite|rephrase|proofread|shorten)\b.{0,60}(:|\bthis (text|sentence|paragraph)\b)",
		CHAT,
		"",
		0.85,
		"text",
	),
	(
		"de",
		r"^\W*(fass|fasse|übersetze?|formuliere?|korrigiere?|kürze?)\b.{0,60}(:|\b(diesen|den folgenden) (text|satz|absatz)\b)",
		CHAT,
		"",
		0.85,
		"text",
	),
	(
		"cs",
		r"^\W*(shrň|přelož|přepiš|oprav|zkrať)\b.{0,60}(:|\b(tento|tenhle|následující) (text|odstavec)\b)",
		CHAT,
		"",
		0.85,
		"text",
	),
	("es", r"^\W*cómo (se|puedo|podría|debo|hago para)\b", CHAT, "", SURE, "howto"),
	(
		"en",
		r"^\W*how (do|does|can|could|should|would) (i|you|one|we|people)\b|^\W*how to\b",
		CHAT,
		"",
		SURE,
		"howto",
	),
	("de", r"^\W*wie \w+ man\b", CHAT, "", SURE, "howto"),
	("cs", r"^\W*jak (mohu|můžu|mám|lze|se dá|se obvykle|správně)\b", CHAT, "", SURE, "howto"),
	(
		"es",
		r"^\W*(cuéntame|escribe|inventa|dime|hazme) (un|una) (chiste|poema|cuento|historia|adivinanza)\b",
		CHAT,
		"",
		0.9,
		"creative",
	),
	(
		"en",
		r"^\W*(tell|write|give) (me )?a (short |funny )?(joke|poem|story|riddle|haiku)\b",
		CHAT,
		"",
		0.9,
		"creative",
	),
	(
		"de",
		r"^\W*(erzähl|schreib|sag)e? (mir )?(einen?|ein) (witz|gedicht|geschichte|rätsel)\b",
		CHAT,
		"",
		0.9,
		"creative",
	),
	(
		"cs",
		r"^\W*(řekni|napiš|pověz) (mi )?(vtip|básničku|báseň|pohádku|hádanku)\b",
		CHAT,
		"",
		0.9,
		"creative",
	),
)
PATTERNS = tuple(Pattern(*row) for row in _TABLE)
