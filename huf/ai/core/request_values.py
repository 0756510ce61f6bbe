"""Values of requests, which forms and URLs send as text and JSON bodies as they are."""

import json
from datetime import date, datetime
from typing import Any

import frappe
from frappe import _
from frappe.utils import get_datetime

from huf.ai.core.errors import UsageError
from huf.ai.core.json_text import parse_json
from huf.ai.core.times import from_utc

MAX_START = 1_000_000_000
"""Databases refuse an offset that is negative or larger than their integers."""
MAX_SEARCH_CHARS = 200
"""SQLite refuses patterns of more than 50,000 characters."""


def parse_request_json(text: str | bytes) -> Any:
	"""Parse JSON of a request. Raises ValueError like `parse_json`, and for halves of characters, which
	cannot be stored.
	"""
	value = parse_json(text)
	json.dumps(value, ensure_ascii=False).encode()
	return value


def read_json(given: Any, name: str) -> Any:
	"""Parse an argument that may be JSON text; other values are returned as they are. Raises UsageError."""
	try:
		value = parse_request_json(given) if isinstance(given, str) else given
	except ValueError:
		raise UsageError(f"{name} is not valid JSON. Correct it and send it again.") from None
	return value if isinstance(value, str) else frappe.parse_json(value)


def read_json_object(given: Any, name: str) -> dict:
	"""An object, which may be JSON. Raises UsageError."""
	value = read_json(given, name)
	if not isinstance(value, dict):
		raise UsageError(f"{name} must be a JSON object.")
	return value


def read_text_map(given: Any, name: str) -> dict[str, str]:
	"""An object whose values are texts, which may be JSON. Raises UsageError."""
	values = read_json_object(given, name)
	if not all(isinstance(each, str) for each in values.values()):
		raise UsageError(f"The values of {name} must be texts.")
	return values


def read_text_list(given: Any, name: str) -> list[str]:
	"""A list of texts, which may be JSON. Raises UsageError."""
	values = read_json(given, name)
	if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
		raise UsageError(f"{name} must be a list of texts.")
	return values


def read_date(text: str) -> date:
	"""A day, written as 2026-01-31. Raises UsageError."""
	try:
		return date.fromisoformat(text)
	except ValueError:
		raise UsageError(f"{text[:20]!r} is not a date. Write it as 2026-01-31.") from None


def read_time(text: str | None) -> datetime | None:
	"""A time as stored times are, in the site's time zone; None for none. Raises UsageError."""
	if not text:
		return None
	try:
		if moment := get_datetime(text):
			return from_utc(moment) if moment.tzinfo else moment
	except (ValueError, OverflowError):
		pass
	raise UsageError(_("{0} is not a time, such as 2026-11-22 09:00.").format(text))


def clamp_start(start: int) -> int:
	"""The number of rows that a list skips."""
	return max(0, min(int(start), MAX_START))


def clamp_count(count: int, maximum: int) -> int:
	"""The rows that a list returns, or the days that a backtest looks back: 1 to `maximum`."""
	return max(1, min(int(count), maximum))


def clip_search(text: str | None) -> str:
	return (text or "").strip()[:MAX_SEARCH_CHARS]
