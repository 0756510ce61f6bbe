"""The audit log: logins, changes of settings, permissions, agents and tools, and approvals, in order.

It is derived from existing records of Frappe and Huf (Activity Log, Version, Deleted Document, Agent Draft),
so there is no second store. Entries contain no secrets and no long texts.
"""

import heapq
import json
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import frappe

from huf.ai.tools.fields import SECRET_FIELDS

MAX_ENTRIES = 5_000
MAX_VALUE_CHARS = 200
HUF_DOCTYPES = (
	"Agent",
	"Agent Budget",
	"Agent Mailbox",
	"Agent Pack",
	"Agent Route Rule",
	"Agent Stop",
	"Agent Tool Function",
	"Agent Trigger",
	"AI Model",
	"AI Provider",
	"Huf Settings",
	"Knowledge Source",
	"MCP Server",
	"MCP Server Connection",
)
SYSTEM_DOCTYPES = ("Custom DocPerm", "DocShare", "MCP Grant", "Role", "User", "User Permission")
SHORT_TYPES = frozenset(
	(
		"Check",
		"Currency",
		"Data",
		"Date",
		"Datetime",
		"Float",
		"Int",
		"Link",
		"Percent",
		"Select",
		"Small Text",
	)
)

Entry = dict[str, Any]


def read_audit(
	since: datetime | None, until: datetime | None, is_system_manager: bool, limit: int = MAX_ENTRIES
) -> list[Entry]:
	"""The first entries after `since`, oldest first: {time, user, action, doctype, name ...}.

	Logins, users, roles, shares and grants of programs are for System Managers.
	"""
	period = [
		["creation", ">", since or datetime(1970, 1, 1)],
		["creation", "<=", until or datetime(9999, 1, 1)],
	]
	doctypes = [*HUF_DOCTYPES, *(SYSTEM_DOCTYPES if is_system_manager else ())]
	doctypes = [doctype for doctype in doctypes if frappe.db.exists("DocType", doctype)]
	sources = [
		read_changes(doctypes, period, limit),
		read_deletions(doctypes, period, limit),
		read_approvals(period, limit),
		*(read_creations(doctype, period, limit) for doctype in doctypes if not is_single(doctype)),
	]
	if is_system_manager:
		sources += [read_logins(period, limit), read_comments(period, limit)]
	merged = heapq.merge(*sources, key=lambda entry: entry["time"])
	return list(islice(merged, limit))


def is_single(doctype: str) -> bool:
	return bool(frappe.get_meta(doctype).issingle)


def list_rows(doctype: str, filters: list, fields: list[str], limit: int, order: str = "creation") -> list:
	return frappe.get_all(doctype, filters, fields, order_by=f"{order} asc", limit_page_length=limit)


def build_audit_entry(time: Any, user: str, action: str, **values: Any) -> Entry:
	kept = {name: value for name, value in values.items() if value not in (None, "", [])}
	return {"time": str(time), "user": user, "action": action, **kept}


def read_logins(period: list, limit: int) -> Iterator[Entry]:
	fields = ["creation", "user", "operation", "status", "ip_address"]
	filters = [*period, ["operation", "in", ["Login", "Logout", "Impersonate", "Reset Password"]]]
	for row in list_rows("Activity Log", filters, fields, limit):
		status = row.status.lower() if row.operation == "Login" else None
		action = frappe.scrub(row.operation)
		yield build_audit_entry(row.creation, row.user, action, status=status, ip=row.ip_address)


def read_comments(period: list, limit: int) -> Iterator[Entry]:
	"""Actions on users that change no field, such as creating a link for a new password."""
	filters = [*period, ["reference_doctype", "=", "User"], ["comment_type", "=", "Info"]]
	for row in list_rows("Comment", filters, ["creation", "owner", "reference_name", "content"], limit):
		place = {"doctype": "User", "name": row.reference_name}
		yield build_audit_entry(row.creation, row.owner, "comment", **place, text=shorten_entry(row.content))


def read_creations(doctype: str, period: list, limit: int) -> Iterator[Entry]:
	for row in list_rows(doctype, period, ["creation", "owner", "name"], limit):
		yield build_audit_entry(row.creation, row.owner, "create", doctype=doctype, name=row.name)


def read_deletions(doctypes: list[str], period: list, limit: int) -> Iterator[Entry]:
	"""Entries of deleted documents, oldest first."""
	fields = ["creation", "owner", "deleted_doctype", "deleted_name"]
	for row in list_rows("Deleted Document", [*period, ["deleted_doctype", "in", doctypes]], fields, limit):
		place = {"doctype": row.deleted_doctype, "name": row.deleted_name}
		yield build_audit_entry(row.creation, row.owner, "delete", **place)


def read_changes(doctypes: list[str], period: list, limit: int) -> Iterator[Entry]:
	"""Entries of changed documents, oldest first."""
	fields = ["creation", "owner", "ref_doctype", "docname", "data"]
	for row in list_rows("Version", [*period, ["ref_doctype", "in", doctypes]], fields, limit):
		changes = describe_changes(row.ref_doctype, json.loads(row.data or "{}"))
		place = {"doctype": row.ref_doctype, "name": row.docname}
		yield build_audit_entry(row.creation, row.owner, "change", **place, changes=changes)


def read_approvals(period: list, limit: int) -> Iterator[Entry]:
	fields = ["answered_at", "answered_by", "status", "tool", "run", "name"]
	filters = [["answered_at", *rest] for _field, *rest in period]
	for row in list_rows("Agent Draft", filters, fields, limit, "answered_at"):
		place = {"doctype": "Agent Draft", "name": row.name, "tool": row.tool, "run": row.run}
		yield build_audit_entry(
			row.answered_at, row.answered_by, "approval", status=row.status.lower(), **place
		)


def describe_changes(doctype: str, data: dict) -> list[dict]:
	"""[{field, before, after}]; rows of tables as {field, action, row}. No secrets, no long texts."""
	meta = frappe.get_meta(doctype)
	changes = [describe_change(meta, *change) for change in data.get("changed") or ()]
	for action in ("added", "removed"):
		for field, row in data.get(action) or ():
			changes.append({"field": field, "action": action, "row": describe_row(meta, field, row)})
	for field, _index, _name, changed in data.get("row_changed") or ():
		child = child_meta(meta, field)
		row = [describe_change(child, *change) for change in changed] if child else []
		changes.append({"field": field, "action": "changed", "row": row})
	return changes


def describe_change(meta: Any, field: str, before: Any, after: Any) -> dict:
	"""{field, before, after}; only {field} for secrets and long texts."""
	if not has_short_value(meta, field):
		return {"field": field}
	return {"field": field, "before": shorten_entry(before), "after": shorten_entry(after)}


def describe_row(meta: Any, field: str, row: dict) -> dict:
	child = child_meta(meta, field)
	names = [each.fieldname for each in child.fields] if child else []
	values = {name: row.get(name) for name in names if has_short_value(child, name)}
	return {name: shorten_entry(value) for name, value in values.items() if value not in (None, "")}


def child_meta(meta: Any, field: str) -> Any:
	known = meta.get_field(field)
	return frappe.get_meta(known.options) if known and known.options else None


def has_short_value(meta: Any, field: str) -> bool:
	known = meta.get_field(field)
	return bool(known) and known.fieldtype in SHORT_TYPES and field not in SECRET_FIELDS


def shorten_entry(value: Any) -> Any:
	return value[:MAX_VALUE_CHARS] if isinstance(value, str) else value
