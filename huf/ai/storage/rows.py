"""Writes rows of Huf's own tables with one statement each, past validation, permissions and caches.

`update_cached_row` is for DocTypes that people save as well: it also clears Frappe's cached copy.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import frappe
from frappe.utils import now

from huf.ai.core.json_text import make_encodable
from huf.ai.core.stored_text import clip

BATCH_ROWS = 500
T = TypeVar("T")


def insert_rows(
	doctype: str,
	rows: Iterable[Mapping[str, Any]],
	owner: str | None = None,
	names: list[str] | None = None,
) -> list[str]:
	"""Insert rows that have the same keys with one statement and return their names. Does not commit.

	With `names`, existing rows are left unchanged: the primary key makes the insert idempotent. Otherwise
	names are random. `owner` defaults to the session user.
	"""
	rows = list(rows)
	if not rows:
		return []
	time, owner, ignore_duplicates = now(), owner or frappe.session.user, names is not None
	if names is None:
		# With a common prefix the names are adjacent in the index, so that few pages are written.
		stem = frappe.generate_hash(length=10)
		names = [f"{stem}{place or ''}" for place in range(len(rows))]
	standard = {
		"creation": time,
		"modified": time,
		"modified_by": owner,
		"owner": owner,
		"docstatus": 0,
		"idx": 0,
	}
	fields = ["name", *standard, *rows[0]]
	values = [
		(name, *standard.values(), *map(to_column, row.values()))
		for name, row in zip(names, rows, strict=True)
	]
	frappe.db.bulk_insert(doctype, fields, values, ignore_duplicates=ignore_duplicates)
	return names


def insert_row(
	doctype: str, row: Mapping[str, Any], owner: str | None = None, name: str | None = None
) -> str:
	return insert_rows(doctype, [row], owner, [name] if name else None)[0]


def update_row(doctype: str, name: str, values: Mapping[str, Any], **expected: Any) -> None:
	"""Update one row with one statement if its columns have the `expected` values. Does not commit."""
	update_rows(doctype, values, name=name, **expected)


def update_rows(doctype: str, values: Mapping[str, Any], **expected: Any) -> None:
	"""Update the rows whose columns have the `expected` values, with one statement. Does not commit."""
	assignments = ", ".join(f"`{column}` = %s" for column in values)
	conditions = " and ".join(f"`{column}` = %s" for column in expected)
	frappe.db.sql(
		f"update `tab{doctype}` set {assignments} where {conditions}",
		(*map(to_column, values.values()), *expected.values()),
	)


def to_column(value: Any) -> Any:
	"""No database stores half of a character, and Postgres no NUL; nor does it take a boolean where a field
	of type Check is a number.
	"""
	if isinstance(value, str):
		text = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
		return text if text.isascii() else make_encodable(text)
	return int(value) if isinstance(value, bool) else value


def update_cached_row(doctype: str, name: str, values: Mapping[str, Any]) -> None:
	"""Update one document without touching `modified`, and drop its cached copy. Does not commit."""
	frappe.db.set_value(doctype, name, dict(values), update_modified=False)


def commit_before_effect() -> None:
	"""Commit before an effect that cannot be taken back, so that the record survives even a power failure.

	MariaDB and Postgres sync every commit to disk; the embedded runtime does so if the flag is set.
	"""
	frappe.flags.huf_effect_follows = True
	try:
		frappe.db.commit()
	finally:
		frappe.flags.huf_effect_follows = None


def in_batches(values: Sequence[T], size: int = BATCH_ROWS) -> Iterator[list[T]]:
	return (list(values[start : start + size]) for start in range(0, len(values), size))


def process_in_batches(
	doctype: str, filters: Mapping[str, Any], process: Callable[[list[str]], int | None]
) -> int:
	"""Pass the names of matching rows, oldest first, to `process`, and return how many it changed. Commits
	each batch.

	`process` must change the rows so that they no longer match, and return how many still do; otherwise this
	never ends.
	"""
	done = left = 0
	while names := frappe.get_all(
		doctype,
		filters=filters,
		pluck="name",
		order_by="creation asc",
		limit_start=left,
		limit_page_length=BATCH_ROWS,
	):
		left += process(names) or 0
		frappe.db.commit()
		done += len(names)
	return done - left


def delete_rows(doctype: str, filters: Mapping[str, Any]) -> int:
	"""Delete matching rows in batches, without hooks, and return how many there were. Commits."""

	def delete(names: list[str]) -> None:
		frappe.db.delete(doctype, {"name": ["in", names]})

	return process_in_batches(doctype, filters, delete)


def blank_rows(doctype: str, filters: Mapping[str, Any], fields: Sequence[str]) -> int:
	"""Set `fields` of matching rows to NULL in batches and return how many rows there were. Commits.

	`filters` must require one of `fields` to be set; otherwise this never ends.
	"""
	return process_in_batches(
		doctype, filters, lambda names: blank_fields(doctype, {"name": ["in", names]}, fields)
	)


def blank_fields(doctype: str, filters: Mapping[str, Any], fields: Sequence[str]) -> None:
	"""Set `fields` of all matching rows to NULL with one statement. Does not commit."""
	frappe.db.set_value(doctype, filters, dict.fromkeys(fields), update_modified=False)


def log_unexpected_error(tool: str, traceback: str, run: str | None = None) -> None:
	"""Write an Error Log for an error that a tool's code did not expect; nothing without a traceback."""
	if traceback:
		# Without a message Frappe adds the values of variables.
		frappe.log_error(f"The tool {tool} failed", clip(traceback), "Agent Run" if run else None, run)
