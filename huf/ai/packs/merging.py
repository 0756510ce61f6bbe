"""Three-way merge of a document: pack then, pack now, site now. A person's edits win over an update. Pure.

A document is split into parts: `field`, or `field[key]` for a row of a table whose rows have keys. For each
part three values are kept: a digest of the pack's value, a digest of what was stored for it, and the columns
of rows to compare.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from huf.ai.core.stored_text import digest

ROW_KEYS = {
	("DocType", "fields"): ("fieldname",),
	("DocType", "permissions"): ("role", "permlevel"),
	("Agent", "agent_tool"): ("tool",),
}
"""Key columns of the tables that are merged row by row; other tables are one part."""

PART_DIGEST = re.compile(r"[0-9a-f]{16}")

Parts = dict[str, Any]
Digests = dict[str, list]


@dataclass
class Merged:
	"""`changes`: parts to write, None to remove a part. `edited`: parts that a person has changed."""

	changes: Parts = field(default_factory=dict)
	edited: list[str] = field(default_factory=list)


def split_document_parts(doctype: str, values: Mapping[str, Any]) -> Parts:
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


def merge_parts(kept: Digests, given: Parts, stored: Parts, changed: Collection[str] = ()) -> Merged:
	"""Return which of the pack's parts `given` to write. `stored` are the site's parts, `kept` the digests
	of the last installation; `changed`: parts that were changed on the site, among them those that the pack
	did not give until now.
	"""
	merged = Merged()
	for part in dict.fromkeys([*given, *kept]):
		was_given, was_stored, columns = kept.get(part) or ("", "", None)
		now_stored = compute_part_digest(select_columns(columns, stored.get(part)))
		is_changed = now_stored != was_stored if part in kept else part in changed
		# What is stored as the pack has it is nobody's, also after the type of its field changed.
		is_same = is_equal_part(given.get(part), stored.get(part))
		if is_changed and not is_same:
			merged.edited.append(part)
		elif part not in given:
			merged.changes |= {} if is_same else {part: None}
		elif compute_part_digest(given[part]) != was_given:
			merged.changes[part] = given[part]
	return merged


def is_equal_part(given: Any, stored: Any) -> bool:
	return compute_part_digest(given) == compute_part_digest(select_columns(list_columns(given), stored))


def build_digests(kept: Digests, given: Parts, stored: Parts, edited: Iterable[str] = ()) -> Digests:
	"""Return the digests to store after `given` is written; those of edited parts stay the same."""
	fresh = {}
	for part, value in given.items():
		columns = list_columns(value)
		fresh[part] = [
			compute_part_digest(value),
			compute_part_digest(select_columns(columns, stored.get(part))),
			columns,
		]
	edited = set(edited)
	return {part: each for part, each in fresh.items() if part not in edited} | {
		part: kept[part] for part in kept if part in edited
	}


def list_columns(given: Any) -> list[str] | None:
	"""The columns that the pack sets in a row or rows; None for a plain value."""
	rows = given if isinstance(given, list) else [given]
	if not rows or not all(isinstance(row, Mapping) for row in rows):
		return None
	return sorted({key for row in rows for key in row})


def select_columns(columns: list[str] | None, stored: Any) -> Any:
	"""The columns of a stored value that the pack sets."""
	if columns is None or stored is None:
		return stored
	if isinstance(stored, Mapping):
		return {key: stored.get(key) for key in columns}
	return [{key: row.get(key) for key in columns} for row in stored]


def compute_part_digest(value: Any) -> str:
	text = json.dumps(normalize_part(value), sort_keys=True, ensure_ascii=False, default=str)
	return digest(text)[:16]


def normalize_part(value: Any) -> Any:
	"""Map values that a database stores alike to one value: None, "" and 0; booleans, ints and floats."""
	if isinstance(value, Mapping):
		return {key: normalize_part(each) for key, each in value.items() if normalize_part(each) is not None}
	if isinstance(value, list | tuple):
		return [normalize_part(each) for each in value]
	if isinstance(value, bool | int | float):
		return float(value) or None
	return str(value).strip() or None if value is not None else None
