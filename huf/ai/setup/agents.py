"""Creates an agent together with the tools it needs, in one transaction and with the user's permissions."""

import re
from collections.abc import Mapping, Sequence

import frappe
from frappe import _

from huf.ai.setup.tool_templates import find_free_name, make_tools
from huf.ai.tools.types import RUN_AGENT

AGENT, TOOL = "Agent", "Agent Tool Function"


def make_agent(
	values: Mapping, doctypes: Mapping[str, Sequence[str]], agents: Sequence[str], needs_approval: bool
) -> dict:
	"""Create an agent with the fields `values`: {name, tools}.

	Args:
		doctypes: kinds of tools by DocType, see `tool_templates.KINDS`
		agents: agents that it may call
		needs_approval: whether its tools for `doctypes` that change documents wait for a person

	Raises PermissionError, UsageError.
	"""
	for doctype in (AGENT, TOOL):
		frappe.has_permission(doctype, "create", throw=True)
	fields = {df.fieldname for df in frappe.get_meta(AGENT).fields if not df.read_only}
	doc = frappe.get_doc(
		{"doctype": AGENT, **{name: value for name, value in values.items() if name in fields}}
	)
	for doctype, kinds in doctypes.items():
		for tool in make_tools(doctype, list(kinds)):
			is_write = frappe.db.get_value(TOOL, tool, "effect") == "write"
			doc.append("agent_tool", {"tool": tool, "requires_approval": int(needs_approval and is_write)})
	for agent in agents:
		doc.append("agent_tool", {"tool": find_agent_tool(agent) or make_agent_tool(agent)})
	doc.insert()
	return {"name": doc.name, "tools": [row.tool for row in doc.agent_tool]}


def find_agent_tool(agent: str) -> str | None:
	filters = {"types": RUN_AGENT, "agent": agent}
	return frappe.db.get_value(TOOL, filters, order_by="creation asc")


def make_agent_tool(agent: str) -> str:
	"""A tool that calls another agent, which the user must be able to read."""
	called = frappe.get_doc(AGENT, agent)
	called.check_permission("read")
	values = {
		"types": RUN_AGENT,
		"agent": agent,
		"description": called.description or _("Ask the agent {0}").format(agent),
	}
	wanted = f"ask_{re.sub('[^a-z0-9]+', '_', agent.lower()).strip('_')}"[:60]
	name = find_free_name("Agent Tool Function", wanted, "_")
	return frappe.get_doc({"doctype": TOOL, "tool_name": name, **values}).insert().name
