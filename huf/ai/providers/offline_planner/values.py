"""Reads one value from text: an option, a number, a date, a document's name. Pure; None where it is none."""

import json
import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from huf.ai.providers.offline_planner.dates import find_date
from huf.ai.providers.offline_planner.lexicon import Word, fold, read_words, stem
from huf.ai.providers.offline_planner.reading import VALUES, is_known
from huf.ai.providers.offline_planner.tools import is_date

OPPOSITES = {"enabled": "disabled", "disabled": "enabled"}
YES = {"yes", "true", "1", "on", "ja", "si", "ano"}
NO = {"no", "false", "0", "off", "nein", "ne"}
CLOCK = re.compile(r"\b([01]?\d|2[0-3]):[0-5]\d\b")


def to_number(raw: str, kind: Callable) -> Any:
	return kind(raw) if re.fullmatch(r"-?\d+" if kind is int else r"-?\d+(\.\d+)?", raw) else None


def to_boolean(raw: str) -> bool | None:
	return True if fold(raw) in YES else False if fold(raw) in NO else None


def to_object(raw: str) -> dict | None:
	try:
		value = json.loads(raw)
	except ValueError:
		return None
	return value if isinstance(value, dict) else None


READERS: dict[str, Callable[[str], Any]] = {
	"integer": lambda raw: to_number(raw, int),
	"number": lambda raw: to_number(raw, float),
	"boolean": to_boolean,
	"array": lambda raw: [part.strip() for part in raw.split(",") if part.strip()],
	"object": to_object,
	"string": str,
}


def read_value(raw: str, name: str, schema: dict, today: date) -> Any:
	"""Text as a value the schema takes; None if it is none."""
	raw = raw.strip()
	if not raw:
		return None
	if options := [option for option in schema.get("enum") or () if option != ""]:
		return pick(raw, name, options)
	if is_date(name, schema):
		found = find_date(read_words(raw), today)
		return with_clock(found[0], raw, schema) if found else None
	kind = schema.get("type", "string")
	return READERS.get(kind if isinstance(kind, str) else "string", str)(raw)


def with_clock(day: str, raw: str, schema: dict) -> str:
	if schema.get("format") != "date-time" and "hh:mm" not in (schema.get("description") or "").lower():
		return day
	clock = CLOCK.search(raw)
	return f"{day} {clock[0] if clock else '00:00'}:00"


def pick(raw: str, name: str, options: Sequence[Any]) -> Any:
	"""The option that a word or phrase means: the same word, else one of the same meaning."""
	key, meaning = fold(raw), VALUES.get(fold(raw))
	for same in (fold, lambda text: stem(fold(text)), lambda text: VALUES.get(fold(text))):
		for option in options:
			if same(raw) is not None and same(str(option)) == same(raw):
				return option
	if set(options) == {0, 1}:
		field = VALUES.get(name)
		if meaning and field:
			return 1 if meaning == field else 0 if meaning == OPPOSITES.get(field) else None
		if key in YES | NO or stem(key) == stem(name):
			return 0 if key in NO else 1
	return None


def looks_like_id(word: Word) -> bool:
	"""Whether it can only be a document's name: quoted, or with a digit or an @ in it."""
	return word.is_quoted or (
		word.kind == "word" and any(char.isdigit() or char == "@" for char in word.text)
	)


def may_be_name(word: Word) -> bool:
	return looks_like_id(word) or (word.kind == "word" and not is_known(word))
