"""Three sides of a document: what the pack gave, what was stored, what the pack gives now. Pure; a person's edits win.

A document is taken apart into parts: `field`, or `field[key]` for a row of a table whose rows have keys of their own. Of each part
is kept: a digest of the value as the pack gave it, one of it as it was stored then, and which columns of rows count.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

ROW_KEYS = {
	("DocType", "fields"): ("fieldname",),
	("DocType", "permissions"): ("role", "permlevel"),
	("Agent", "agent_tool"): ("tool",),
}
"""Tables that are compared row by row; any other as a whole."""

Parts = dict[str, Any]
Digests = dict[str, list]


@dataclass
class Merged:
	"""`changes`: parts to write, None for those to take away. `edited`: parts that a person has changed."""

	changes: Parts = field(default_factory=dict)
	edited: list[str] = field(default_factory=list)


def take_apart(doctype: str, values: Mapping[str, Any]) -> Parts:
	parts: Parts = {}
	for name, value in values.items():
		keys = ROW_KEYS.get((doctype, name))
		if keys:
			parts |= {part_name(name, row, keys): dict(row) for row in value or ()}
		else:
			parts[name] = value
	return parts


def part_name(table: str, row: Mapping[str, Any], keys: tuple[str, ...]) -> str:
	return f"{table}[{' '.join(str(row.get(key) or 0) for key in keys)}]"


def merge(kept: Digests, given: Parts, stored: Parts) -> Merged:
	"""What to write of `given`, where `stored` is what the site has."""
	merged = Merged()
	for part in dict.fromkeys([*given, *kept]):
		was_given, was_stored, columns = kept.get(part) or ("", "", None)
		if part in kept and digest_of(like(columns, stored.get(part))) != was_stored:
			merged.edited.append(part)
		elif part not in given:
			merged.changes[part] = None
		elif digest_of(given[part]) != was_given:
			merged.changes[part] = given[part]
	return merged


def keep_digests(kept: Digests, given: Parts, stored: Parts, edited: Iterable[str] = ()) -> Digests:
	"""What is kept once `given` is written: of an edited part, what was kept before."""
	fresh = {}
	for part, value in given.items():
		columns = columns_of(value)
		fresh[part] = [digest_of(value), digest_of(like(columns, stored.get(part))), columns]
	return {**fresh, **{part: kept[part] for part in edited if part in kept}}


def columns_of(given: Any) -> list[str] | None:
	"""What of a row, or of rows, the pack gives; None for a plain value."""
	rows = given if isinstance(given, list) else [given]
	if not rows or not all(isinstance(row, Mapping) for row in rows):
		return None
	return sorted({key for row in rows for key in row})


def like(columns: list[str] | None, stored: Any) -> Any:
	"""As much of a stored value as the pack gives."""
	if columns is None or stored is None:
		return stored
	if isinstance(stored, Mapping):
		return {key: stored.get(key) for key in columns}
	return [{key: row.get(key) for key in columns} for row in stored]


def digest_of(value: Any) -> str:
	text = json.dumps(plain(value), sort_keys=True, ensure_ascii=False, default=str)
	return hashlib.sha256(text.encode()).hexdigest()[:16]


def plain(value: Any) -> Any:
	"""The same for what is stored alike: nothing, an empty text and a zero; a number as text, and as a number."""
	if isinstance(value, Mapping):
		return {key: plain(each) for key, each in value.items() if plain(each) is not None}
	if isinstance(value, list | tuple):
		return [plain(each) for each in value]
	if isinstance(value, bool | int | float):
		return float(value) or None
	return str(value).strip() or None if value is not None else None
