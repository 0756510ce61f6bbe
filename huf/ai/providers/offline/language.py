"""Splits a text into words and phrases, and looks them up in a language's lists (en.yaml, de.yaml, es.yaml,
cs.yaml).
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from huf.ai.core.tokenizer import strip_accents

CODES = ("en", "de", "es", "cs")
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.\d{4}")
MARKS = set(":;,.!?=\n")
MAX_PHRASE_WORDS, MAX_KEY_CHARS = 4, 100
DETECTION_CHARS = 200
TOKEN = re.compile(
	r"""["“„«`](?P<quoted>[^"“”„«»`\n]+)["“”»`]|[:;,.!?=\n]|https?://[^\s"'<>]+|\w(?:[\w'’/.@+-]*\w)?"""
)


@dataclass(frozen=True)
class Token:
	"""A word or phrase, a quotation or a punctuation mark.

	`text` is as written, without quotes; `key` is folded, "" if quoted.
	"""

	text: str
	key: str
	start: int
	end: int

	@property
	def is_mark(self) -> bool:
		return self.key in MARKS

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
	return strip_accents(text.replace("’", "'"))


def singular(key: str) -> str:
	"""An English or Spanish plural without its ending. Apply it to both sides of a comparison."""
	if key.endswith("ies"):
		return key[:-3] + "y"
	return key[:-1] if len(key) > 3 and key.endswith("s") and not key.endswith("ss") else key


def read_list(words: str | dict[str, str]) -> dict[str, str]:
	"""Meanings by word, phrase ("how many") or beginning ("user*"); "" in a list without meanings."""
	table = words if isinstance(words, dict) else {"": words}
	entries = [(entry, meaning) for meaning, column in table.items() for entry in fold_key(column).split()]
	return {entry.replace("_", " "): meaning for entry, meaning in reversed(entries)}


class Language:
	"""The words and sentences of one language."""

	def __init__(self, code: str):
		data = yaml.safe_load((Path(__file__).parent / f"{code}.yaml").read_text(encoding="utf-8"))
		self.code, self.sentences = code, data.pop("sentences")
		self.lists = {name: read_list(words) for name, words in data.items()}
		listed = {phrase for words in self.lists.values() for phrase in words}
		self.phrases = {phrase for phrase in listed if " " in phrase}
		self.lists["vocabulary"] = dict.fromkeys([*listed, *" ".join(listed).split()], "")

	def say(self, sentence: str, **values: object) -> str:
		return self.sentences[sentence].format(**values)

	def get(self, list_name: str, key: str) -> str | None:
		"""The meaning of a word or phrase in a list; None if it is not in it."""
		beginnings = (f"{key[:end]}*" for end in range(len(key), 0, -1))
		keys = (key, singular(key), *beginnings) if key else ()
		return next((self.lists[list_name][each] for each in keys if each in self.lists[list_name]), None)

	def has(self, token: Token, *list_names: str) -> bool:
		return any(self.get(name, token.key) is not None for name in list_names)

	def tokenize(self, text: str) -> tuple[Token, ...]:
		"""Words, quoted texts and punctuation marks in order. A phrase of the language is one token."""
		tokens: list[Token] = []
		for match in TOKEN.finditer(text):
			key = "" if match["quoted"] else fold_key(match[0][:MAX_KEY_CHARS])
			tokens.append(Token((match["quoted"] or match[0]).strip(), key, match.start(), match.end()))
			for length in range(MAX_PHRASE_WORDS, 1, -1):
				start, key = tokens[-length:][0].start, " ".join(token.key for token in tokens[-length:])
				if key in self.phrases:
					tokens[-length:] = [Token(text[start : match.end()], key, start, match.end())]
		return tuple(tokens)


get_language = cache(Language)


def detect_request_language(text: str) -> Language:
	"""The language that knows most of the first words; English on a tie."""

	def count_known(language: Language) -> int:
		tokens = language.tokenize(text[:DETECTION_CHARS])
		return sum(len(token.key.split()) for token in tokens if language.has(token, "vocabulary"))

	return max(map(get_language, CODES), key=count_known)
