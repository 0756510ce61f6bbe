"""Finds by a word what one may want to go to: what is set up, what was said and run, records. Reads as the user."""

import frappe

from huf.ai.queries import records

ROWS_PER_KIND, MAX_DOCTYPES = 5, 40
MAX_RECORDS = 15
MIN_QUERY_CHARS = 2
"""Letters from which on it is looked for."""
PLACES = (
	("agent", "Agent", "agent_name", "description"),
	("trigger", "Agent Trigger", "trigger_name", "agent"),
	("tool", "Agent Tool Function", "tool_name", "description"),
	("conversation", "Agent Conversation", "title", "agent"),
	("run", "Agent Run", "prompt", "agent"),
)
"""What kind of thing, its DocType, the field that is looked in, and the one that is shown beside it."""


def find(text: str) -> list[dict]:
	"""[{kind, doctype, name, title, detail}], some of each kind; nothing for less than two letters."""
	text = text.strip()
	if len(text) < MIN_QUERY_CHARS:
		return []
	found = [each for place in PLACES for each in find_in(*place, text)]
	return [*found, *find_records(text)][:MAX_DOCTYPES]


def find_in(kind: str, doctype: str, title: str, detail: str, text: str) -> list[dict]:
	if not frappe.has_permission(doctype, "read"):
		return []
	rows = frappe.get_list(
		doctype,
		filters=[[doctype, title, "like", f"%{text}%"]],
		fields=["name", title, detail],
		order_by="modified desc",
		limit_page_length=ROWS_PER_KIND,
	)
	return [
		{"kind": kind, "doctype": doctype, "name": row.name, "title": row[title], "detail": row[detail]}
		for row in rows
	]


def find_records(text: str) -> list[dict]:
	"""Of the DocTypes that agents work with: the DocType itself, and records that its list would find."""
	found: list[dict] = []
	for doctype in (each["name"] for each in records.worked_with()):
		if len(found) >= MAX_RECORDS:
			break
		if text.lower() in doctype.lower():
			found.append(
				{"kind": "doctype", "doctype": doctype, "name": doctype, "title": doctype, "detail": ""}
			)
		if frappe.get_meta(doctype).issingle:
			continue
		title = frappe.get_meta(doctype).title_field or "name"
		for row in records.list_records(doctype, text, limit=ROWS_PER_KIND):
			shown = {"title": row.get(title) or row.name, "detail": doctype}
			found.append({"kind": "record", "doctype": doctype, "name": row.name, **shown})
	return found
