"""Rows written by runs: one statement each, with names by hash, past validation, permissions and caches.

Only `records/` uses it, but for `update_document` for DocTypes nobody else writes and nobody caches.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import frappe
from frappe.utils import now


def insert_rows(
	doctype: str,
	rows: Iterable[Mapping[str, Any]],
	owner: str | None = None,
	names: list[str] | None = None,
) -> list[str]:
	"""Insert rows that have the same keys, in one statement; gives their names. Does not commit.

	With `names`, a row whose name is there already is left as it is: so the database keeps something done once.
	"""
	rows = list(rows)
	if not rows:
		return []
	time, owner, given = now(), owner or frappe.session.user, names is not None
	names = names if given else [frappe.generate_hash(length=10) for _ in rows]
	standard = {
		"creation": time,
		"modified": time,
		"modified_by": owner,
		"owner": owner,
		"docstatus": 0,
		"idx": 0,
	}
	fields = ["name", *standard, *rows[0]]
	values = [(name, *standard.values(), *row.values()) for name, row in zip(names, rows, strict=True)]
	frappe.db.bulk_insert(doctype, fields, values, ignore_duplicates=given)
	return names


def insert_row(
	doctype: str, row: Mapping[str, Any], owner: str | None = None, name: str | None = None
) -> str:
	return insert_rows(doctype, [row], owner, [name] if name else None)[0]


def digest(*parts: Any) -> str:
	"""A row's name made of what it stands for: equal parts, equal name."""
	return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]


def update_row(doctype: str, name: str, values: Mapping[str, Any], **still: Any) -> None:
	"""Change one row in one statement, if it has the values of `still`. Does not commit."""
	assignments = ", ".join(f"`{column}` = %s" for column in values)
	conditions = "".join(f" and `{column}` = %s" for column in still)
	frappe.db.sql(
		f"update `tab{doctype}` set {assignments} where name = %s{conditions}",
		(*values.values(), name, *still.values()),
	)


def update_document(doctype: str, name: str, values: Mapping[str, Any]) -> None:
	"""The same for documents that people save as well: what is cached of one is read again."""
	frappe.db.set_value(doctype, name, dict(values), update_modified=False)


def clip(text: str | None, length: int = 20_000) -> str | None:
	"""Text for a field of limited size; the whole stands in Agent Message."""
	return text if text is None or len(text) <= length else text[: length - 1] + "…"
