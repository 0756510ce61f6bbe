"""Stems (Snowball) and stop words of English, German, Spanish and Czech; the index terms of a query. Pure.

A text is stemmed in its own language, found by its stop words. A query is too short for that, so it looks for
the stems of all four languages.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

from snowballstemmer.czech_stemmer import CzechStemmer
from snowballstemmer.english_stemmer import EnglishStemmer
from snowballstemmer.german_stemmer import GermanStemmer
from snowballstemmer.spanish_stemmer import SpanishStemmer

from huf.ai.core.tokenizer import (
	Term,
	fold_text,
	normalize_words,
	read_query,
	split_spelled_words,
	split_words,
	strip_accents,
)

STEMMERS = {"en": EnglishStemmer(), "de": GermanStemmer(), "es": SpanishStemmer(), "cs": CzechStemmer()}
STEMMERS_LOCK = Lock()
"""A Snowball stemmer holds the word it works on."""
STOP_WORDS = {
	language: frozenset(fold_text(word) for line in lines for word in line.split())
	for language, lines in json.loads(
		Path(__file__).with_name("stop_words.json").read_text(encoding="utf-8")
	).items()
}
OWN_CHARACTERS = {"de": frozenset("äöüß"), "es": frozenset("ñ"), "cs": frozenset("ěščřžýůťďň")}
MIN_STOP_WORDS = 2
"""A text with fewer stop words has no known language."""
MAX_AMBIGUOUS_WORDS = 60
"""Up to this length, a text of an unknown language gets the stems of all languages; beyond it, of English."""
CACHED_WORDS = 100_000
CZECH_ENDINGS = (
	*(("am", "ám"), ("um", "ům"), ("u", "ů"), ("eho", "ého"), ("emu", "ému"), ("ych", "ých")),
	*(("ym", "ým"), ("ymi", "ými"), ("ach", "ách"), ("ich", "ích"), ("im", "ím"), ("e", "ě"), ("i", "í")),
)
"""Endings as they are typed without accents, and as the stemmer knows them."""
SPANISH_ENDINGS = (("ia", "ía"), ("ian", "ían"), ("ias", "ías"))
RESTORED_ENDINGS = {"cs": CZECH_ENDINGS, "es": SPANISH_ENDINGS}
MAX_TERMS = 32
MIN_LOOSE_CHARS = 4
MAX_SUFFIX_CHARS = 5
"""A stem is at most this much shorter than the words that a prefix stands for."""


def detect_stemming_language(words: Sequence[str]) -> str | None:
	"""The language with most stop words and characters of its own among `words` (lower case, with accents).

	None if there are too few of them, or as many of two languages.
	"""
	folded = list(map(fold_text, words))
	counts = [
		(sum(word in known for word in folded) + count_characters(words, language), language)
		for language, known in STOP_WORDS.items()
	]
	(second, _), (first, language) = sorted(counts)[-2:]
	return language if first >= MIN_STOP_WORDS and first > second else None


def count_characters(words: Sequence[str], language: str) -> int:
	"""How many words have a character that no other of these languages has."""
	characters = OWN_CHARACTERS.get(language, frozenset())
	return sum(not word.isascii() and not characters.isdisjoint(word) for word in words)


@lru_cache(maxsize=CACHED_WORDS)
def stem_word(word: str, language: str) -> str:
	"""The folded stem of a word in lower case."""
	# The German stemmer ignores umlauts, so ue can be folded before. Not for Spanish, in which ue is not an
	# umlaut.
	text = fold_text(word) if language == "de" else word
	with STEMMERS_LOCK:
		stem = STEMMERS[language].stemWord(text)
	return "".join(split_words(stem)) or "".join(split_words(word)) or "_"


def stem_text(words: Sequence[str], language: str | None = None) -> list[str]:
	"""The stems of a text in their order.

	Args:
		words: in lower case, with accents.
		language: of the document; the text's own stop words count more.
	"""
	language = detect_stemming_language(words) or language
	if language or len(words) > MAX_AMBIGUOUS_WORDS:
		return [stem_word(word, language or "en") for word in words]
	stems = [stem_word(word, "en") for word in words]
	others = {stem_word(word, other) for word in words for other in STEMMERS}
	return [*stems, *sorted(others.difference(stems))]


@lru_cache(maxsize=CACHED_WORDS)
def stem_in_all_languages(word: str) -> frozenset[str]:
	"""The stems that a query's word may have in a text; it may be typed without accents."""
	return frozenset(
		stem_word(each, language) for language in STEMMERS for each in spell_word(word, language)
	)


def spell_word(word: str, language: str) -> set[str]:
	"""Spellings of a word without accents, and with those that its ending may lack."""
	endings = RESTORED_ENDINGS.get(language, ())
	return {word, strip_accents(word), *(re.sub(f"{plain}$", accented, word) for plain, accented in endings)}


@dataclass(frozen=True)
class IndexTerm:
	"""A term and its form in the index: one of `stems` (or phrases of them), or a word with `prefix`."""

	term: Term
	stems: tuple[tuple[str, ...], ...]
	prefix: str = ""

	@property
	def is_strict(self) -> bool:
		"""Whether the words themselves must match; the index has only their stems."""
		return self.term.is_prefix or self.term.is_quoted

	@property
	def is_plain(self) -> bool:
		"""Whether it is one word, of which any form counts."""
		return len(self.term.words) == 1 and not self.is_strict

	@property
	def loose(self) -> "IndexTerm":
		"""A term that also finds stems which are shorter than the prefix."""
		length = max(MIN_LOOSE_CHARS, len(self.prefix) - MAX_SUFFIX_CHARS)
		return replace(self, prefix=self.prefix[:length])


def build_terms(query: str, encode_word: Callable[[str], str]) -> list[IndexTerm]:
	"""The terms to search for; `encode_word`: how the site's index stores a word."""
	return [build_term(each, encode_word) for each in drop_stop_words(read_query(query))[:MAX_TERMS]]


def drop_stop_words(terms: Sequence[Term]) -> list[Term]:
	"""Terms without the stop words of the query's language; all if it consists of nothing else."""
	plain = [each for each in terms if len(each.words) == 1 and not each.is_prefix and not each.is_quoted]
	language = detect_stemming_language([each.spelling[0] for each in plain])
	ignored = [each for each in plain if each.words[0] in STOP_WORDS.get(language or "", ())]
	return [each for each in terms if each not in ignored] or list(terms)


def build_term(term: Term, encode_word: Callable[[str], str]) -> IndexTerm:
	found: set[tuple[str, ...]]
	if len(term.words) == 1:
		found = {(stem,) for stem in stem_in_all_languages(term.spelling[0])}
	else:
		spellings = {term.spelling, tuple(map(strip_accents, term.spelling))}
		found = {tuple(stem_word(word, each) for word in words) for each in STEMMERS for words in spellings}
	stems = tuple(sorted(tuple(map(encode_word, each)) for each in found))
	return IndexTerm(term, stems, term.words[0] if term.is_prefix and len(term.words) == 1 else "")


def count_possible_terms(terms: Sequence[IndexTerm], text: str) -> int:
	"""How many of the terms the text may have, whatever its language: never fewer than it has.

	Cheaper than the index text. The terms are those of no index: `build_terms(query, str)`.
	"""
	stems = frozenset().union(*map(stem_in_all_languages, split_spelled_words(text)))
	return sum(any(map(stems.issuperset, term.stems)) or has_prefix(term, text) for term in terms)


def has_prefix(term: IndexTerm, text: str) -> bool:
	return term.term.is_prefix and f" {' '.join(term.term.words)}" in normalize_words(text)
