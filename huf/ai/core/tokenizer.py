"""Words as the index keeps them, and what a query asks for. The same for every database; knows no site.

Case, accents and umlauts are folded, and ä is ae: Müller, Mueller and MULLER are one word.
"""

import re
import unicodedata
from dataclasses import dataclass

WORD = re.compile(r"[^\W_]+")
MARKS = re.compile(r"[\u0300-\u036f]")
DIGRAPH = re.compile(r"(?<!q)([aou])e")
ASKED = re.compile(r'"([^"]*)"?|(\S+)')
MAX_QUERY_CHARS = 1000
MAX_TERMS = 24
SHORTEST_PREFIX, SHORTEST_STEM = 2, 4


@dataclass(frozen=True)
class Term:
	"""Words that stand beside one another; of the last, `is_prefix` says that only its beginning is given."""

	words: tuple[str, ...]
	is_prefix: bool = False

	@property
	def loose(self) -> "Term":
		"""The same in other forms of the word: without what may be its ending, and open at the end."""
		word = self.words[-1]
		if len(self.words) > 1 or self.is_prefix or len(word) < SHORTEST_STEM or word.isdigit():
			return self
		return Term((word[: max(SHORTEST_STEM, len(word) - 2)],), True)


def fold(text: str) -> str:
	text = text.casefold()
	if not text.isascii():
		text = MARKS.sub("", unicodedata.normalize("NFKD", text))
	return DIGRAPH.sub(r"\1", text)


def words_of(text: str) -> list[str]:
	return WORD.findall(fold(text))


def read_query(text: str) -> list[Term]:
	"""What is asked for, each once: words, "words beside one another", beginnings of words*.

	Whatever else stands in it is no language of any database: signs fall out here.
	"""
	terms = []
	for phrase, word in ASKED.findall(text[:MAX_QUERY_CHARS]):
		words = tuple(words_of(phrase or word))
		if words:
			is_prefix = word.endswith("*") and len(words[-1]) >= SHORTEST_PREFIX
			terms.append(Term(words, is_prefix))
	return list(dict.fromkeys(terms))[:MAX_TERMS]
