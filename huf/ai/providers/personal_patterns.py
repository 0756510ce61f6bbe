"""Finds personal data by its format or context, validated by libraries where they know the format."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import phonenumbers
from stdnum import iban, luhn
from stdnum.at import vnr
from stdnum.ch import ssn as ahv
from stdnum.cz import rc
from stdnum.de import idnr
from stdnum.es import nie, nif
from stdnum.eu import vat
from stdnum.gb import nhs
from stdnum.us import ssn

from huf.ai.core.field_values import split_lines
from huf.ai.core.timed_pattern import PatternError, TimedPattern, compile_pattern

REGIONS = ("DE", "AT", "CH", "GB", "US", "ES", "CZ")
SITE_PATTERN = re.compile(r"([A-Z][A-Z0-9_]*)\s*:\s*(\S.*)")
PHONE = "|".join(
	(
		r"(?<![\w+])(?:\+|00)[1-9](?:[ ./()-]{0,2}\d){6,13}(?!\w)",
		r"(?<![\w./:,-])\(?0[1-9]\d{0,4}\)?[ /-]{0,2}\d(?:[ /.-]?\d){4,10}(?![\w-])",
		r"(?<![\w.,-])\(?[2-9]\d{2}\)?[ .-]\d{3}[ .-]\d{4}(?![\w-])",
		r"(?<![\w.,-])[6-9]\d{2} \d{3} \d{3}(?![\w-])",
	)
)
NUMERIC_DATE = re.compile(r"\d{1,2}([-./ ])\d{1,2}\1\d{4}")


def is_phone(text: str) -> bool:
	return not NUMERIC_DATE.match(text) and any(is_possible_phone(text, each) for each in REGIONS)


def is_possible_phone(text: str, region: str) -> bool:
	try:
		return phonenumbers.is_possible_number(phonenumbers.parse(text, region))
	except phonenumbers.NumberParseException:
		return False


def is_card(text: str) -> bool:
	return luhn.is_valid(re.sub(r"\D", "", text))


def is_vat(text: str) -> bool:
	return any(map(str.isdigit, text)) and vat.is_valid(text)


def is_tax_number(text: str) -> bool:
	"""Formats without a check digit are recognised by their separators."""
	has_own_form = "/" in text and not re.fullmatch(r"\d{6}/\d{3,4}", text)
	return has_own_form or any(each.is_valid(text) for each in (idnr, nif, nie, rc, ahv, ssn))


def is_insurance_number(text: str) -> bool:
	digits = re.sub(r"[ /]", "", text)
	return not digits.isdigit() or len(digits) == 12 or vnr.is_valid(digits) or nhs.is_valid(digits)


TAX_NUMBER = r"""
	(?<![\w.,/-])(?:
		[XYZ]?[ -]?\d{7,8}[ -]?[A-Z]            # Spain: NIF, NIE
		| \d{2}\ ?\d{3}\ ?\d{3}\ ?\d{3}         # Germany: tax identification number
		| \d{2,3}/\d{3,4}/\d{4,5}               # Germany: tax number; Austria
		| \d{6}/\d{3,4}                         # Czechia: rodné číslo
		| 756\.\d{4}\.\d{4}\.\d{2}              # Switzerland: AHV number
		| \d{3}-\d{2}-\d{4}                     # USA: social security number
	)(?![\w/-])
"""
INSURANCE_NUMBER = r"""
	(?<![\w.,-])(?:
		\d{2}\ ?(?:[0-6]\d)(?:0[1-9]|1[0-2])\d{2}\ ?[A-Z]\ ?\d{3}   # Germany: pension insurance
		| [A-Z]{2}\ ?\d{2}\ ?\d{2}\ ?\d{2}\ ?[A-D]     # United Kingdom: national insurance
		| \d{2}[ /]\d{8}[ /]\d{2}                                  # Spain: social security
		| \d{4}\ \d{6} | \d{3}\ \d{3}\ \d{4}                       # Austria: social insurance; UK: NHS
	)(?![\w-])
"""
LABELS = (
	r"(?:Umsatz)?[Ss]teuer-?(?:[Nn]ummer|[Nn]r|I[Dd](?:[Nn]r)?|[Ii]dentifikationsnummer)|St\.?-?Nr"
	r"|I[Dd]Nr|U[Ss][Tt]-?I[Dd](?:-?Nr)?",
	r"(?:Renten|Sozial|Kranken|Unfall|Pflege|Lebens|Haftpflicht)?-?"
	r"[Vv]ersich(?:erungs|erten)-?(?:[Nn]ummer|[Nn]r)|VSNR|SVNR|SV-?Nr|KVNR",
	r"[Pp]olicen?-?(?:[Nn]ummer|[Nn]r)"
	r"|(?:[Aa]usweis|[Pp]ass|[Pp]ersonal|[Pp]atienten|[Mm]itglieds)-?(?:[Nn]ummer|[Nn]r)",
	r"(?:[Tt]ax|[Ii]nsurance|[Pp]olicy|[Ss]ecurity|[Pp]assport|[Mm]ember|[Pp]atient|NHS|NI|VAT)[ ]"
	r"(?i:number|no|id|identification[ ]number)",
	r"SSN|TIN|UTR|NINO|NIF|NIE|DNI|NUSS|CIF|DIČ|IČO|RČ",
	r"[Ii]dentificación[ ][Ff]iscal|[Pp]óliza|[Aa]filiación(?:[ ]a[ ]la[ ][Ss]eguridad[ ][Ss]ocial)?"
	r"|[Ss]eguridad[ ][Ss]ocial"
	r"|[Pp]asaporte|[Aa]segurad[oa]|[Ss]eguro(?:[ ][Ss]ocial|[ ][Mm]édico)?",
	r"[Rr]odn(?:é|ého|ém|ým)[ ]čísl(?:o|a|u|em)|[Pp]ojištěnce|[Pp]ojistky|[Pp]ojištění|[Pp]ojistné[ ]smlouvy"
	r"|číslo[ ]pasu|občanského[ ]průkazu",
)
"""German (three), English, short forms, Spanish, Czech."""
FILLERS = "lautet|ist|war|is|was|es|je|zní|bylo|von|nr|no|n[º°]|č|[.:#=(]"
LABELLED_NUMBER = rf"""
	(?<!\w)(?=[A-ZČacimprstuvč])(?:{"|".join(LABELS)})(?!\w)(?:[ ]?(?:{FILLERS})\.?(?![^\W\d_])){{0,3}}[ ]?
	(?P<value>(?:[A-Z]{{1,4}}[ -]?)?\d[A-Z0-9]{{0,15}}
	(?:(?:[ ]?[/.-][ ]?|[ ])?[A-Z]?\d[A-Z0-9]{{0,14}}|[ -]?[A-Z](?!\w)){{0,6}})
"""
UPPER = "A-ZÄÖÜÁÉÍÓÚÑČŠŽŘĎŤŇÝĚŮ"
CAPITAL = rf"\b[{UPPER}][\w'’]{{1,30}}\.?"
SMALL = r"(?:am|an[ ]der|im|de|del|la|las|los|el|y|nad|pod|upon|on)[ ]"
CITY = rf"{CAPITAL}(?:[ -](?:{SMALL})?{CAPITAL}){{0,2}}"
UNITS = (
	"Euro|EUR|USD|CZK|Kč|GBP|Dollar|Franken|Stück|Personen|Menschen|Leute|Einwohner|Mitarbeiter|Mitglieder|Kilometer"
	"|Meter|Tonnen|Liter|Zeichen|Wörter|Jahre|Stunden|Minuten|Tage|Seiten|Exemplare|Besucher|Kunden|Nutzer|Fälle"
	"|Zeilen|Token|Tokens|Byte|Bytes|KB|MB"
)
HOUSE = r"[ ]?[ ](?:Nr\.?[ ]?)?\d{1,5}(?:[ ]?[a-hA-H]\b)?(?:[ ]?[-–/][ ]?\d{1,5}[a-h]?)?\b"
GERMAN_WAY = (
	"stra(?:ß|ss)e|str\\.|weg|platz|allee|gasse|damm|ufer|chaussee|graben|steig|promenade|ring|markt|hof|berg"
	"|tor"
)
ENGLISH_WAY = (
	"Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Boulevard|Blvd|Close|Crescent|Terrace|Place"
	"|Gardens|Row|Mews|Grove|Hill|Way"
)
SPANISH_WAY = "(?i:calle|avenida|avda\\.|plaza|paseo|camino|ronda|carrer|travesía|gran[ ]vía)[ ]|[Cc]/[ ]?"
CZECH_WAY = "(?i:ulic[eíi]|ul\\.|náměstí|nám\\.|tříd[aěuy]|tř\\.|nábřeží)"
PLACES = (
	rf"(?:[,;\n\x00-][ ]?|(?:in|en|aus|nach|PLZ|CP)[ ]|^)(?P<value>\d{{5}}[ ](?!(?:{UNITS})\b){CITY})",
	rf"\b\d{{3}}[ ]\d{{2}}[ ](?!(?:{UNITS})\b){CITY}(?:[ ]\d{{1,2}}\b)?",
	rf"{CITY}(?:,?[ ][A-Z]{{1,2}}\d[A-Z\d]?[ ]\d[A-Z]{{2}}|,[ ][A-Z]{{2}}[ ]\d{{5}}(?:-\d{{4}})?)\b",
)
"""Postal code and city: Germany and Spain, Czechia, the United Kingdom, the USA."""
STREETS = (
	rf"(?<![\w-])[{UPPER}][\w-]{{0,40}}(?:{GERMAN_WAY}){HOUSE}",
	rf"\b(?:Am|An|Im|In|Auf|Zum|Zur|Unter|Alte[rs]?|Hinter)[ ](?:(?:de[rmn])[ ])?{CAPITAL}{HOUSE}"
	r"(?=[ ,;\n\x00]+(?:in[ ])?\d{5}\b)",
	rf"\b\d{{1,5}}[a-d]?[ ](?:{CAPITAL}[ ]){{1,3}}(?:{ENGLISH_WAY})\b\.?",
	rf"\b(?:{SPANISH_WAY})(?:{SMALL}){{0,3}}{CAPITAL}(?:[ ](?:{SMALL}){{0,3}}{CAPITAL}){{0,3}}"
	r",?[ ](?:n\.?[º°o]\.?[ ]?|n[úu]m(?:ero|\.)[ ])?\d{1,4}\b",
	rf"\b{CZECH_WAY}[ ]\w+(?:[ ]\w+)?{HOUSE}",
	rf"{CAPITAL}(?:[ -](?i:{GERMAN_WAY}){HOUSE}"
	rf"|(?:[ ]\w+)?[ ]\d{{1,5}}(?:/\d{{1,4}}[a-z]?)?(?=,[ ]\d{{3}}[ ]\d{{2}}[ ]))",
	rf"\b[{UPPER}]\w+(?:ova|ská|cká|ná|há|rá|lá|ého|ných|ských)[ ]"
	rf"[1-9]\d{{0,4}}(?:/\d{{1,4}}[a-z]?)?(?![\w/.])",
)
"""Street and number: Germany, the English-speaking countries, Spain, Czechia (the middle one German too)."""
MONTHS = (
	"jan feb mar|mär|mrz apr may|mai jun jul aug sep oct|okt nov dec|dez",
	"ene feb mar abr may jun jul ago sep|set oct nov dic",
	"led úno bře dub kvě čer červenc srp zář říj lis pro",
)
MONTH_NUMBERS = {
	beginning: number
	for language in MONTHS
	for number, each in enumerate(language.split(), 1)
	for beginning in each.split("|")
}
DATE = re.compile(
	r"""
	(?<![\w./-])(?:
		(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})
		| (?P<a>\d{1,2})(?P<separator>[./-]|\.[ ])[ ]?(?P<b>\d{1,2})(?:[./-]|\.[ ])[ ]?(?P<year>\d{4}|\d{2})
		| (?P<day>\d{1,2})(?:\.|(?:\.|st|nd|rd|th)?[ ])(?:de[ ]|of[ ])?
			(?P<month>[^\W\d_]{3,10})\.?,?[ ](?:del?[ ])?(?P<year2>\d{4})
		| (?P<month2>[A-Z][a-z]{2,8})\.?[ ](?P<day2>\d{1,2})(?:st|nd|rd|th)?,?[ ](?P<year3>\d{4})
	)(?:(?=T\d\d:)|(?![\w/-]|\.\d))
	""",
	re.VERBOSE,
)
BORN_WORD = r"""(?:
	\b(?:geb(?:oren(?:e[nr]?)?|\.)?|geburts(?:tag|datum|jahr)
	|born|birth(?:\ ?day|\ ?date)?|dob|d\.o\.b\.
	|nacid[oa]s?|naci[óo]|nacimiento|fec(?:ha|\.)\ (?:de\ )?nac(?:imiento|\.)
	|naroz(?:en[aáoýé]?|ení)|nar\.|narození|narozenin(?:y|ami)?|dat(?:um|a|em)\ naroz(?:ení|\.))
	|(?<![*])[*†](?=[ ]?\d|[ ]?$)
)"""
BORN = re.compile(
	rf"(?ix){BORN_WORD}(?:[\s:=*)(,.-]|am|is|on|of|el|día|je|dne|ist|lautet|war|was|his|her|es|fue|the){{0,6}}$"
)
YEAR = re.compile(r"(?:1[89]|20)\d\d(?!\w|[./-]\d)")
BORN_WORDS = re.compile(
	rf"""(?ix){BORN_WORD}(?:[\s:=*)(,-]|\b(?:am|is|on|of|el|día|je|dne|ist|war|was|the|in|im|en|v)\b){{0,8}}
	(?P<value>(?:(?:[^\W\d_]+|\d{{1,2}})(?:\.|st|nd|rd|th)?[\s-]){{0,4}}
	(?:(?:{"|".join(MONTH_NUMBERS)})[^\W\d_]{{0,7}}|(?:I{{1,3}}|I?[VX]|VI{{1,3}}|XI{{1,2}})\b)[.,]?[\s-]
	(?:(?:(?:the|of|de|del|des|año|year|jahres|roku)|\d{{1,2}}(?:st|nd|rd|th)?,?)[\s-]){{0,3}}
	|(?:year|jahre?|año|roce|roku)?[ ]?)$"""
)
"""A date of birth in words, or a year of birth."""
BORN_AFTER = re.compile(r"(?: in [^\W\d_]+)? (?:geboren|geb\.|narozen[aý]?)\b")
CONTEXT_CHARS, WORDS_CHARS = 40, 80


def find_birth_dates(
	text: str, spans: Sequence[tuple[int, int]], known: set[tuple[int, int, int]]
) -> Iterator[tuple[int, int]]:
	"""(start, end) of dates of birth in parts of a text: dates of records, and dates after a word such as
	geb. or born, also in words.
	"""
	for found in chain.from_iterable(DATE.finditer(text, *span) for span in spans):
		is_born = BORN.search(text, max(0, found.start() - CONTEXT_CHARS), found.start())
		if is_born or BORN_AFTER.match(text, found.end()) or known & read_dates(found):
			yield found.span()
	for found in chain.from_iterable(YEAR.finditer(text, *span) for span in spans):
		if born := BORN_WORDS.search(text, max(0, found.start() - WORDS_CHARS), found.start()):
			yield born.start("value"), found.end()


def read_dates(found: re.Match) -> set[tuple[int, int, int]]:
	"""All readings of a date: 3/4/1970 is in March or in April."""
	part = found.groupdict()
	if part["y"]:
		return {(int(part["y"]), int(part["m"]), int(part["d"]))}
	if part["a"]:
		year, a, b = int(part["year"]), int(part["a"]), int(part["b"])
		years = (year,) if year > 99 else (1900 + year, 2000 + year)
		return {each for full in years for each in ((full, b, a), (full, a, b))}
	name = (part["month"] or part["month2"]).lower()
	month = next(
		(MONTH_NUMBERS[name[:end]] for end in range(len(name), 2, -1) if name[:end] in MONTH_NUMBERS), 0
	)
	return {(int(part["year2"] or part["year3"]), month, int(part["day"] or part["day2"]))}


def always(text: str) -> bool:
	return True


@dataclass(frozen=True)
class PersonalKind:
	"""A kind of personal data. Of what the pattern finds, only what is valid is masked."""

	name: str
	pattern: re.Pattern | TimedPattern
	is_valid: Callable[[str], bool] = always


KINDS = (
	PersonalKind("EMAIL", re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")),
	PersonalKind(
		"IBAN", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), iban.is_valid
	),
	PersonalKind("CARD", re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])"), is_card),
	PersonalKind("ID", re.compile(LABELLED_NUMBER, re.VERBOSE)),
	PersonalKind("VAT_ID", re.compile(r"\b[A-Z]{2}[ ]?[A-Z0-9]{2,4}(?:[ .]?[A-Z0-9]{2,4}){1,3}\b"), is_vat),
	PersonalKind("TAX_ID", re.compile(TAX_NUMBER, re.VERBOSE), is_tax_number),
	PersonalKind("INSURANCE_ID", re.compile(INSURANCE_NUMBER, re.VERBOSE), is_insurance_number),
	*(PersonalKind("ADDRESS", re.compile(each, re.VERBOSE)) for each in (*STREETS, *PLACES)),
	PersonalKind("PHONE", re.compile(rf"(?=[+(\d])(?:{PHONE})"), is_phone),
)
"""Masked on every site. If a pattern has a group `value`, only that part is masked. Repetitions are bounded,
so that no text takes long to scan.
"""


DIGITS, AT = (re.compile(r"\d+"), 64), (re.compile("@"), 256)
"""A sign that every match contains, and how many characters of the match may precede and follow it."""


def find_candidate_spans(text: str, sign: tuple[re.Pattern, int]) -> list[tuple[int, int]]:
	"""The parts of a text that can contain matches. Most texts have few, so searching only these is fast."""
	spans: list[tuple[int, int]] = []
	pattern, reach = sign
	for found in pattern.finditer(text):
		start, end = max(0, found.start() - reach), min(len(text), found.end() + reach)
		if spans and start <= spans[-1][1]:
			spans[-1] = spans[-1][0], end
		else:
			spans.append((start, end))
	return spans


def read_patterns(text: str | None) -> tuple[PersonalKind, ...]:
	"""Parse a site's patterns, one `NAME: regular expression` per line. Raises ValueError that names the
	line.
	"""
	kinds: dict[str, TimedPattern] = {}
	for line in split_lines(text):
		parts = SITE_PATTERN.fullmatch(line)
		if not parts:
			raise ValueError(f"{line!r} is not NAME: regular expression, with NAME in capitals.")
		name, expression = parts.groups()
		if name in kinds or any(name == kind.name for kind in KINDS):
			raise ValueError(f"{line!r}: the name {name} is taken. Choose another one.")
		try:
			kinds[name] = compile_pattern(expression)
		except PatternError as error:
			raise ValueError(f"{line!r} is not a regular expression: {error}.") from None
		if kinds[name].occurs_in(""):
			raise ValueError(f"{line!r} fits an empty text, too.")
	return tuple(PersonalKind(name, pattern) for name, pattern in kinds.items())
