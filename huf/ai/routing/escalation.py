"""Detects chat answers that admit a need for tools or fresh data, by their structure and their phrases. Pure.

Conditions ("if you have no access ...") and statements about the reader ("you cannot ...") do not count.
Whether the agent then takes over is the caller's decision.
"""

import re
from dataclasses import dataclass

from huf.ai.core.tokenizer import remove_accents
from huf.ai.routing.complexity import read_concepts
from huf.ai.routing.languages import detect_language, get_text
from huf.ai.routing.lexicon import Concept

MAX_ANSWER_CHARS = 4_000
MAX_PROMISE_WORDS = 40
"""A longer answer is more than a mere promise to look something up."""


@dataclass(frozen=True)
class Escalation:
	"""`reason` is set only if the agent should take over."""

	should_escalate: bool
	reason: str | None = None

	def as_dict(self) -> dict:
		"""The response of /api/chat/escalation-check."""
		reason = {"reason": self.reason} if self.reason else {}
		return {"shouldEscalate": self.should_escalate, **reason}


def _compile(pattern: str) -> re.Pattern:
	return re.compile(pattern, re.IGNORECASE)


# Structure of an answer, in any language.
TOOL_CALL = _compile(
	r"<tool_call>|<function_call|\"(tool|tool_name|function|action)\"\s*:\s*\"\w+\"\s*,\s*\"(arguments|"
	r"parameters|args|input|reason|action_input)\"\s*:"
)
GAP = _compile(
	r"\[(insert|current|today'?s|fecha|precio|insertar|inserta|aktuell\w*|einfugen|datum|preis|dopln\w*|"
	r"vloz\w*|aktualni\w*|datum)\b[^\]\n]{0,40}\](?!\()"
)
STRUCTURE_PATTERNS = (("tool_call", TOOL_CALL), ("gap", GAP))

# Two parts of one sentence, in this order: "I do not have / cannot" and the data or access that is missing.
LACKS = _compile(
	r"\b(i (do not|don't|dont|currently (do not|don't)) (have|know)|i (currently )?have no (?=(direct )?"
	r"(access|real|live|current|internet|way))|no way for me|i( cannot| can't| can not|('m| am) (not "
	r"(able|connected)|unable) to)(?! wait)|i lack|"
	r"(yo )?no (tengo|dispongo de|cuento con|puedo|me es posible|soy capaz de|estoy conectad[oa])|"
	r"carezco de|"
	r"(ich )?(habe|verfuge) (ich )?(leider |derzeit |aktuell )?(keine?n?|nicht uber|uber keine?n?)|"
	r"ich kann (?=(dein|ihr)\w* \w+ nicht)|ich (kann|bin) (leider |derzeit |aktuell )?(nicht|keine?n?)|"
	r"kann ich (leider |derzeit )?(nicht|keine?n?)|mir (fehlen|liegen)|fehlen mir|"
	r"(bohuzel )?(nemam|nedisponuji|nemohu|nemuzu|neumim|nevidim|nejsem (schop|propoj)en[ay]?))\b"
	r"(?!.*\b(mistakes?|errors?|errores|fehler|chyb\w*)\b)"
)
DATA = _compile(
	r"(access|real[- ]?time|live data|(current|recent|up[- ]to[- ]date|latest) (data|information|price|"
	r"prices|news|figures)|brows(e|ing)|(the )?internet|look (it|that|this|them) up|look up|"
	r"open (links|websites|files|attachments|urls)|weather|(^|\b(a|any) )way (of|to) "
	r"(access|see|view|check|know|look|read|retriev|verify)\w*|"
	r"acceso|tiempo real|en directo|informacion (actual|actualizada|reciente)|datos (actuales|actualizados|"
	r"recientes)|navegar|internet|abrir (enlaces|archivos|paginas)|consultar|buscar|"
	r"zugriff|zugang|echtzeit\w*|aktuellen? wetter\w*|(aktuellen?|neuesten?) (daten|informationen|preise?|"
	r"kurse?|nachrichten)|(im )?internet|nachsehen|nachschlagen|abrufen|zugreifen|(links|dateien|"
	r"webseiten) offnen|"
	r"pristup|realn\w+ cas\w*|aktualni\w* (data|informac\w+|cen\w+|kurz\w*|zprav\w*)|internet\w*|"
	r"vyhledat|dohledat|zjistit|prohlizet|otevrit (odkaz\w*|soubor\w*|strank\w*))"
)
YOURS = _compile(r"(?: [\w']+){0,3}? ?\b(?:your|[ts]us?|dein\w*|ihr\w*|vas\w*|tv\w+)((?: \w+){1,2})")
"""What belongs to the reader, close behind; the lexicon knows whether it is data of a site, as orders are."""
SITE_DATA = {Concept.RECORD.value, Concept.WORK.value, Concept.FILE.value}
CANNOT_ACT = _compile(
	r"\b(i( cannot| can't| can not|('m| am) (not able|unable) to) (actually |directly )?(send|create|add|"
	r"set( up)?|schedule|update|delete|save|store|book|change)((, (or )?| or )\w+){0,3} ((you|any|an?|your|"
	r"new|real|actual|calendar) ){0,3}(e-?mails?|messages?|reminders?|tasks?|to-?dos?|"
	r"records?|invoices?|calendars?|appointments?|meetings?|notes?|files?)|"
	r"no (puedo|me es posible|soy capaz de) (enviar|mandar|crear|anadir|programar|guardar|modificar|borrar|"
	r"eliminar)(te|le|les)?( (o|ni) \w+)? ((una?|ningun|ninguna|nuev[oa]s?|tus?|sus?) ){0,2}"
	r"(correos?|mensajes?|tareas?|recordatorios?|citas?|notas?|facturas?|registros?)|"
	r"(ich kann|kann ich|ich bin) [^.,?!]{0,40}\b(keine?n?|nicht in der lage,) (\w+ )?(e-?mails?|mails?|"
	r"nachrichten?|aufgaben?|erinnerung(en)?|termine?|notizen?|datensatze?|rechnung(en)?)\b[^.,?!]{0,30}\b"
	r"((zu )?(senden|versenden|verschicken|schicken|erstellen|setzen|speichern|andern|loschen|buchen|"
	r"einrichten)|anlegen|anzulegen|eintragen|einzutragen)|"
	r"(nemohu|nemuzu|neumim|nedokazu|nejsem schopn[ay]?) ((ti|vam|za tebe|za vas) )?(posilat|"
	r"poslat|odeslat|vytvaret|vytvorit|zakladat|zalozit|ulozit|nastavit|zmenit|smazat) "
	r"((ti|vam|za tebe|za vas|do|nov\w+|zadn\w+|vas\w*|tv\w+) ){0,2}"
	r"(e-?mail|zprav|ukol|pripomin|schuzk|kalendar|poznamk|zaznam|faktur)\w*|"
	r"i (don't|do not) have (the|any) (tools|capability|ability)|"
	r"no (tengo|dispongo de|cuento con) (herramientas|la capacidad)|"
	r"((ich habe|habe ich) (leider )?keine|fehlen mir \w*) (werkzeuge|moglichkeit)|"
	r"nemam (\w+ ){0,3}(nastroje|moznost))\b"
)
SEARCHES = _compile(
	r"\b(i (need|would need|'d need|have) to (search|look (it |this |that )?up|browse|check online)|i('ll|"
	r" will| would) (have|need) to (search|look)|"
	r"(necesito|necesitaria|tendria que|tengo que|debo) (buscar|consultar|investigar|mirar)|hay que buscar|"
	r"(ich )?(muss|musste|mussten) (ich )?[^.?!]{0,50}(suchen|nachsehen|recherchieren|nachschlagen)|"
	r"(potrebuji|potrebuju|musim|musel bych|musela bych|potreboval bych) (to |si )?(vyhledat|dohledat|najit|"
	r"hledat|zjistit|overit))\b"
)
STALE = _compile(
	r"\b(my (knowledge|training|information|data)( data)? (cut[- ]?off|ends|goes (only )?up to|only goes)|"
	r"as of my (last|latest|knowledge)|my (last|latest) update was|knowledge cut[- ]?off|"
	r"i may not have the (latest|most recent)|"
	r"((se )?requiere|(se )?necesita|necesito|hace falta) informacion (actualizada|reciente)|"
	r"mis? (conocimientos?|datos|informacion) (llegan?|terminan?|se extienden?|abarcan?)|fecha de corte|"
	r"hasta mi ultima actualizacion|"
	r"mein (wissen|wissensstand|kenntnisstand|training)[^.?!]{0,20}(reicht|endet|geht)|wissensstand (von|"
	r"bis)|stand meines wissens|"
	r"(me|moje) (znalosti|informace|data) (konci|sahaji|jsou (jen )?k|pochazeji)|"
	r"k datu me posledni aktualizace)\b"
)
BARE = _compile(
	r"^\W*(informacion actualizada|updated information|aktuelle informationen|aktualni informace)\W*$"
)
"""An answer of these words alone announces what it does not have."""
CHECK_ELSEWHERE = _compile(
	r"\b(check|visit|consult|see|refer to) [^?!]{0,60}\b(for (the )?(latest|current|most recent|"
	r"up[- ]to[- ]date|real[- ]?time))\b|"
	r"\b(consulta|consulte|visita|visite|revisa|revise) [^?!]{0,60}\b(para (obtener |ver |conocer )?(el |"
	r"la |los |las )?(precio|dato|datos|informacion|valor)s? (actual|actuales|actualizad[oa]s?|"
	r"mas recientes?))|"
	r"\b(schau|schauen sie|besuche|besuchen sie|prufe|prufen sie) [^?!]{0,60}\bfur (den |die |"
	r"das )?(aktuell|neuest)\w*|"
	r"\b(podivej|podivejte|navstiv|navstivte|zkontroluj|zkontrolujte)( se)? [^?!]{0,60}\b(pro |"
	r"kde najd\w+ )(aktualni|nejnovejsi)\w*"
)
PROMISE = _compile(
	r"^\W*((ok(ay)?|sure|of course|claro|vale|por supuesto|gern(e)?|naturlich|klar|jasne|samozrejme|"
	r"dobre)\W+)?"
	r"(let me (check|look|search|find)|i('ll| will) (check|look|search|find)|one moment|give me a (moment|"
	r"second)|"
	r"dejame (buscar|mirar|ver|consultar|comprobar)|voy a (buscar|mirar|consultar|comprobar)|un momento|"
	r"lass mich (mal )?(nachsehen|suchen|schauen|prufen)|ich (sehe|schaue|suche|prufe) [^.?!]{0,40}\b(nach|"
	r"das|danach|es|gleich)|einen moment|"
	r"podivam se|mrknu|hned (to )?(zjistim|vyhledam|najdu|overim)|moment(ik)?\b|zkusim (to )?(najit|"
	r"vyhledat|zjistit))"
)
CONDITIONAL = _compile(r"\b(if|when|unless|si|cuando|wenn|falls|sofern|pokud|kdyz|jestli)\b[^.,;:?!]*$")
QUOTED = re.compile(
	r"```(?!json).*?```|[\"«„“][^\"»“”\n]{0,200}[\"»“”]|(?<!\w)'(?:[^'\n]|'\w){1,200}'(?!\w)|^ *>[^\n]*|"
	r"^ *(?:[-*•]|\d+[.)]) [^\n]*|^[^\w\n]*(dear|sehr geehrte[rs]?|estimad[oa]s?|vazen[aieoy]\w*) .*",
	re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
"""What is cited or listed, and a drafted letter up to the end of the answer: not the chat's own words."""
PHRASES = (
	("needs_web", SEARCHES),
	("not_current", STALE),
	("not_current", CHECK_ELSEWHERE),
	("task", CANNOT_ACT),
)


def check_dynamic_escalation(response: str, language: str | None = None) -> Escalation:
	"""Whether the agent should take over; the reason is in the language of the answer (`language`: if
	undetected).
	"""
	text = remove_accents(response[:MAX_ANSWER_CHARS].replace("’", "'"))
	key = match_structure(text) or match_sentences(QUOTED.sub(" ", text))
	if key is None:
		return Escalation(False)
	return Escalation(True, get_text(key, detect_language(response, language or "en")))


def match_structure(text: str) -> str | None:
	return next((key for key, pattern in STRUCTURE_PATTERNS if pattern.search(text)), None)


def match_sentences(text: str) -> str | None:
	for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
		if key := match_sentence(sentence):
			return key
	if BARE.match(text):
		return "not_current"
	return "promise" if len(text.split()) <= MAX_PROMISE_WORDS and PROMISE.match(text) else None


def match_sentence(sentence: str) -> str | None:
	for key, pattern in PHRASES:
		if (found := pattern.search(sentence)) and not is_conditional(sentence, found):
			return key
	lacking = LACKS.search(sentence)
	if not lacking or is_conditional(sentence, lacking):
		return None
	missing = sentence[lacking.end() :]
	return "no_access" if DATA.search(missing) or names_site_data(missing) else None


def names_site_data(text: str) -> bool:
	"""Whether a text begins with data of its reader, such as "any of your open invoices"."""
	found = YOURS.match(text)
	return any(SITE_DATA & set(group) for group in read_concepts(found[1])) if found else False


def is_conditional(sentence: str, found: re.Match) -> bool:
	return bool(CONDITIONAL.search(sentence[: found.start()]))
