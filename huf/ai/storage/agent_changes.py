"""Stores Agent Change rows: what a tool call changed, committed together with its journal row."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

import frappe

from huf.ai.storage.rows import insert_rows

CHANGE = "Agent Change"
FIELDS = [
	"name",
	"creation",
	"run",
	"tool_call",
	"position",
	"reference_doctype",
	"reference_name",
	"action",
	"cause",
	"before",
	"after",
	"file_content",
	"undone_by",
]


class ChangeRecorder(Protocol):
	"""Records the changes of consecutive tool calls."""

	def begin(self) -> None: ...

	def end(self) -> list[dict]:
		"""The Agent Change rows since `begin`, still without run and call."""
		...


def insert_changes(run: str, tool_call: str, changes: Sequence[dict]) -> None:
	"""Store the changes of a call with one statement. Does not commit."""
	insert_rows(CHANGE, [{"run": run, "tool_call": tool_call, **each} for each in changes])


def rename_cause(doctype: str, old: str, new: str) -> None:
	"""Update the changes that a renamed document has caused. Call it once the document's own changes have the
	new name. Does not commit.
	"""
	of_document = {"reference_doctype": doctype, "reference_name": new}
	# Only `tool_call` has an index.
	calls = frappe.get_all(CHANGE, of_document, pluck="tool_call", order_by="creation asc")
	if calls:
		query = f"update `tab{CHANGE}` set cause = %s where cause = %s and tool_call in %s"
		frappe.db.sql(query, (f"{doctype}/{new}", f"{doctype}/{old}", tuple(calls)))


def list_agent_changes(filters: dict, fields: Sequence[str] = FIELDS) -> list[Any]:
	"""Changes, newest first."""
	return frappe.get_all(CHANGE, filters, [*fields], order_by="creation desc, position desc")


def find_top_changed(agent: str, since: datetime) -> tuple[int, str]:
	"""(number of changes, label) of the record that an agent has changed most often."""
	found = frappe.db.sql(
		"""select count(*), made.reference_doctype, made.reference_name from `tabAgent Change` made
		join `tabAgent Run` run on run.name = made.run
		where run.agent = %s and run.is_undo = 0 and made.creation >= %s
		group by made.reference_doctype, made.reference_name order by count(*) desc limit 1""",
		(agent, since),
	)
	return (found[0][0], f"{found[0][1]} {found[0][2]}") if found else (0, "")


def lock_changes(names: Sequence[str]) -> bool:
	"""Lock changes until the commit; False if any of them has been undone meanwhile."""
	undone_by = (frappe.db.get_value(CHANGE, name, "undone_by", for_update=True) for name in sorted(names))
	return not any(undone_by)


def mark_undone(names: Sequence[str], undo: str) -> None:
	"""Record which run undid these changes. Does not commit."""
	if names:
		frappe.db.set_value(CHANGE, {"name": ["in", names]}, "undone_by", undo, update_modified=False)


def mark_redone(undos: Sequence[str], undone: Sequence[Any]) -> None:
	"""Record that undos were undone, so that the original changes are in effect again. Does not commit.

	`undone`: the undos' changes that were undone; what the undos did to other documents stays.
	"""
	for doctype, name in {(row.reference_doctype, row.reference_name) for row in undone} if undos else ():
		original = {"undone_by": ["in", undos], "reference_doctype": doctype, "reference_name": name}
		frappe.db.set_value(CHANGE, original, "undone_by", None, update_modified=False)
