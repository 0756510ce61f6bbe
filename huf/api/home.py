"""REST of the first page: what runs, what went wrong, how it went from day to day, and what is set up."""

import frappe

from huf.ai.queries import daily_counts, runs
from huf.permissions import is_manager

FEW, DAYS = 6, 30


@frappe.whitelist(methods=["GET"])
def get_home():
	"""{running, failures, days, setup}: runs as in `huf.ai.queries.runs`, days as in `huf.ai.queries.daily_counts`.

	`setup` is {has_model, agents, own_agents, triggers, has_run} for who sets agents up, else None.
	"""
	return {
		"running": runs.list_runs({"status": ["in", daily_counts.UNDER_WAY]}, 0, FEW),
		"failures": runs.list_runs({"status": ["in", daily_counts.NOT_DONE]}, 0, FEW),
		"days": daily_counts.count_days(DAYS),
		"setup": describe_setup() if is_manager(frappe.session.user) else None,
	}


def describe_setup() -> dict:
	agents = frappe.get_list(
		"Agent",
		filters={"disabled": 0},
		fields=["name", "model"],
		order_by="creation asc",
		limit_page_length=0,
	)
	default = frappe.get_cached_doc("Huf Settings").default_model
	return {
		"has_model": bool(default or any(agent.model for agent in agents)),
		"agents": [agent.name for agent in agents],
		"own_agents": [agent.name for agent in agents if not came_with_huf(agent.name)],
		"triggers": frappe.db.count("Agent Trigger"),
		"has_run": bool(frappe.db.exists("Agent Run", {"status": "Success"})),
	}


def came_with_huf(agent: str) -> bool:
	from huf.install import DEMO_AGENT

	return agent == DEMO_AGENT
