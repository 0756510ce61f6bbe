"""The endpoint of the costs page. Users see the costs of the runs they may read."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.request_values import read_date
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
	first, last = read_date(from_date), read_date(to_date)
	if not 0 <= (last - first).days < MAX_DAYS:
		raise UsageError(f"Choose a period of 1 to {MAX_DAYS} days.")
	if group not in GROUPS:
		raise UsageError(f"Group the costs by one of {', '.join(GROUPS)}.")
	return read_costs(first, last, group)
