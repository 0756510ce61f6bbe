"""Endpoints of the Desk's number cards and charts. They count only runs the user may read."""

import frappe
from frappe import _
from frappe.utils import now_datetime

from huf.ai.core.request_values import read_json
from huf.ai.queries import daily_counts

RUNS_REPORT = ["query-report", "Agent Runs"]
COSTS_REPORT = ["query-report", "Agent Costs"]
DAYS = 30


@frappe.whitelist()
def get_success_rate(filters: str | dict | list | None = None):
	"""A number card: the percentage of this month's finished runs that succeeded."""
	done, failed = (sum(day[kind] for day in read_month()) for kind in ("done", "failed"))
	rate = 100 * done / (done + failed) if done + failed else 0
	return {"value": round(rate, 1), "fieldtype": "Percent", "route": RUNS_REPORT}


@frappe.whitelist()
def get_cost(filters: str | dict | list | None = None):
	"""A number card: this month's cost in USD, rounded to two decimals because the Desk shows no decimals of
	longer numbers.
	"""
	cost = sum(day["cost"] for day in read_month())
	return {"value": round(cost, 2), "fieldtype": "Float", "route": COSTS_REPORT}


def read_month() -> list[dict]:
	return daily_counts.count_days(now_datetime().day)


@frappe.whitelist()
def get_days(filters: str | dict | list | None = None):
	"""A chart's data for the last 30 days: runs, or with the filter figure=cost their cost in USD.

	Frappe's own sum charts round away amounts below a dollar.
	"""
	chosen = read_json(filters or {}, "filters")
	days = daily_counts.count_days(DAYS)
	kinds = {"done": _("Succeeded"), "failed": _("Unsuccessful"), "other": _("Other")}
	if isinstance(chosen, dict) and chosen.get("figure") == "cost":
		kinds = {"cost": _("Cost (USD)")}
	return {
		"labels": [day["day"] for day in days],
		"datasets": [{"name": name, "values": [day[kind] for day in days]} for kind, name in kinds.items()],
	}
