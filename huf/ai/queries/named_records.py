"""Lists the records named in a run's journal, with DocType, name and title, so that pages can link them.

The titles stand in results that a reader of the run sees anyway; opening a record checks its permission.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.core.json_text import parse_result
from huf.ai.queries.runs import read_call_rows

MAX_RECORDS = 200
MIN_CHARS = 3
"""Shorter names and titles would be linked wherever a text has them."""
MAX_CHARS = 140


def list_named_records(run: str) -> list[dict]:
	"""[{doctype, name, title}] of DocTypes that the user may read; `title` may be None.

	Raises PermissionError for a run that the user may not read.
	"""
	get_permitted("Agent Run", run)
	title_fields: dict[str, str | None] = {}
	found: dict[tuple[str, str], str | None] = {}
	for doctype, name, row in read_names(run):
		if len(found) >= MAX_RECORDS:
			break
		if doctype not in title_fields:
			title_fields[doctype] = find_title_field(doctype)
		field = title_fields[doctype]
		if field and is_linkable(name):
			title = row.get(field)
			found[doctype, name] = found.get((doctype, name)) or (title if is_linkable(title) else None)
	return [{"doctype": doctype, "name": name, "title": title} for (doctype, name), title in found.items()]


def find_title_field(doctype: str) -> str | None:
	"""The title field of a DocType, or "name" if it has none; None for one that the user may not read."""
	if not frappe.db.exists("DocType", doctype) or not frappe.has_permission(doctype, "read"):
		return None
	return frappe.get_meta(doctype).title_field or "name"


def read_names(run: str) -> Iterator[tuple[str, str, Mapping]]:
	"""(DocType, name, row): what was changed, then the rows of arguments and results."""
	fields = ["reference_doctype", "reference_name"]
	for change in frappe.get_all("Agent Change", {"run": run}, fields, order_by="creation asc"):
		yield change.reference_doctype, change.reference_name, {}
	calls = read_call_rows("Agent Tool Call", run, ["tool", "status", "arguments", "result"])
	tools = frappe.get_all(
		"Agent Tool Function",
		{"name": ["in", [call.tool for call in calls]]},
		["name", "reference_doctype"],
		order_by="name asc",
	)
	doctypes = {tool.name: tool.reference_doctype for tool in tools}
	for call in calls:
		if call.status == "Success":
			arguments = parse_result(call.arguments)
			given = arguments.get("doctype") if isinstance(arguments, Mapping) else None
			for value in (parse_result(call.result), arguments):
				yield from find_named_rows(value, doctypes.get(call.tool) or given)


def find_named_rows(value: Any, doctype: Any) -> Iterator[tuple[str, str, Mapping]]:
	"""Rows with a name: a document, a list of them, or an object that has such a list."""
	if isinstance(value, list):
		for row in value:
			yield from find_named_rows(row, doctype)
	elif isinstance(value, Mapping):
		own, names = value.get("doctype") or doctype, value.get("names")
		for name in [value.get("name"), *(names if isinstance(names, list) else ())]:
			if isinstance(own, str) and isinstance(name, str):
				yield own, name, value
		for each in value.values():
			if isinstance(each, list) and each and isinstance(each[0], Mapping):
				yield from find_named_rows(each, doctype)


def is_linkable(text: Any) -> bool:
	return isinstance(text, str) and MIN_CHARS <= len(text.strip()) <= MAX_CHARS
