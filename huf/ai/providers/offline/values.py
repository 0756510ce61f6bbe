"""Parses values from tokens: options, numbers, dates. Returns None instead of guessing."""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from huf.ai.providers.offline.language import DATE, Language, Token, fold_key, singular, tokenize

NUMBER = re.compile(r"-?\d{1,15}(\.\d+)?")


def is_date_field(name: str, schema: dict) -> bool:
	about = (schema.get("description") or "").lower()
	return schema.get("format") == "date" or name == "date" or about.endswith("yyyy-mm-dd")


def parse_value(text: str, name: str, schema: dict, language: Language, today: date) -> Any:
	"""Text as a value of a field; None if it is not one."""
	if options := schema.get("enum"):
		return pick_option(text, name, options, language)
	if is_date_field(name, schema):
		found = find_date(tokenize(text), language, today)
		return found[0] if found else None
	kind = schema.get("type", "string")
	if kind in ("integer", "number"):
		return (float(text) if "." in text else int(text)) if NUMBER.fullmatch(text) else None
	return text if kind == "string" and text else None


def pick_option(text: str, name: str, options: Sequence[Any], language: Language) -> Any:
	"""The option that a word means, by its name or a synonym in the language."""
	key = fold_key(text)
	meaning = language.get("values", key)
	for option in options:
		if option != "" and fold_key(str(option)) in (key, singular(key), meaning):
			return option
	return 1 if set(options) == {0, 1} and name in (key, meaning) else None


def find_date(tokens: Sequence[Token], language: Language, today: date) -> tuple[str, int, int] | None:
	"""The first date as (ISO date, start, end), prepositions before it included."""
	for at in range(len(tokens)):
		day, length = read_relative_date(tokens, at, language, today)
		if day:
			start = at
			while start and language.has(tokens[start - 1], "date_leads"):
				start -= 1
			return day.isoformat(), start, at + length
	return None


def read_relative_date(
	tokens: Sequence[Token], at: int, language: Language, today: date
) -> tuple[date | None, int]:
	offset, length = language.find("days", tokens, at)
	if offset is not None:
		return today + timedelta(days=int(offset)), length
	key = tokens[at].key
	if (weekday := language.get("weekdays", key)) is not None:
		return today + timedelta(days=(int(weekday) - today.weekday() - 1) % 7 + 1), 1
	if not DATE.fullmatch(key):
		return None, 0
	numbers = [int(number) for number in re.split("[-.]", key)]
	try:
		return date(*(numbers if "-" in key else reversed(numbers))), 1
	except ValueError:
		return None, 0  # such as 2026-02-31
