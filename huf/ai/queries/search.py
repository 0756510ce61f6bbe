"""Search across agents, triggers, tools, conversations, runs and records, as the user may read them."""

import frappe

from huf.ai.queries import records

ROWS_PER_KIND = 5
MAX_RESULTS = 40
MAX_RECORDS = 15
MIN_QUERY_CHARS = 2
SEARCH_TARGETS = (
	("agent", "Agent", "agent_name", "description"),
	("trigger", "Agent Trigger", "trigger_name", "agent"),
	("tool", "Agent Tool Function", "tool_name", "description"),
	("conversation", "Agent Conversation", "title", "agent"),
	("run", "Agent Run", "prompt", "agent"),
)
"""(kind, DocType, field that is searched, field that is displayed as detail)"""


def search_everything(text: str) -> list[dict]:
	"""[{kind, doctype, name, title, detail}], a few of each kind; [] for less than MIN_QUERY_CHARS."""
	text = text.strip()
	if len(text) < MIN_QUERY_CHARS:
		return []
	found = [each for place in SEARCH_TARGETS for each in search_doctype(*place, text)]
	return [*found, *search_records(text)][:MAX_RESULTS]


def search_doctype(kind: str, doctype: str, title: str, detail: str, text: str) -> list[dict]:
	if not frappe.has_permission(doctype, "read"):
		return []
	rows = frappe.get_list(
		doctype,
		filters=[[doctype, title, "like", f"%{text}%"]],
		fields=["name", title, detail],
		order_by="modified desc",
		limit_page_length=ROWS_PER_KIND,
	)
	return [build_hit(kind, doctype, row.name, row[title], row[detail]) for row in rows]


def search_records(text: str) -> list[dict]:
	"""DocTypes that agents use, by name, and their records that a list would find."""
	found: list[dict] = []
	for doctype in (each["name"] for each in records.list_used_doctypes()):
		if len(found) >= MAX_RECORDS:
			break
		if text.lower() in doctype.lower():
			found.append(build_hit("doctype", doctype, doctype, doctype))
		if frappe.get_meta(doctype).issingle:
			continue
		title_field = frappe.get_meta(doctype).title_field or "name"
		for row in records.list_records(doctype, text, limit=ROWS_PER_KIND):
			title = records.shorten_field(row.get(title_field)) or row.name
			found.append(build_hit("record", doctype, row.name, title, doctype))
	return found


def build_hit(kind: str, doctype: str, name: str, title: str, detail: str = "") -> dict:
	return {"kind": kind, "doctype": doctype, "name": name, "title": title, "detail": detail}
