"""Tools for a DocType by the handful: what most agents need of it, without a form for each. Saves as the user."""

import re

import frappe
from frappe import _

from huf.ai.core.errors import UsageError

KINDS = {
	"list": ("Get List", "List or count {0} records"),
	"read": ("Get Document", "Read one {0} record"),
	"create": ("Create Document", "Create a {0} record"),
	"update": ("Update Document", "Change a {0} record"),
	"delete": ("Delete Document", "Delete a {0} record"),
}


def make_tools(doctype: str, kinds: list[str]) -> list[str]:
	"""Names of the tools for these kinds of work with a DocType; one that is there already is taken as it is.

	Raises PermissionError, UsageError for a kind that there is not.
	"""
	frappe.has_permission(doctype, "read", throw=True)
	if unknown := [kind for kind in kinds if kind not in KINDS]:
		raise UsageError(
			f"There is no such kind of tool: {', '.join(unknown)}. Say some of {', '.join(KINDS)}."
		)
	return [find_tool(doctype, kind) or make_tool(doctype, kind) for kind in kinds]


def find_tool(doctype: str, kind: str) -> str | None:
	return frappe.db.get_value(
		"Agent Tool Function",
		{"types": KINDS[kind][0], "reference_doctype": doctype},
		order_by="creation asc",
	)


def make_tool(doctype: str, kind: str) -> str:
	types, description = KINDS[kind]
	values = {"types": types, "reference_doctype": doctype, "description": _(description).format(_(doctype))}
	name = free_name(f"{kind}_{re.sub('[^a-z0-9]+', '_', doctype.lower()).strip('_')}"[:60])
	return frappe.get_doc({"doctype": "Agent Tool Function", "tool_name": name, **values}).insert().name


def free_name(wanted: str) -> str:
	"""The name, or the first with a number that no tool has."""
	number, name = 1, wanted
	while frappe.db.exists("Agent Tool Function", name):
		number += 1
		name = f"{wanted}_{number}"
	return name
