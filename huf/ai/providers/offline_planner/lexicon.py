"""Text into words, and tables of words into something that can be looked up. Pure; knows no request."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from huf.ai.providers.offline_planner.words import LANGUAGES

TOKEN = re.compile(
	r"""
	"(?P<double>[^"\n]+)" | “(?P<curly>[^”“\n]+)[”“] | „(?P<low>[^“”\n]+)[“”] | «(?P<guillemet>[^»\n]+)»
	| `(?P<tick>[^`\n]+)` | (?<!\w)'(?P<single>[^'\n]+)'(?!\w)
	| (?P<url>https?://[^\s"'<>]+ | (?<![\w/])/\w[^\s"'<>]*)
	| (?P<word>\d{1,2}:\d\d\b | \w(?:[\w'’/.@+-]*\w)?)
	| (?P<mark>[:;,.!?=\n])
	""",
	re.VERBOSE,
)


def fold(text: str) -> str:
	"""Small letters without accents, so that typed and listed words meet."""
	text = text.lower().replace("ß", "ss").replace("’", "'")
	return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def stem(key: str) -> str:
	"""An English plural's singular; other words as they are."""
	if len(key) < 4 or key.endswith(("ss", "us", "is")):
		return key
	if key.endswith("ies"):
		return key[:-3] + "y"
	if key.endswith(("ses", "xes", "zes", "ches", "shes")):
		return key[:-2]
	return key[:-1] if key.endswith("s") else key


@dataclass(frozen=True)
class Word:
	"""One word, quotation or mark of a text. `text` is as written, without its quotes; `key` is folded."""

	text: str
	key: str
	start: int
	end: int
	kind: str

	@property
	def is_mark(self) -> bool:
		return self.kind == "mark"

	@property
	def is_quoted(self) -> bool:
		return self.kind not in ("mark", "word", "url")


def read_words(text: str) -> list[Word]:
	found = []
	for match in TOKEN.finditer(text):
		inner = match[match.lastgroup].strip()
		key = fold(inner) if match.lastgroup in ("word", "mark", "url") else ""
		found.append(Word(inner, key, match.start(), match.end(), match.lastgroup))
	return found


class Lexicon:
	"""A table of `words`, for look-up of single words and of phrases."""

	def __init__(self, table: dict):
		self.exact: dict[str, list[tuple[str, str]]] = {}
		self.prefixes: list[tuple[str, str, str]] = []
		for meaning, columns in table.items():
			for language, column in zip(LANGUAGES, columns, strict=True):
				for entry in column.split():
					self.add(entry.replace("_", " "), meaning, language)

	def add(self, entry: str, meaning: str, language: str) -> None:
		if entry.endswith("*"):
			self.prefixes.append((entry[:-1], meaning, language))
		else:
			self.exact.setdefault(entry, []).append((meaning, language))

	def entries(self, key: str) -> list[tuple[str, str]]:
		"""(meaning, language) of everything the word may be, the likeliest first."""
		listed = self.exact.get(key) or self.exact.get(stem(key)) or []
		if listed or " " in key:
			return listed
		return [(meaning, language) for start, meaning, language in self.prefixes if key.startswith(start)]

	def get(self, key: str) -> str | None:
		return next((meaning for meaning, _ in self.entries(key)), None)

	def __contains__(self, key: str) -> bool:
		return bool(self.entries(key))

	def at(self, sequence: Sequence[Word], index: int) -> tuple[str | None, int]:
		"""Meaning and length of the longest phrase that begins at a place; (None, 0) if none does."""
		for length in (4, 3, 2, 1):
			part = sequence[index : index + length]
			if len(part) == length and not any(word.is_mark or word.is_quoted for word in part):
				meaning = self.get(" ".join(word.key for word in part))
				if meaning is not None:
					return meaning, length
		return None, 0


def by_language(columns: tuple[str, ...]) -> dict[str, Lexicon]:
	"""A lexicon for each language, for words that mean something else in another: a, to, do, na."""
	return {
		language: Lexicon({"": tuple(column if at == place else "" for at in range(len(LANGUAGES)))})
		for place, (language, column) in enumerate(zip(LANGUAGES, columns, strict=True))
	}
