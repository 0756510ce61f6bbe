"""Texts that hold values: canonical JSON, and results of tools."""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any

MAX_EMPTY_CHARS = 20_000
"""A longer tool result is not empty, whatever it says."""
MAX_JSON_LEVELS = 100
"""Deeper values exhaust Python's stack somewhere between here and the journal."""


def to_canonical_json(value: Any) -> str:
	"""JSON text that is identical for equal values: sorted keys, no spaces, unknown types as `str`."""
	return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def parse_json(text: str | bytes, has_unique_keys: bool = False) -> Any:
	"""Parse JSON from outside. Raises ValueError, also for values nested deeper than MAX_JSON_LEVELS.

	`has_unique_keys`: also for an object that has a key twice; otherwise its last value counts.
	"""
	try:
		value = json.loads(text, object_pairs_hook=build_object if has_unique_keys else None)
	except RecursionError:
		raise ValueError("it is nested too deeply") from None
	if is_deeper(value, MAX_JSON_LEVELS):
		raise ValueError(f"it is nested more than {MAX_JSON_LEVELS} levels deep")
	return value


def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
	found = dict(pairs)
	if len(found) < len(pairs):
		keys = [key for key, _value in pairs]
		raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} appears twice")
	return found


def is_deeper(value: Any, levels: int) -> bool:
	"""Whether lists and objects are nested more than `levels` deep."""
	layer = [value] if isinstance(value, dict | list) else []
	while layer and levels:
		levels -= 1
		children = (each.values() if isinstance(each, dict) else each for each in layer)
		layer = [child for each in children for child in each if isinstance(child, dict | list)]
	return bool(layer)


MAX_VALUES = 20_000
"""Pydantic takes one to four kilobytes for each wrong value in a list, of which 2 MB may have a million."""


def has_many_values(value: Any, limit: int = MAX_VALUES) -> bool:
	"""Whether the lists and objects in a JSON value have more than `limit` values together."""
	pending, count = [value], 0
	while pending and count <= limit:
		each = pending.pop()
		if isinstance(each, dict | list):
			count += len(each)
			pending += each.values() if isinstance(each, dict) else each
	return count > limit


def map_values(change: Callable[[Any], Any], value: Any) -> Any:
	"""A copy of a JSON value, with `change` applied to all in it that is neither a list nor an object."""
	if isinstance(value, Mapping):
		return {key: map_values(change, each) for key, each in value.items()}
	return [map_values(change, each) for each in value] if isinstance(value, list) else change(value)


def read_json_or_text(text: str) -> Any:
	"""Parse JSON. Text that is not JSON is returned unchanged."""
	try:
		return parse_json(text)
	except ValueError:
		return text


def make_encodable(text: str) -> str:
	"""The text with surrogate pairs joined and single surrogates replaced by U+FFFD, as UTF-8 requires."""
	return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def to_text(result: Any) -> str:
	"""A string as it is, any other value as JSON."""
	return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def parse_result(text: str | None) -> Any:
	"""The value that `to_text` rendered: parsed JSON, else the text itself; None for no text."""
	return read_json_or_text(text or "null")


def truncate_result(result: Any, max_chars: int = 0) -> str:
	"""A result as text of about `max_chars` (0: unlimited), with a note if something was left out.

	An object with `rows` loses its last rows, so that it stays valid JSON; any other text is cut.
	"""
	text = to_text(result)
	if not max_chars or len(text) <= max_chars:
		return text
	if isinstance(result, dict) and (rows := take_rows(result, max_chars)):
		return to_text({**result, "rows": rows, "count": len(rows), "more": True})
	omitted = len(text) - max_chars
	note = f"{omitted:,} more characters are left out: the limit of this tool is {max_chars:,}. Ask for less."
	return f"{text[:max_chars]}… [{note}]"


def take_rows(result: dict, max_chars: int) -> list:
	rows = result["rows"] if isinstance(result.get("rows"), list) else []
	sizes = accumulate((len(to_text(row)) + 2 for row in rows), initial=len(to_text({**result, "rows": []})))
	return [row for row, size in zip(rows, list(sizes)[1:], strict=True) if size <= max_chars]


class ResultText(str):
	"""A tool's result with the places from which untrusted content in it came."""

	origins: tuple[str, ...] = ()

	@classmethod
	def of(cls, text: str, origins: Iterable[str]) -> "ResultText":
		result = cls(text)
		result.origins = tuple(dict.fromkeys(origins))
		return result


def is_empty_result(text: str) -> bool:
	"""Whether a result holds nothing: an empty value, or an object with `empty` true, else with an empty list
	of `results` or `rows`. What else is in the object, such as the query, does not count.
	"""
	if not text or len(text) > MAX_EMPTY_CHARS:
		return not text
	try:
		result = parse_json(text)
	except ValueError:
		return not text.strip()
	if isinstance(result, dict) and result:
		lists = [result[key] for key in ("results", "rows") if isinstance(result.get(key), list)]
		return bool(result.get("empty", lists and not any(lists)))
	return result is None or result in ([], {}, "")


def shorten(text: str, max_chars: int) -> str:
	"""The text in at most `max_chars` characters; a truncated text ends in a line that says so."""
	line = f"\n[Truncated: the beginning of {len(text):,} characters. Ask for less at a time.]"
	return text if len(text) <= max_chars else text[: max_chars - len(line)] + line
