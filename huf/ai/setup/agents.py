"""Creates an agent with the tools it needs, or the accepted parts of a proposal: agent, trigger and eval
cases; in one transaction and with the user's permissions.
"""

from collections.abc import Mapping, Sequence

import frappe
import yaml
from frappe import _

from huf.ai.core.documents import get_permitted
from huf.ai.setup.proposals import read_proposal
from huf.ai.setup.tool_templates import find_existing_tool, find_free_name, insert_tool, make_tools
from huf.ai.tools.types import RUN_AGENT

AGENT, TOOL = "Agent", "Agent Tool Function"
CASE_NAME_CHARS = 80


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
	called = get_permitted(AGENT, agent)
	values = {
		"types": RUN_AGENT,
		"agent": agent,
		"description": called.description or _("Ask the agent {0}").format(agent),
	}
	return insert_tool("ask", agent, values)


def create_proposed(raw: Mapping) -> dict:
	"""Create the agent of a proposal, with the user's permissions: {name, tools, trigger, cases}.

	Tools that write ask a person first. Raises PermissionError, UsageError and what the DocTypes refuse.
	"""
	proposal = read_proposal(raw)
	name = find_free_name("Agent", proposal["name"])
	values = {
		key: proposal[key] for key in ("description", "instructions", "max_iterations", "daily_cost_limit")
	}
	starters = "\n".join(" ".join(case["prompt"].split()) for case in proposal["cases"])
	doctypes = {tool["doctype"]: tool["kinds"] for tool in proposal["tools"] if tool["kinds"]}
	made = make_agent({"agent_name": name, **values, "starters": starters}, doctypes, (), needs_approval=True)
	trigger = proposal["trigger"]
	return {
		**made,
		"trigger": make_trigger(made["name"], trigger) if trigger else None,
		"cases": [make_case(made["name"], *each) for each in enumerate(proposal["cases"], 1)],
	}


def make_trigger(agent: str, trigger: Mapping) -> str:
	"""A trigger whose results are shown to the user who made it."""
	name = find_free_name("Agent Trigger", agent)
	values = {"agent": agent, "notify_user": frappe.session.user, **trigger}
	return frappe.get_doc({"doctype": "Agent Trigger", "trigger_name": name, **values}).insert().name


def make_case(agent: str, number: int, case: Mapping) -> str:
	checks = []
	if case["doctype"]:
		checks.append({"calls": find_existing_tool(case["doctype"], case["kind"])})
	if case["question"]:
		checks.append({"judge": case["question"]})
	values = {
		"case_name": f"{number}. {' '.join(case['prompt'].split())[:CASE_NAME_CHARS]}",
		"agent": agent,
		"prompt": case["prompt"],
		"definition": yaml.safe_dump({"expect": checks}, sort_keys=False, allow_unicode=True),
	}
	return frappe.get_doc({"doctype": "Agent Eval Case", **values}).insert().name
