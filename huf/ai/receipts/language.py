"""Reads claims in English, German, Spanish and Czech: verbs of effect, who did it, negation."""

import json
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

from huf.ai.receipts.words import MONTH, NUMBER_WORDS

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
	"cs": r"\b(?:byl[aoiy]?|je|jsou|bylo|byly|byli|máte|mám?)\b",
}
OTHERS = {
	"en": (
		r"\b(?:you|he|she|they|who|customer|user|someone|somebody)\b(?:['’](?:ve|d))?(?:\s+(?:have"
		r"|has|had|also))?\s*$"
	),
	"de": r"\b(?:hat|hatte|haben sie|sie haben|habt|hast|hatten)\b",
	"es": r"(?<!se )\b(?:ha|has|han|había|habían)\b(?! sido)",
	"cs": r"\b(?:jste|jsi)\b",
}
"""Somebody else did it: nothing that the answer's author claims."""
NOT_DONE = re.compile(
	r"\bnot\b|\bbounced\b|\brefused\b|n['’]t\b|\bnever\b|\bcannot\b|\bunable\b|\bfail|\bwill\b|\bwould\b|\bshould\b"
	r"|\bcould\b|\bcan\b|['’]ll\b"
	r"|\b(?:that|which) (?:is|are|was|were|has been|have been)\b|\bgoing to\b|\bmay\b|\bmight\b"
	r"|\bmust\b|\blet me\b|\bif\b|\bonce\b|\bwhen\b|\bunless\b|\bneeds? to\b|\bto be\b"
	r"|\bnothing\b|\bnobody\b|\bnone\b|\bno [\w-]+ (?:was|were|has|have|is|are)\b|\bwant|\bshall\b"
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
	r"\b(?:there (?:are|is|were) no|no open|(?:has|have) no(?! (?:permission|access|right))|found no"
	r"|found nothing|nothing found)\b"
	r"|\b(?:gibt es keine|es gibt keine|keine \w+ (?:gefunden|vorhanden)|hat keine|haben keine)"
	r"|\b(?:no hay|no tiene|no existen?|no encontré|no he encontrado)\b"
	r"|\b(?:nejsou žádn|není žádn|nemáte žádn|nemá žádn|nenašel|nenašla|neexistuj)",
	re.IGNORECASE,
)
DONE = re.compile(
	r"^\W*(?:(?:all|everything(?: is|['’]s)?|it(?: is|['’]s)|that(?: is|['’]s)"
	r"|this is|consider it) )?(?:done|taken care of|all set|completed|finished|sorted)\b"
	r"|^\W*(?:alles |das ist |ist |schon )?(?:erledigt|fertig|gemacht|geschafft)\b"
	r"|^\W*(?:todo |ya está |está )?(?:hecho|listo|lista|terminado|completado)\b"
	r"|^\W*(?:vše |všechno |to |je )*(?:hotovo|vyřízeno|splněno|uděláno|zařízeno)\b",
	re.IGNORECASE,
)
ADJECTIVE_BEFORE = {
	"en": (
		r"(?:\b(?:the|a|an|your|this|these|those|any|newly|recently|every|each|last|most recently"
		r"|all|of|no|with|their|its|(?!indeed)\w{3,}ed|I(?:['’]m| am| was))\s+)$"
	),
	"de": r"(?!)",
	"es": r"(?:\b(?:los?|las?|el|un|una|de|del|su|cada)\s+)$",
	"cs": r"(?!)",
}
"""Directly before a participle: it describes a noun, such as "the updated list"."""
PREDICATE_END = re.compile(
	r"\W*(?:$|\d|(?:pod|na|v|ve|do|od|k|pro|za|s|z|jako|i|už|dnes|včera|právě)\b)", re.IGNORECASE
)
"""What may follow a Czech participle of the long form. Before a noun, as in "smazané záznamy", it is an
adjective.
"""
SUCCESSFULLY = re.compile(r"\b(?:successfully|erfolgreich|exitosamente|con éxito|úspěšně)\b", re.IGNORECASE)
"""Before a participle that begins a sentence without a subject: the author did it."""
GENERAL = re.compile(
	r"^\W*(?:an?|any)\s.*\b(?:is|are|gets)\s+$"
	r"|\b(?:is|are)\s+(?:then|usually|always|normally|automatically)\s+$",
	re.IGNORECASE,
)
"""Before a participle: it says what happens in general, such as "An order is created by the buyer"."""
REPORTED = re.compile(
	r"\b(?:says|said|writes|mentions|mentioned|states|reports|informs|according to)\b"
	r"|\b(?:schreibt|sagt|laut|berichtet|teilt)\b|\b(?:dice|escribe|según|indica)\b|\b(?:píše|říká|podle|uvádí)\b",
	re.IGNORECASE,
)
"""Repeats what somebody has written."""
STATE_LABEL = re.compile(r"\||[\s*•-]*\w+[\s*]*:[\s*]*\d")
"""Begins a row of a table, or a state with its count, such as "- **Paid**: 43"; its verbs have no subject."""
TABLE_HEAD = re.compile(r"(?m)^[ \t]*\|.*\n(?=[ \t]*\|[ \t:|-]*$)")
EARLIER = re.compile(
	r"\b(?:earlier|already|previously|before|bereits|schon|vorhin|zuvor|ya|antes|anteriormente|už|již|dříve)\b",
	re.IGNORECASE,
)
"""Speaks of what was done before this message."""
DRAFT = re.compile(r"\bdraft|entwurf|entwürfe|\bborrador|\bkoncept|\bnávrh", re.IGNORECASE)
"""Speaks of a text that was not sent: "I wrote a draft"."""
IDIOMS = re.compile(
	r"\blogged (?:in|into|on|out|off)\b|\bmade (?:an? (?:mistake|error|typo)|sure|clear)\b"
	r"|\blet(?:['’]s| us)\b|\badded up\b"
	r"|\b(?:drafted|composed|written(?! to\b)|verfasst|entworfen|redactado|redacté|sepsala?|napsala?)\b"
	r"(?=[^.!?]*:$)",
	re.IGNORECASE,
)
"""Phrases that contain a verb of effect and claim none."""
UNCERTAIN = re.compile(
	r"\b(?:maybe|perhaps|possibly|either|whether|seems|depends|vielleicht|möglicherweise|entweder|ob|scheint"
	r"|quizás?|tal vez|puede que|(?:compruebe|verifique|revise) si|možná|zda|zdali|buď)\b"
	r"|^\W*(?:set|put|let|read|choose|click|open|use|enter|make|please (?!note)|bitte)\s",
	re.IGNORECASE,
)
"""Before a verb: it guesses, or tells the reader what to do."""
IMPERATIVES = {"set", "put", "read", "let"}
"""English participles that are imperatives too. Without a subject they count as such, unless the sentence has
already told of something done.
"""
QUOTATION = re.compile(
	r'"([^"\n]{10,500})"|“([^”\n]{10,500})”|„([^“”\n]{10,500})[“”]|«([^»\n]{10,500})»', re.IGNORECASE
)
SALUTATION = (
	r"(?:Dear|Hi|Hello|Liebe[rs]?|Hallo|Sehr geehrte[rs]?|Guten Tag|Estimad[oa]s?|Querid[oa]s?|Hola"
	r"|Mil[áýíé]|Vážen[áýí]|Dobrý den|Ahoj)\b[^\n,:!]{0,80}[,:!]"
)
CLOSING = (
	r"(?:(?:Best|Kind|Warm) regards|Regards|Sincerely|Best wishes|[^\n]{0,30}Grü(?:ße|ßen|ssen|sse)"
	r"|(?:Un )?(?:cordial )?saludos?|Saludos cordiales|Atentamente|S (?:přátelským )?pozdravem)"
)
GAP = r"[ \t*_-]{0,20}"
LINES = rf"\n\s{{0,20}}{GAP}"
LETTER = re.compile(
	rf":[ \t*_]{{0,10}}{LINES}(?:(?:Subject|Betreff|Asunto|Předmět)\b[^\n]{{0,200}}{LINES})?{SALUTATION}"
	# The match stops at the first closing line, so that many salutations do not each scan the whole text.
	rf"(?:[^\n]|\n(?!{GAP}{CLOSING}\b)){{0,4000}}\n{GAP}{CLOSING}\b",
	re.IGNORECASE,
)
"""A letter that an answer proposes, after a colon. What it says is not what the author did."""
CLAUSE_END = re.compile(
	r"[,;:–—()]|\s-\s|\b(?:and|but|while|whereas|und|aber|sowie|doch|pero|mientras|ale|zatímco)\b"
	r"|(?<=\s)(?-i:y|e|a)(?=\s)",
	re.IGNORECASE,
)
ABBREVIATION = re.compile(
	r"\b(?:e\.g|i\.e|vs|etc|ca|approx|incl|No|Dr|Mr|Mrs|Ms|z\.B|d\.h|bzw|inkl|zzgl|Nr|Tsd|Mio|tis|p\.ej|aprox"
	r"|núm|Sr|Sra|např|tzv|cca|č)\."
)
"""The period after these ends no sentence."""
ORDINAL = re.compile(
	rf"(?m)(?P<marker>^[ \t]*(?:[-*•][ \t]+)?\d{{1,3}}\.)(?=[ \t]+(?!(?i:{MONTH})))"
	rf"|(?<=\d)\.(?=\s+(?:[a-zäöüáéíóúčďěňřšťůž]|(?i:{MONTH})))"
)
"""The dot of an ordinal such as "3. Mai", which ends no sentence; that of a list's `marker` stays."""
SENTENCE_END = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"”“»]))(?!(?<=\d\.)\s?\d)(?=[\s\"'”»]+|$)\s*|\n+")
"""Not inside of a date such as 24. 11. 2026."""
ASKED_FOR = re.compile(
	r"(?<!as )\byou (?:mentioned|asked|said|wanted)\b|(?<!as )\brequested\b"
	r"|\bverstanden, dass\b|(?<!wie )\b(?:gewünscht|verlangt)\b"
	r"|(?<!como )\busted (?:mencionó|pidió)\b|(?<!lo )\b(?:pidieron|pedid[oa]s?|solicitad[oa]s?)\b"
	r"|\b(?:zmínila?|chtěla?) jste\b|(?<!jak )\bpožadován[aoy]?\b",
	re.IGNORECASE,
)
"""Repeats what the prompt says."""
NEEDED = re.compile(
	r"\b(?:I (?:still |only )?need|ich brauche|brauche ich|ich benötige|benötige ich|necesito"
	rf"|potřebuji|potřebuju) (?:noch |ještě )?(?:\d+|{'|'.join(NUMBER_WORDS)})\b",
	re.IGNORECASE,
)
"""How many things the author needs: no fact of the site."""
PART_OF = re.compile(
	r"\b(?:of|out of|von|der|de|z|ze) (?:(?:the|den|las|los|těch) )?"
	rf"(\d+|{'|'.join(NUMBER_WORDS)})\b(?![.,:]\d)",
	re.IGNORECASE,
)
"""Of how many things it speaks: "one of the two"."""


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
	"""Sentences and lines of an answer without code, letters, quoted mails, heads and rules of tables."""
	text = re.sub(r"```.*?(?:```|\Z)", " ", text, flags=re.DOTALL)
	text = LETTER.sub(":\n", re.sub(r"(?m)^\s*>.*$", "", TABLE_HEAD.sub("", text)))
	text = ABBREVIATION.sub(lambda found: found[0][:-1], text)
	text = ORDINAL.sub(lambda found: found["marker"] or "", text)
	quotations = [found.span() for found in QUOTATION.finditer(text)]
	ends = [
		end.span()
		for end in SENTENCE_END.finditer(text)
		if not any(first < end.start() < last for first, last in quotations)
	]
	places = zip([0, *(last for _, last in ends)], [*(first for first, _ in ends), len(text)], strict=True)
	parts = [text[start:end] for start, end in places]
	return [part.strip() for part in parts if part.strip(" \t*#-|>")]


def split_clauses(sentence: str) -> list[str]:
	# Punctuation inside numbers, times and addresses separates nothing.
	masked = re.sub(r"(?<=\w)[,:](?=\w)", "\0", sentence)
	return [part.replace("\0", ",").strip() for part in CLAUSE_END.split(masked) if part and part.strip()]


def find_effects(sentence: str) -> list[tuple[str, bool]]:
	"""What a sentence says was done: (kind, whether its author says "I did")."""
	sentence = IDIOMS.sub(" ", sentence)
	if not any(map(is_verb, WORD.findall(sentence.lower()))) and not DONE.search(sentence):
		return []
	found: dict[str, bool] = {}
	subject = {language: False for language in FIRST_PERSON}
	is_reported = bool(REPORTED.search(sentence) or STATE_LABEL.match(sentence))
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
					claimed = judge(language, clause, match, is_first, subject[language])
					if claimed is not None:
						found[kind] = claimed and (subject[language] or not is_reported)
	return list(found.items())


def judge(language: str, clause: str, match: re.Match, is_first: bool, is_continued: bool) -> bool | None:
	"""True: the author claims it; False: the author reports it; None: it is not a claim."""
	before, after = clause[: match.start()], clause[match.end() :]
	if NEGATED.search(before) or OF_NOTHING.match(after):
		return None
	# Before "creé", a Spanish "la" is no article but the object.
	is_adjective = not match[0].endswith(("é", "í"))
	if is_adjective and re.search(ADJECTIVE_BEFORE[language], before, re.IGNORECASE):
		return None
	is_long_form = language == "cs" and match[0].endswith(("ý", "á", "é", "aní", "ou"))
	if is_long_form and not PREDICATE_END.match(after):
		return None
	is_passive = bool(re.search(PASSIVE[language], clause, re.IGNORECASE))
	if is_first and language == "es" and re.search(r"[ai]d(?:as?|os)$", match[0]):
		# After "he" and "hemos" come masculine singular forms only.
		return False if is_passive else None
	if is_first:
		return True
	if UNCERTAIN.search(before) or GENERAL.search(before):
		return None
	if re.search(OTHERS[language], before if language == "en" else clause, re.IGNORECASE):
		return None
	if is_passive:
		return False
	if language == "cs" and re.search(r"l[aioy]?$", match[0]):
		return True if is_continued else None
	if language == "es" and match[0].endswith("ó"):
		return None
	if not re.search(r"\w", SUCCESSFULLY.sub("", before)):
		return None if match[0].lower() in IMPERATIVES and not (before or is_continued) else True
	if language == "en" and re.match(r"\s+(?:the|a|an|it|this|that|him|her|them|your|my|his|their)\b", after):
		return True if is_continued else None
	return is_continued
