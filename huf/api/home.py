"""The endpoint of the start page: running and failed runs, daily counts, and setup progress."""

import frappe

from huf.ai.queries import daily_counts, runs
from huf.permissions import is_manager

MAX_RUNS, DAYS = 6, 30


@frappe.whitelist(methods=["GET"])
def get_home():
	"""{running, failures, days, setup}: runs as in `huf.ai.queries.runs`, days as in
	`huf.ai.queries.daily_counts`.

	`setup` is {has_model, agents, own_agents, triggers, has_run} for managers, otherwise None.
	"""
	return {
		"running": runs.list_newest_runs(daily_counts.UNDER_WAY, MAX_RUNS),
		"failures": runs.list_newest_runs(daily_counts.FAILED_STATUSES, MAX_RUNS),
		"days": daily_counts.count_days(DAYS),
		"setup": describe_setup() if is_manager(frappe.session.user) else None,
	}


def describe_setup() -> dict:
	# huf.install imports much that this endpoint does not need.
	from huf.install import DEMO_AGENT

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
		"own_agents": [agent.name for agent in agents if agent.name != DEMO_AGENT],
		"triggers": frappe.db.count("Agent Trigger"),
		"has_run": bool(frappe.db.exists("Agent Run", {"status": "Success"})),
	}
