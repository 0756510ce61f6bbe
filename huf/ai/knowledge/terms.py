"""Turns a search query into terms of the index: the stems of its words, without stop words. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from huf.ai.core.tokenizer import Term, read_query, strip_accents
from huf.ai.knowledge.stemming import (
	STEMMERS,
	STOP_WORDS,
	detect_stemming_language,
	stem_in_all_languages,
	stem_word,
)

MAX_TERMS = 32
MIN_LOOSE_CHARS = 4
MAX_SUFFIX_CHARS = 5
"""A stem is at most this much shorter than the words that a prefix stands for."""


@dataclass(frozen=True)
class IndexTerm:
	"""A term and its form in the index: one of `stems` (or phrases of them), or a word with `prefix`."""

	term: Term
	stems: tuple[tuple[str, ...], ...]
	prefix: str = ""

	@property
	def is_strict(self) -> bool:
		"""Whether the exact words count, which the index does not have."""
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
