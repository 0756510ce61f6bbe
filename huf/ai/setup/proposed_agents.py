"""Creates the accepted parts of a proposal: the agent with its tools, its trigger and its eval cases."""

from collections.abc import Mapping

import frappe
import yaml

from huf.ai.setup.agents import make_agent
from huf.ai.setup.proposals import read_proposal
from huf.ai.setup.tool_templates import find_existing_tool, find_free_name

CASE_NAME_CHARS = 80


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
