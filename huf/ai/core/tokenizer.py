"""Splits text and queries into normalized words, identically for every database. Pure.

Case, accents and umlauts are folded, and ä equals ae: Müller, Mueller and MULLER are one word.
"""

import re
import unicodedata
from dataclasses import dataclass

WORD = re.compile(r"[^\W_]+")
MARKS = re.compile(r"[\u0300-\u036f]")
DIGRAPH = re.compile(r"(?<!q)([aou])e")
QUERY_PART = re.compile(r'"([^"]*)"?|(\S+)')
MAX_QUERY_CHARS = 1000
MAX_TERMS = 24
MIN_PREFIX_CHARS = 2
MIN_STEM_CHARS = 4


@dataclass(frozen=True)
class Term:
	"""A word or phrase of a query; with `is_prefix`, its last word also matches longer words."""

	words: tuple[str, ...]
	is_prefix: bool = False

	@property
	def loose(self) -> "Term":
		"""A looser term that also finds other forms of the word: its stem, as a prefix."""
		word = self.words[-1]
		if len(self.words) > 1 or self.is_prefix or len(word) < MIN_STEM_CHARS or word.isdigit():
			return self
		return Term((word[: max(MIN_STEM_CHARS, len(word) - 2)],), True)


def fold_text(text: str) -> str:
	"""Lower case without accents; ae, oe and ue become a, o and u."""
	text = text.casefold()
	if not text.isascii():
		text = MARKS.sub("", unicodedata.normalize("NFKD", text))
	return DIGRAPH.sub(r"\1", text)


def split_words(text: str) -> list[str]:
	return WORD.findall(fold_text(text))


def read_query(text: str) -> list[Term]:
	"""Parse a search query into distinct terms: words, "phrases" and prefixes*.

	All other punctuation is dropped here, so a query can never contain a database's search syntax.
	"""
	terms = []
	for phrase, word in QUERY_PART.findall(text[:MAX_QUERY_CHARS]):
		words = tuple(split_words(phrase or word))
		if words:
			is_prefix = word.endswith("*") and len(words[-1]) >= MIN_PREFIX_CHARS
			terms.append(Term(words, is_prefix))
	return list(dict.fromkeys(terms))[:MAX_TERMS]
