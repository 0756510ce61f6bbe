"""The endpoint of the start page: running and failed runs, daily counts, and setup progress."""

import frappe

from huf.ai.core.types import ACTIVE_STATUSES
from huf.ai.queries import daily_counts, runs
from huf.permissions import is_manager

MAX_RUNS, DAYS = 6, 30
MAX_RESULT_CHARS = 300
ENDED = ("Success", "Stopped", "Failed")


@frappe.whitelist(methods=["GET"])
def get_home():
	"""{running, failures, results, days, setup}: runs as in `huf.ai.queries.runs`, days as in
	`huf.ai.queries.daily_counts`.

	`setup` is {has_model, agents, own_agents, triggers, has_run} for managers, otherwise None.
	"""
	return {
		"running": runs.list_newest_runs(ACTIVE_STATUSES, MAX_RUNS),
		"failures": runs.list_newest_runs(daily_counts.FAILED_STATUSES, MAX_RUNS),
		"results": list_results(),
		"days": daily_counts.count_days(DAYS),
		"setup": describe_setup() if is_manager(frappe.session.user) else None,
	}


def list_results() -> list[dict]:
	"""Ended runs with their answers: for managers those of their own triggers, for others all triggered
	runs that they may read.
	"""
	user = frappe.session.user
	own = frappe.get_all("Agent Trigger", {"owner": user}, pluck="name", order_by="name asc")
	wanted = ["in", own] if is_manager(user) else ["is", "set"]
	if is_manager(user) and not own:
		return []
	found = runs.list_runs({"trigger": wanted, "status": ["in", ENDED]}, 0, MAX_RUNS)
	names = [run["name"] for run in found]
	rows = frappe.get_all("Agent Run", {"name": ["in", names]}, ["name", "response"], order_by="name asc")
	answers = {row.name: (row.response or "")[:MAX_RESULT_CHARS] for row in rows}
	return [{**run, "response": answers.get(run["name"])} for run in found]


def describe_setup() -> dict:
	# huf.install imports many modules that this endpoint does not need.
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
