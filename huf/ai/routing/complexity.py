"""How much a message asks for, along several dimensions. Looks at words and form; decides nothing."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from huf.ai.routing.lexicon import WORDS, Concept

MAX_MESSAGE_CHARS = 1_000
"""Characters that are looked at: who has not said by then what they want has pasted a text."""
ADDRESS = re.compile(r"https?://\S+|www\.\S+|\b[\w-]+\.(?:com|org|net|de|cz|es|at|uk|io)\b\S*")
WORD = re.compile(r"0url|[\w']+(?:-[\w']+)*|[?:!%+*/=\"«»„“”]")
YEAR = re.compile(r"1\d{3}|20[01]\d")
NUMBERED = re.compile(r"\w*[a-z]\w*-[\w-]*0[\w-]*|[a-z]{0,4}0{3,}\w*|\w+-\w*0+")
QUOTES = '"«»„“”'
MAX_PHRASE_WORDS = 3

Group = tuple[str, ...]
"""What one word stands for; NOTHING for a word nobody knows."""
NOTHING: Group = ("-",)


@dataclass(frozen=True)
class Complexity:
	"""Each dimension from 0 (nothing of it) to 1: what of a message only tools can give."""

	own: float
	fresh: float
	web: float
	files: float
	attached: float
	deeds: float
	sends: float
	steps: float


DIMENSIONS: dict[str, tuple[Concept, ...]] = {
	"own": (Concept.OWN, Concept.RECORD, Concept.WORK),
	"fresh": (Concept.NOW, Concept.STATE, Concept.WORLD),
	"web": (Concept.WEB,),
	"files": (Concept.FILE,),
	"attached": (Concept.ATTACHED,),
	"deeds": (Concept.DEED,),
	"sends": (Concept.SEND,),
	"steps": (Concept.THEN,),
}
PLENTY = 2
"""Words of a dimension from which on it counts in full."""


def measure(text: str) -> Complexity:
	seen = [concept for group in read_concepts(text) for concept in group]
	return Complexity(
		**{name: min(1.0, sum(map(seen.count, concepts)) / PLENTY) for name, concepts in DIMENSIONS.items()}
	)


def read_concepts(text: str) -> list[Group]:
	"""A message word by word, each as what it stands for."""
	words = WORD.findall(ADDRESS.sub(" 0url ", text[:MAX_MESSAGE_CHARS]))
	bare = [plain(word) for word in words]
	return [known(bare, place) or (form_of(words, place, bare[place]),) for place in range(len(words))]


def known(words: list[str], place: int) -> Group:
	table, word = tables(), words[place]
	found = [
		concept
		for length in range(MAX_PHRASE_WORDS, 0, -1)
		for concept in table.whole.get(" ".join(words[place : place + length]), ())
	]
	found += [c for length in range(3, len(word) + 1) for c in table.beginnings.get(word[:length], ())]
	if not found and len(word) > 5:
		found = [c for length in (3, 4, 5) for c in table.endings.get(word[-length:], ())]
	return tuple(dict.fromkeys(found))


def form_of(words: list[str], place: int, bare: str) -> str:
	"""What the look of an unknown word says: a number of a document, a year, a figure, a name, a sign."""
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
	return "name" if word[0].isupper() and place and words[place - 1] not in "?!:" else NOTHING[0]


@dataclass(frozen=True)
class Tables:
	whole: dict[str, Group]
	beginnings: dict[str, Group]
	endings: dict[str, Group]


@lru_cache(maxsize=1)
def tables() -> Tables:
	built = Tables({}, {}, {})
	for concept, words in WORDS.items():
		for word in words.split():
			if word.startswith("*"):
				part, key = built.endings, word[1:]
			elif word.endswith("*"):
				part, key = built.beginnings, word[:-1]
			else:
				part, key = built.whole, word.replace("_", " ")
			part[key] = (*part.get(key, ()), concept.value)
	return built


def plain(text: str) -> str:
	"""Small letters without accents, every digit a 0: people leave accents out, and figures mean nothing here."""
	return re.sub(r"\d", "0", without_accents(text.lower().replace("ß", "ss")))


def without_accents(text: str) -> str:
	if text.isascii():
		return text
	letters = unicodedata.normalize("NFKD", text)
	return "".join(each for each in letters if not unicodedata.combining(each))
