"""Automatic stops: an agent that fails, spends, is refused or rewrites one record too often within an hour is
stopped until a Huf Manager releases it.

Checked when a run ends, and every minute for agents with open runs. A release restarts the hour.
"""

from collections.abc import Callable
from datetime import datetime

import frappe
from frappe.utils import add_to_date, get_datetime, now_datetime

from huf.ai.core.settings import find_cached, get_settings
from huf.ai.storage import stops
from huf.ai.storage.agent_changes import find_top_changed

RULES_USER = "Administrator"
"""The user recorded for automatic stops."""
Measure = Callable[[str, datetime], tuple[float, str]]
"""(agent, since) -> (how much, in words)."""


def count_failures(agent: str, since: datetime) -> tuple[float, str]:
	failed = {"agent": agent, "status": "Failed", "ended_at": [">=", since]}
	count = frappe.db.count("Agent Run", failed)
	return count, f"{count} failed runs"


def sum_cost(agent: str, since: datetime) -> tuple[float, str]:
	found = frappe.db.sql(
		"""select sum(made.cost) from `tabAgent LLM Call` made join `tabAgent Run` run on run.name = made.run
		where run.agent = %s and made.creation >= %s""",
		(agent, since),
	)
	cost = float(found[0][0] or 0)
	return cost, f"USD {cost:.2f} spent"


def count_refusals(agent: str, since: datetime) -> tuple[float, str]:
	count = frappe.db.count(
		"Agent Draft", {"agent": agent, "status": "Rejected", "answered_at": [">=", since]}
	)
	return count, f"{count} calls that people rejected"


def count_record_writes(agent: str, since: datetime) -> tuple[float, str]:
	count, record = find_top_changed(agent, since)
	return count, f"{count} changes of {record}"


RULES: dict[str, Measure] = {
	"stop_after_failures": count_failures,
	"stop_after_cost": sum_cost,
	"stop_after_refusals": count_refusals,
	"stop_after_record_writes": count_record_writes,
}
"""By field of Agent, and of Huf Settings for agents whose field is 0."""


def apply_stop_rules(agent: str) -> dict | None:
	"""Stop an agent that breaks a rule; returns the stop. Commits if it stops."""
	doc, settings = find_cached("Agent", agent), get_settings()
	limits = {field: (doc and doc.get(field)) or getattr(settings, field) for field in RULES}
	if not doc or not any(limits.values()) or stops.find_stop(stops.read_stops(), {"agent": agent}):
		return None
	since = find_beginning(agent)
	for field, limit in limits.items():
		if not limit:
			continue
		amount, words = RULES[field](agent, since)
		if amount >= limit:
			return stop_by_rule(agent, f"Automatic: {words} within an hour")
	return None


def stop_by_rule(agent: str, reason: str) -> dict | None:
	"""Stop an agent by a rule; None if another worker already has. Commits."""
	frappe.db.commit()
	if stops.find_stop(stops.lock_switch(), {"agent": agent}):
		frappe.db.rollback()
		return None
	added = stops.add_stop("Agent", agent, reason, RULES_USER)
	frappe.db.commit()
	frappe.publish_realtime("huf_stops", {"stop": added["name"]})
	return added


def find_beginning(agent: str) -> datetime:
	"""The time an hour ago, or of the agent's last release if that is later."""
	hour_ago = add_to_date(now_datetime(), hours=-1, as_datetime=True)
	# Only those that were: databases disagree on where an order puts the others.
	recent = {"scope": "Agent", "target": agent, "released_at": [">", hour_ago]}
	released = frappe.db.get_value("Agent Stop", recent, "released_at", order_by="released_at desc")
	return get_datetime(released) if released else hour_ago


def check_working_agents() -> list[str]:
	"""Apply the rules to agents with open runs; returns those that were stopped. Scheduled every minute."""
	agents = frappe.get_all(
		"Agent Run", {"status": "Started"}, pluck="agent", distinct=True, order_by="agent asc"
	)
	return [agent for agent in agents if apply_stop_rules(agent)]
