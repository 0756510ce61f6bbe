"""Endpoints about tools, for people who configure agents."""

import frappe

from huf.ai.core.grouping import group_pairs
from huf.ai.core.request_values import read_json_object, read_text_list
from huf.ai.setup import doctype_requests
from huf.ai.setup.tool_check import try_tool
from huf.ai.setup.tool_templates import make_tools

TOOL = "Agent Tool Function"
LIST_FIELDS = [
	"name",
	"description",
	"types",
	"effect",
	"reference_doctype",
	"provider_app",
	"requires_approval",
	"modified",
]


@frappe.whitelist(methods=["GET"])
def get_tools():
	"""All tools by name: [{name, description, types, effect, reference_doctype, provider_app,
	requires_approval, agents, roles}].

	`agents`: names of the agents that have the tool; empty for users who may not change agents. `roles`: the
	roles that may use it, if it names any.
	"""
	rows = frappe.get_list(TOOL, fields=LIST_FIELDS, order_by="tool_name asc", limit_page_length=0)
	agents = {}
	if frappe.has_permission("Agent", "write"):
		agents = group_values("Agent Tool", "tool", "parent", {"parenttype": "Agent"})
	roles = group_values("Has Role", "parent", "role", {"parenttype": TOOL})
	return [{**row, "agents": agents.get(row.name, []), "roles": roles.get(row.name, [])} for row in rows]


def group_values(doctype: str, key: str, value: str, filters: dict) -> dict[str, list[str]]:
	"""A child table's values by parent: {key: [value]}."""
	rows = frappe.get_all(doctype, filters=filters, fields=[key, value], order_by=f"{value} asc")
	return group_pairs((row[key], row[value]) for row in rows)


@frappe.whitelist(methods=["POST"])
def make_for(doctype: str, kinds: list | str):
	"""Create tools for a DocType.

	`kinds`: any of list, read, create, update, delete. Returns the tools' names.
	"""
	frappe.has_permission(TOOL, "create", throw=True)
	return make_tools(doctype, read_text_list(kinds, "kinds"))


@frappe.whitelist(methods=["POST"])
def ask_for_doctype(request: str):
	"""Ask the System Managers for a DocType, and return their names. For users who may create tools.

	`request`: a description of its records, up to 140 characters. The same request is sent once a day.
	"""
	frappe.has_permission(TOOL, "create", throw=True)
	return doctype_requests.request_doctype(request)


@frappe.whitelist(methods=["POST"])
def try_it(tool: str, user: str, arguments: dict | str | None = None, send: bool = False):
	"""Dry-run a tool as another user, for System Managers. See `huf.ai.setup.tool_check.try_tool`."""
	return try_tool(tool, user, read_json_object(arguments or {}, "arguments"), send)
