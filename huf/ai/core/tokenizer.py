"""Splits text and queries into normalized words, identically for every database. Pure.

Case, accents and umlauts are folded, and ä equals ae: Müller, Mueller and MULLER are one word.
"""

import re
import unicodedata
from dataclasses import dataclass, field, replace

WORD = re.compile(r"[^\W_]+")
NO_WORD = re.compile(r"[\W_]+")
MARKS = re.compile(r"[\u0300-\u036f]")
DIGRAPH = re.compile(r"(?<!q)([aou])e")
QUERY_PART = re.compile(r'"([^"]*)"?|(\S+)')
MAX_QUERY_CHARS = 1000
MAX_TERMS = 64
MIN_PREFIX_CHARS = 2


@dataclass(frozen=True)
class Term:
	"""A word or phrase of a query; with `is_prefix`, its last word also matches longer words.

	`spelling`: the words in lower case, but with their accents. `count`: how often the query contains it.
	"""

	words: tuple[str, ...]
	is_prefix: bool = False
	is_quoted: bool = False
	spelling: tuple[str, ...] = field(default=(), compare=False)
	count: int = field(default=1, compare=False)


def strip_accents(text: str) -> str:
	"""Lower case without accents."""
	return remove_accents(text.casefold())


def remove_accents(text: str) -> str:
	return text if text.isascii() else MARKS.sub("", unicodedata.normalize("NFKD", text))


def fold_text(text: str) -> str:
	"""Lower case without accents; ae, oe and ue become a, o and u."""
	return DIGRAPH.sub(r"\1", strip_accents(text))


def split_words(text: str) -> list[str]:
	return WORD.findall(fold_text(text))


def normalize_words(text: str) -> str:
	"""The words of a text, folded, with one space around each."""
	return f" {NO_WORD.sub(' ', fold_text(text)).strip()} "


def split_spelled_words(text: str) -> list[str]:
	"""Words in lower case with their accents."""
	return WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def read_query(text: str) -> list[Term]:
	"""Parse a search query into distinct terms: words, "phrases" and prefixes*.

	All other punctuation is dropped here, so a query can never contain a database's search syntax.
	"""
	terms: dict[Term, Term] = {}
	for phrase, word in QUERY_PART.findall(text[:MAX_QUERY_CHARS]):
		words = tuple(split_words(phrase or word))
		spelling = tuple(split_spelled_words(phrase or word))
		# Compatibility characters may become several words in one of the two forms.
		spelling = spelling if len(spelling) == len(words) else words
		if words:
			is_prefix = word.endswith("*") and len(words[-1]) >= MIN_PREFIX_CHARS
			term = Term(words, is_prefix, bool(phrase), spelling)
			terms[term] = replace(term, count=terms[term].count + 1) if term in terms else term
	return list(terms.values())[:MAX_TERMS]
