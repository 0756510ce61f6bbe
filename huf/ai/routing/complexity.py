"""Measures what a message asks for in several dimensions, by its words and their form. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from huf.ai.core.tokenizer import remove_accents, strip_accents
from huf.ai.routing.lexicon import Concept, read_lexicon

MAX_MESSAGE_CHARS = 1_000
"""Only the beginning is examined; what follows is usually a pasted text."""
URL = re.compile(r"https?://\S+|www\.\S+|\b[\w-]+\.(?:com|org|net|de|cz|es|at|uk|io)\b\S*")
WORD = re.compile(r"0url|[\w']+(?:-[\w']+)*|[?:!%+*/=\"«»„“”]")
YEAR = re.compile(r"1\d{3}|20[01]\d")
NUMBERED = re.compile(r"\w*[a-z]\w*-[\w-]*0[\w-]*|[a-z]{0,4}0{3,}\w*|\w+-\w*0+")
QUOTES = '"«»„“”'
MAX_PHRASE_WORDS = 3
LAST_LATIN_LETTER = "\u024f"

Group = tuple[str, ...]
"""The concepts of one word; UNKNOWN for an unknown word."""
UNKNOWN: Group = ("-",)


@dataclass(frozen=True)
class Complexity:
	"""What a message asks for that only tools can do, by dimension: each a score from 0 to 1."""

	own: float
	state: float
	world: float
	fresh: float
	web: float
	files: float
	attached: float
	changes: float
	sends: float
	steps: float


DIMENSIONS: dict[str, tuple[Concept, ...]] = {
	"own": (Concept.OWN, Concept.RECORD, Concept.WORK),
	"state": (Concept.STATE,),
	"world": (Concept.WORLD,),
	"fresh": (Concept.NOW, Concept.STATE, Concept.WORLD),
	"web": (Concept.WEB,),
	"files": (Concept.FILE,),
	"attached": (Concept.ATTACHED,),
	"changes": (Concept.DEED,),
	"sends": (Concept.SEND,),
	"steps": (Concept.THEN,),
}
SATURATION_COUNT = 2
"""Number of words from which on a dimension is 1."""
DEEDS = frozenset((Concept.DEED, Concept.SEND))
QUESTIONS = frozenset(
	(
		Concept.WHAT,
		Concept.WHO,
		Concept.HOW_MANY,
		Concept.WHY,
		Concept.WHEN,
		Concept.WHERE,
		Concept.WHICH,
		Concept.IS,
	)
)
POLITE = frozenset((Concept.PLEASE, Concept.YOU))


def measure_complexity(text: str) -> Complexity:
	concepts_found = list(drop_mentioned_deeds(read_concepts(text)))
	return Complexity(
		**{
			name: min(1.0, sum(map(concepts_found.count, concepts)) / SATURATION_COUNT)
			for name, concepts in DIMENSIONS.items()
		}
	)


def drop_mentioned_deeds(groups: list[Group]) -> Iterator[str]:
	"""The concepts of a message without deeds that nobody asks for: those in a question (*Which orders did we
	send?*) and words that name a state (*my open invoices*), unless they begin a sentence (*Open a ticket*).
	"""
	begins, asks = True, False
	for group in groups:
		if begins:
			asks = not QUESTIONS.isdisjoint(group)
		is_mentioned = asks or (Concept.STATE in group and not begins)
		yield from (concept for concept in group if not (is_mentioned and concept in DEEDS))
		is_polite = not POLITE.isdisjoint(group)
		begins = group in (("?",), ("!",)) or Concept.THEN in group or (begins and is_polite)


def read_concepts(text: str) -> list[Group]:
	"""The concepts of each word of a message."""
	words = WORD.findall(URL.sub(" 0url ", text[:MAX_MESSAGE_CHARS]))
	bare = [normalize_text(word) for word in words]
	return [
		lookup_concepts(bare, place) or (classify_form(words, place, bare[place]),)
		for place in range(len(words))
	]


def lookup_concepts(words: list[str], place: int) -> Group:
	table, word = build_tables(), words[place]
	found = [
		concept
		for length in range(MAX_PHRASE_WORDS, 0, -1)
		for concept in table.whole.get(" ".join(words[place : place + length]), ())
	]
	found += [c for length in range(3, len(word) + 1) for c in table.beginnings.get(word[:length], ())]
	if not found and len(word) > 5:
		found = [c for length in (3, 4, 5) for c in table.endings.get(word[-length:], ())]
	return tuple(dict.fromkeys(found))


def classify_form(words: list[str], place: int, bare: str) -> str:
	"""Classify an unknown word by its form: year, document number, figure, name, punctuation."""
	word = words[place]
	if YEAR.fullmatch(word):
		return "year"
	if NUMBERED.fullmatch(bare):
		return "numbered"
	if bare[0] == "0":
		return "figure"
	if word in QUOTES:
		return "quote"
	if not word[0].isalnum():
		return word
	return "name" if word[0].isupper() and place and words[place - 1] not in "?!:" else UNKNOWN[0]


@dataclass(frozen=True)
class ConceptTables:
	whole: dict[str, Group]
	beginnings: dict[str, Group]
	endings: dict[str, Group]


@lru_cache(maxsize=1)
def build_tables() -> ConceptTables:
	built = ConceptTables({}, {}, {})
	for concept, words in read_lexicon().items():
		for word in words:
			if word.startswith("*"):
				part, key = built.endings, word[1:]
			elif word.endswith("*"):
				part, key = built.beginnings, word[:-1]
			else:
				part, key = built.whole, word.replace("_", " ")
			part[key] = (*part.get(key, ()), concept.value)
	return built


def normalize_text(text: str) -> str:
	"""Lower case without accents, and 0 for every digit: people omit accents, and figures carry no meaning
	here.
	"""
	return re.sub(r"\d", "0", strip_accents(text))


def is_mostly_latin(text: str) -> bool:
	"""Whether at least half of the letters are Latin, as in all languages that the router knows."""
	alphabetic = [each for each in remove_accents(text[:MAX_MESSAGE_CHARS]) if each.isalpha()]
	return 2 * sum(each <= LAST_LATIN_LETTER for each in alphabetic) >= len(alphabetic)
