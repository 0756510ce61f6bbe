"""Reads claims in English, German, Spanish and Czech: verbs of effect, who did it, negation, number words."""

import json
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

FIRST_PERSON = {
	"en": r"\b(?:i|we)\b(?:['’]ve)?",
	"de": r"\b(?:ich|wir)\b|^habe[n]?\b",
	"es": r"\b(?:he|hemos|ya he|me he|nos hemos)\b|é\b|í\b|\b(?:puse|hice|di)\b",
	"cs": r"\b(?:jsem|jsme|sem)\b",
}
"""Who claims: the answer's author."""
PASSIVE = {
	"en": r"\b(?:is|are|was|were|been|got|gets|be)\b|['’]s\b|['’]re\b",
	"de": r"\b(?:wurden?|worden|ist|sind|war|waren)\b",
	"es": (
		r"\b(?:se ha|se han|ha sido|han sido|fue|fueron|está|están|queda|quedan|quedó|quedaron"
		r"|ya está)\b|\bse\b"
	),
	"cs": r"\b(?:byl[aoiy]?|je|jsou|bylo|byly|byli|máte|má)\b",
}
OTHERS = {
	"en": (
		r"\b(?:you|he|she|they|who|customer|user|someone|somebody)\b(?:['’](?:ve|d))?(?:\s+(?:have"
		r"|has|had|also))?\s*$"
	),
	"de": r"\b(?:hat|hatte|haben sie|habt|hast|hatten)\b",
	"es": r"(?<!se )\b(?:ha|has|han|había|habían)\b(?! sido)",
	"cs": r"\b(?:jste|jsi)\b",
}
"""Somebody else did it: nothing that the answer's author claims."""
NOT_DONE = re.compile(
	r"\bnot\b|n['’]t\b|\bnever\b|\bcannot\b|\bunable\b|\bfail|\bwill\b|\bwould\b|\bshould\b"
	r"|\bcould\b|\bcan\b|['’]ll\b"
	r"|\b(?:that|which) (?:is|are|was|were|has been|have been)\b|\bgoing to\b|\bmay\b|\bmight\b"
	r"|\bmust\b|\blet me\b|\bif\b|\bonce\b|\bwhen\b|\bunless\b|\bneeds? to\b|\bto be\b"
	r"|\bnothing\b|\bnobody\b|\bnone\b|\bno \w+ (?:was|were|has|have|is|are)\b|\bwant|\bshall\b"
	r"|\byet\b|\bwaiting\b"
	r"|\bnicht\b|\bkeine?\w*\b|\bnie(?:mals)?\b|\bkonnte|\bkann\b|\bkönn|\bwerde\b|\bwürde"
	r"|\bsoll|\bmöchte|\bmuss\b|\bhätten?\b"
	r"|\bwenn\b|\bfalls\b|\bsobald\b|\bbevor\b|\bfehlgeschlagen|\bnichts\b|\bniemand\b|\bwird\b"
	r"|\bnoch zu\b|\bobald\b"
	r"|\bno (?:he|se|ha|fue|fueron|pude|puedo|está|están|hay)\b|\bnunca\b|\bpued[eo]|\bpodr"
	r"|\bvoy a\b|\bvamos a\b"
	r"|\bsi (?:quiere|lo|desea|me|no|te|la|hay)\b|\bcuando\b|\bdeb[eo]|\bquier|\bquisier"
	r"|\bfaltan?\b|\bpendiente\b"
	r"|\bnada\b|\bninguna?\b|\bhabría|\bsin poder\b|\bintent|\bprobier"
	r"|\bnelze\b|\bbudu\b|\bbude(?:me|te|š)?\b|\bmoh(?:u|l|li)\b|\bmůž|\bchce|\bpokud\b|\bkdyž\b"
	r"|\baž\b|\bjestli|\bnepodařilo"
	r"|\bnic\b|\bnikdo\b|\bžádn|\bnemoh|\bnení\b|\bnejsou\b|\bnebyl|\bmá být\b|\bmusí|\btried\b"
	r"|\battempt|\bversucht\b|\bzkoušel",
	re.IGNORECASE,
)
"""A clause with one of these says that something was not done, or not yet."""
OF_NOTHING = re.compile(
	r"\s*(?:no|not(?! only))\b"
	r"|\s*(?:\w+\s+){0,3}(?:nothing|nobody|none|no one|neither|nichts|niemand\w*|keine?\w*"
	r"|nada|nadie|ning[uú]n\w*|nic|nikoho|nikomu|žádn\w+)\b"
	r"|\s+(?:habe|hatte|haben|hatten)\s+(?:ich|wir)\b.*\b(?:nichts?|niemand\w*|keine?\w*)\b"
	r"|.*\b(?:if|once|unless|wenn|falls|sobald)\b",
	re.IGNORECASE,
)
"""After "I created": nothing was, or only on a condition. Other negations there describe the object."""
NEGATED = re.compile(r"\bno\s+(?:(?:me|te|se|les?|l[oa]s?|nos)\s+){0,2}(?:(?:he|hemos)\s+)?$", re.IGNORECASE)
"""Directly before a Spanish verb: "no la he creado"."""
EXISTENCE_NONE = re.compile(
	r"\b(?:there (?:are|is|were) no|no open|you have no|has no|have no|found no|found nothing"
	r"|nothing found)\b"
	r"|\b(?:gibt es keine|es gibt keine|keine \w+ (?:gefunden|vorhanden)|hat keine|haben keine)"
	r"|\b(?:no hay|no tiene|no existen?|no encontré|no he encontrado)\b"
	r"|\b(?:nejsou žádn|není žádn|nemáte žádn|nemá žádn|nenašel|nenašla|neexistuj)",
	re.IGNORECASE,
)
DONE = re.compile(
	r"^\W*(?:(?:all|everything(?: is|['’]s)?|it(?: is|['’]s)|that(?: is|['’]s)"
	r"|this is) )?(?:done|taken care of|all set|completed|finished|sorted)\b"
	r"|^\W*(?:alles |das ist |ist |schon )?(?:erledigt|fertig|gemacht|geschafft)\b"
	r"|^\W*(?:todo |ya está |está )?(?:hecho|listo|lista|terminado|completado)\b"
	r"|^\W*(?:vše |všechno |to |je )*(?:hotovo|vyřízeno|splněno|uděláno|zařízeno)\b",
	re.IGNORECASE,
)
ADJECTIVE_BEFORE = {
	"en": (
		r"(?:\b(?:the|a|an|your|this|these|those|any|newly|recently|every|each|last|most recently"
		r"|all|of|no|with|their|its)\s+)$"
	),
	"de": r"(?!)",
	"es": r"(?:\b(?:los?|las?|el|un|una|de|del|su|cada)\s+)$",
	"cs": r"(?!)",
}
"""Directly before a participle: it describes a noun, such as "the updated list"."""
SUCCESSFULLY = re.compile(r"\b(?:successfully|erfolgreich|exitosamente|con éxito|úspěšně)\b", re.IGNORECASE)
"""Before a participle that begins a sentence without a subject: the author did it."""
CLAUSE_END = re.compile(
	r"[,;:–—()]|\s-\s|\b(?:and|but|while|whereas|und|aber|sowie|doch|pero|mientras|ale|zatímco)\b"
	r"|(?<=\s)(?-i:y|e|a)(?=\s)",
	re.IGNORECASE,
)
SENTENCE_END = re.compile(r"(?<=[.!?…])(?=[\s\"'”»]+|$)\s*|\n+")
MONTHS = """january february march april may june july august september october november december
	jan feb mar apr jun jul aug sep sept oct nov dec
	januar jänner februar märz mai juni juli oktober dezember
	enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre
	ledna února března dubna května června července srpna září října listopadu prosince"""
MONTH = rf"(?:{'|'.join(MONTHS.split())})\b\.?"
DATE_IN_WORDS = re.compile(
	rf"\b\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?{MONTH}(?:,?\s+(?:de\s+|del\s+)?\d{{4}}\b)?"
	rf"|\b{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?",
	re.IGNORECASE,
)
"""A day and its month, with or without the year."""
NUMBER_WORDS = {
	word: number
	for words, number in (
		("two zwei dos dva dvě", 2),
		("three drei tres tři", 3),
		("four vier cuatro čtyři", 4),
		("five fünf cinco pět", 5),
		("six sechs seis šest", 6),
		("seven sieben siete sedm", 7),
		("eight acht ocho osm", 8),
		("nine neun nueve devět", 9),
		("ten zehn diez deset", 10),
		("eleven elf jedenáct", 11),
		("twelve zwölf doce dvanáct", 12),
		("thirteen dreizehn trece třináct", 13),
		("fourteen vierzehn catorce čtrnáct", 14),
		("fifteen fünfzehn quince patnáct", 15),
		("sixteen sechzehn dieciséis šestnáct", 16),
		("seventeen siebzehn diecisiete sedmnáct", 17),
		("eighteen achtzehn dieciocho osmnáct", 18),
		("nineteen neunzehn diecinueve devatenáct", 19),
		("twenty zwanzig veinte dvacet", 20),
		("thirty dreißig treinta třicet", 30),
		("forty vierzig cuarenta čtyřicet", 40),
		("fifty fünfzig cincuenta padesát", 50),
		("sixty sechzig sesenta šedesát", 60),
		("hundred hundert cien sto", 100),
		("dozen dutzend docena tucet", 12),
	)
	for word in words.split()
}


@cache
def verb_patterns() -> dict[str, list[tuple[str, re.Pattern]]]:
	"""By language: (kind of effect, pattern of its verb forms)."""
	verbs = json.loads((Path(__file__).parent / "verbs.json").read_text())
	return {
		language: [
			(kind, re.compile(rf"(?<!\w)(?:{forms})(?!\w)", re.IGNORECASE)) for kind, forms in kinds.items()
		]
		for language, kinds in verbs.items()
	}


def find_named_kinds(text: str, kinds: Sequence[str]) -> frozenset[str]:
	"""Which of these kinds of effect a text names, in any language."""
	return frozenset(
		kind
		for patterns in verb_patterns().values()
		for kind, pattern in patterns
		if kind in kinds and pattern.search(text)
	)


WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


@lru_cache(maxsize=20_000)
def is_verb(word: str) -> bool:
	"""Whether a word is a verb form in one of the languages, or the first word of one."""
	return any(
		pattern.match(word) or first_words(pattern.pattern).fullmatch(word)
		for patterns in verb_patterns().values()
		for _, pattern in patterns
	)


@cache
def first_words(pattern: str) -> re.Pattern:
	"""A pattern of the first words of verb forms of several words."""
	forms = (form.partition(" ") for form in re.split(r"[|():]", pattern))
	return re.compile("|".join(first for first, space, _ in forms if space) or r"(?!)", re.IGNORECASE)


def split_sentences(text: str) -> list[str]:
	"""Sentences and lines of an answer without its code blocks, quotes of mails and table rules."""
	text = re.sub(r"```.*?(?:```|\Z)", " ", text, flags=re.DOTALL)
	text = re.sub(r"(?m)^\s*>.*$", "", text)
	text = re.sub(
		r"\b(?:e\.g|i\.e|z\.B|d\.h|p\.ej|např|tzv|Nr|No|Dr|Mr|Mrs|Ms|Sr|Sra|č|vs|etc|ca|approx)\.",
		lambda m: m[0][:-1],
		text,
	)
	text = re.sub(rf"(?<=\d)\.(?=\s+(?:[a-zäöüáéíóúčďěňřšťůž]|(?i:{MONTH})))", "", text)
	return [part.strip() for part in SENTENCE_END.split(text) if part and part.strip(" \t*#-|>")]


def split_clauses(sentence: str) -> list[str]:
	# Punctuation inside numbers, times and addresses separates nothing.
	masked = re.sub(r"(?<=\w)[,:](?=\w)", "\0", sentence)
	return [part.replace("\0", ",").strip() for part in CLAUSE_END.split(masked) if part and part.strip()]


def find_effects(sentence: str) -> list[tuple[str, bool]]:
	"""What a sentence says was done: (kind, whether its author says "I did")."""
	if not any(map(is_verb, WORD.findall(sentence.lower()))) and not DONE.search(sentence):
		return []
	found: dict[str, bool] = {}
	subject = {language: False for language in FIRST_PERSON}
	for clause in split_clauses(sentence):
		denial = NOT_DONE.search(clause)
		if DONE.search(clause) and not denial:
			found.setdefault("done", True)
			continue
		for language, patterns in verb_patterns().items():
			is_first = bool(re.search(FIRST_PERSON[language], clause, re.IGNORECASE))
			# "I created it and sent it": the second clause has the subject of the first.
			subject[language] = subject[language] or is_first
			if denial and not is_first:
				continue
			for kind, pattern in patterns:
				for match in pattern.finditer(clause, 0, denial.start() if denial else len(clause)):
					if found.get(kind):
						break
					if is_denied(clause[: match.start()], clause[match.end() :]):
						continue
					claimed = judge(language, clause, match, is_first, subject[language])
					if claimed is not None:
						found[kind] = claimed
	return list(found.items())


def is_denied(before: str, after: str) -> bool:
	"""Whether the words directly around a verb say that it was not done."""
	return bool(NEGATED.search(before) or OF_NOTHING.match(after))


def judge(language: str, clause: str, match: re.Match, is_first: bool, is_continued: bool) -> bool | None:
	"""True: the author claims it; False: the author reports it; None: it is not a claim."""
	before, after = clause[: match.start()], clause[match.end() :]
	# Before "creé", a Spanish "la" is no article but the object.
	is_adjective = not match[0].endswith(("é", "í"))
	if is_adjective and re.search(ADJECTIVE_BEFORE[language], before, re.IGNORECASE):
		return None
	if is_first:
		return True
	if re.search(OTHERS[language], before if language == "en" else clause, re.IGNORECASE):
		return None
	if re.search(PASSIVE[language], clause, re.IGNORECASE):
		return False
	if language == "cs" and re.search(r"l[aioy]?$", match[0]):
		return True if is_continued else None
	if not re.search(r"\w", SUCCESSFULLY.sub("", before)):
		return True
	if language == "en" and re.match(r"\s+(?:the|a|an|it|this|that|him|her|them|your|my|his|their)\b", after):
		return True if is_continued else None
	return is_continued
