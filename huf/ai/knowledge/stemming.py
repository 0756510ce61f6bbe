"""Stems (Snowball) and stop words of English, German, Spanish and Czech. Pure.

A text is stemmed in its own language, found by its stop words. A query is too short for that, so it looks for
the stems of all four languages.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock

from snowballstemmer.czech_stemmer import CzechStemmer
from snowballstemmer.english_stemmer import EnglishStemmer
from snowballstemmer.german_stemmer import GermanStemmer
from snowballstemmer.spanish_stemmer import SpanishStemmer

from huf.ai.core.tokenizer import fold_text, split_words, strip_accents

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
