"""Tokenizes text and looks tokens up in the word lists of a language (en.yaml, de.yaml, es.yaml, cs.yaml)."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

CODES = ("en", "de", "es", "cs")
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.\d{4}")
MAX_PHRASE_WORDS, MAX_KEY_CHARS = 4, 100
DETECTION_TOKENS = 40
TOKEN = re.compile(
	r"""["“„«`](?P<quoted>[^"“”„«»`\n]+)["“”»`]|(?P<mark>[:;,.!?=\n])"""
	r"""|(?P<word>https?://[^\s"'<>]+|\w(?:[\w'’/.@+-]*\w)?)"""
)


@dataclass(frozen=True)
class Token:
	"""A word, a quotation or a punctuation mark. `text` is as written, without quotes; `key` is folded, "" if
	quoted.
	"""

	text: str
	key: str
	start: int
	end: int
	is_mark: bool

	@property
	def is_quoted(self) -> bool:
		return not self.key

	@property
	def is_id(self) -> bool:
		"""Whether this is probably a record's name rather than a word: quoted, or with a digit or an @."""
		is_coded = any(char.isdigit() or char == "@" for char in self.text)
		return self.is_quoted or (is_coded and not DATE.fullmatch(self.key))


def fold_key(text: str) -> str:
	"""Lower case without accents, so that typed and listed words meet."""
	text = text.lower().replace("ß", "ss").replace("’", "'")
	return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def singular(key: str) -> str:
	"""An English or Spanish plural without its ending. Apply it to both sides of a comparison."""
	if key.endswith("ies"):
		return key[:-3] + "y"
	return key[:-1] if len(key) > 3 and key.endswith("s") and not key.endswith("ss") else key


def tokenize(text: str) -> tuple[Token, ...]:
	"""Words, quoted texts and punctuation marks in order. A quoted text is one token without a key."""
	tokens = []
	for match in TOKEN.finditer(text):
		text = match["quoted"] or match[0]
		key = "" if match["quoted"] else fold_key(text[:MAX_KEY_CHARS])
		tokens.append(Token(text.strip(), key, match.start(), match.end(), bool(match["mark"])))
	return tuple(tokens)


class WordList:
	"""Phrases and their meanings; in a plain list every meaning is ""."""

	def __init__(self, words: str | dict[str, str]):
		table = words if isinstance(words, dict) else {"": words}
		entries = [
			(entry, meaning) for meaning, column in table.items() for entry in fold_key(column).split()
		]
		self.phrases = {entry.replace("_", " "): meaning for entry, meaning in reversed(entries)}
		self.prefixes = {entry[:-1]: meaning for entry, meaning in entries if entry.endswith("*")}

	def get(self, key: str) -> str | None:
		for phrase in (key, singular(key)):
			if phrase in self.phrases:
				return self.phrases[phrase]
		if " " in key or not key.startswith(tuple(self.prefixes)):
			return None
		return next(meaning for prefix, meaning in self.prefixes.items() if key.startswith(prefix))


class Language:
	"""The words and sentences of one language."""

	def __init__(self, code: str):
		data = yaml.safe_load((Path(__file__).parent / f"{code}.yaml").read_text(encoding="utf-8"))
		self.code, self.sentences = code, data.pop("sentences")
		self.lists = {name: WordList(words) for name, words in data.items()}
		phrases = [phrase for words in self.lists.values() for phrase in words.phrases]
		self.lists["vocabulary"] = WordList(" ".join(phrases))

	def say(self, sentence: str, **values: object) -> str:
		return self.sentences[sentence].format(**values)

	def get(self, list_name: str, key: str) -> str | None:
		"""The meaning of a word or phrase in a list; None if it is not in it."""
		return self.lists[list_name].get(key) if key else None

	def has(self, token: Token, *list_names: str) -> bool:
		return any(self.get(name, token.key) is not None for name in list_names)

	def find(self, list_name: str, tokens: Sequence[Token], at: int) -> tuple[str | None, int]:
		"""Meaning and length of the longest phrase of a list that starts at a position; (None, 0) without
		one.
		"""
		keys = [token.key for token in tokens[at : at + MAX_PHRASE_WORDS]]
		for length in range(len(keys), 0, -1):
			if all(keys[:length]):
				meaning = self.get(list_name, " ".join(keys[:length]))
				if meaning is not None:
					return meaning, length
		return None, 0


get_language = cache(Language)


def detect_request_language(tokens: Sequence[Token]) -> Language:
	"""The language that knows most of the words; English on a tie."""
	words = [token for token in tokens[:DETECTION_TOKENS] if not token.is_mark]
	known = {code: sum(get_language(code).has(word, "vocabulary") for word in words) for code in CODES}
	return get_language(max(CODES, key=lambda code: known[code]))
