"""The endpoint of the costs page. Users see the costs of the runs they may read."""

from datetime import date

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.queries.costs import read_costs
from huf.ai.queries.reports import GROUPS

MAX_DAYS = 366


@frappe.whitelist(methods=["GET"])
def get_costs(from_date: str, to_date: str, group: str = "Agent"):
	"""Costs of a period, both days included: {days, groups, month, deleted_after, budgets}; see
	`huf.ai.queries.costs`.

	`group`: Agent, Model, User or Trigger.
	"""
	frappe.has_permission("Agent Run", throw=True)
	try:
		first, last = date.fromisoformat(from_date), date.fromisoformat(to_date)
	except ValueError:
		raise UsageError("Write the first and the last day as 2026-01-31.") from None
	if not 0 <= (last - first).days < MAX_DAYS:
		raise UsageError(f"Choose a period of 1 to {MAX_DAYS} days.")
	if group not in GROUPS:
		raise UsageError(f"Group the costs by one of {', '.join(GROUPS)}.")
	return read_costs(first, last, group)
