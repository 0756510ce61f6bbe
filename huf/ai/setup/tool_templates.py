"""Creates the usual tools for a DocType (list, read, create, update, delete) with the user's permissions."""

import re

import frappe
from frappe import _

from huf.ai.core.errors import UsageError

KINDS = {
	"list": ("Get List", "List, count or add up {0} records"),
	"read": ("Get Document", "Read one {0} record"),
	"create": ("Create Document", "Create a {0} record"),
	"update": ("Update Document", "Change a {0} record"),
	"delete": ("Delete Document", "Delete a {0} record"),
}


def make_tools(doctype: str, kinds: list[str]) -> list[str]:
	"""Create the tools of these KINDS for a DocType; existing ones are reused. Returns their names.

	Raises PermissionError, UsageError for an unknown kind.
	"""
	frappe.has_permission(doctype, "read", throw=True)
	if unknown := [kind for kind in kinds if kind not in KINDS]:
		raise UsageError(f"Unknown kind of tool: {', '.join(unknown)}. Choose from {', '.join(KINDS)}.")
	return [find_existing_tool(doctype, kind) or make_tool(doctype, kind) for kind in kinds]


def find_existing_tool(doctype: str, kind: str) -> str | None:
	return frappe.db.get_value(
		"Agent Tool Function",
		{"types": KINDS[kind][0], "reference_doctype": doctype},
		order_by="creation asc",
	)


def make_tool(doctype: str, kind: str) -> str:
	types, description = KINDS[kind]
	values = {"types": types, "reference_doctype": doctype, "description": _(description).format(_(doctype))}
	return insert_tool(kind, doctype, values)


def insert_tool(verb: str, what: str, values: dict) -> str:
	"""Insert a tool, named after what it does with what; returns its name."""
	wanted = f"{verb}_{re.sub('[^a-z0-9]+', '_', what.lower()).strip('_')}"[:60]
	name = find_free_name("Agent Tool Function", wanted, "_")
	return frappe.get_doc({"doctype": "Agent Tool Function", "tool_name": name, **values}).insert().name


def find_free_name(doctype: str, wanted: str, separator: str = " ") -> str:
	"""The name itself, or with the first number that no record has."""
	if wanted.startswith(f"New {doctype}"):  # Frappe keeps these names for its forms
		wanted = wanted.removeprefix("New ")
	number, name = 1, wanted
	while frappe.db.exists(doctype, name):
		number += 1
		name = f"{wanted}{separator}{number}"
	return name
