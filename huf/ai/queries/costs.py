"""What models cost by day and group, the use of budgets, and a forecast.

Read-only, with the user's permissions.
"""

from calendar import monthrange
from datetime import date, datetime, timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.core.settings import get_settings
from huf.ai.queries.reports import sum_costs, sum_days
from huf.ai.storage.budgets import sum_calls
from huf.ai.storage.limits import AGENT, SITE, USER, Limit, build_limit, keep_set
from huf.permissions import is_manager


def read_costs(first: date, last: date, group: str) -> dict:
	"""{days, groups, month, deleted_after, budgets}; see the functions below. Costs in USD."""
	period = {"from_date": str(first), "to_date": str(last)}
	now = now_datetime()
	return {
		"days": list_days(first, last),
		"groups": sum_costs({**period, "group_by": group}),
		"month": forecast(now),
		"deleted_after": find_deletion(min(first, now.date().replace(day=1)), now),
		"budgets": list_budgets(now),
	}


def list_days(first: date, last: date) -> list[dict]:
	"""Every day of a period: [{day, runs, cost, unpriced}].

	The cost of `unpriced` runs, and of model calls outside runs, is not fully known.
	"""
	found = {str(row.day): row for row in sum_days({"from_date": str(first), "to_date": str(last)})}
	days = [str(first + timedelta(days=number)) for number in range((last - first).days + 1)]
	empty = {"runs": 0, "cost": 0, "unpriced": 0}
	return [{"day": day, **{key: found.get(day, empty)[key] for key in empty}} for day in days]


def forecast(now: datetime) -> dict:
	"""{spent, forecast}: the cost of this month so far, and of all of it at the same rate."""
	first = now.date().replace(day=1)
	spent = sum(day["cost"] or 0 for day in list_days(first, now.date()))
	return {"spent": spent, "forecast": spent / elapsed_share(now)}


def find_deletion(first: date, now: datetime) -> int | None:
	"""After how many days runs are deleted, if runs of the days since `first` may be gone."""
	days = get_settings().keep_runs_days
	return days if days and first <= (now - timedelta(days=days)).date() else None


def elapsed_share(now: datetime) -> float:
	"""How much of a month is over, 0 to 1; at least its first day, because a rate over hours says little."""
	elapsed = now - now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
	return max(elapsed / timedelta(days=1), 1) / monthrange(now.year, now.month)[1]


def list_budgets(now: datetime) -> list[dict]:
	"""[{scope, holder, cost_limit, cost, token_limit, tokens}] of limits in force, 0 for no limit.

	Managers see those of the site, the agents and themselves; others their own. What is used includes what is
	reserved.
	"""
	limits = keep_set(read_visible_limits())
	names = [limit.budget(now) for limit in limits]
	rows = frappe.get_all(
		"Agent Budget", {"name": ["in", names]}, ["name", "cost", "tokens"], order_by="name asc"
	)
	used = {row.name: (row.cost, row.tokens) for row in rows}
	return [
		describe_budget(limit, *(used.get(name) or sum_calls(limit, now)))
		for limit, name in zip(limits, names, strict=True)
	]


def read_visible_limits() -> list[Limit]:
	user = frappe.session.user
	own = build_limit(USER, user)
	if not is_manager(user):
		return [own]
	agents = frappe.get_list("Agent", {"disabled": 0}, pluck="name", order_by="name asc", limit_page_length=0)
	of_agents = [build_limit(AGENT, agent, agent) for agent in agents]
	return [build_limit(SITE, "site"), *of_agents, own]


def describe_budget(limit: Limit, cost: float, tokens: int) -> dict:
	return {
		"scope": limit.scope.key,
		"holder": limit.holder,
		"cost_limit": limit.cost.amount,
		"cost": cost or 0,
		"token_limit": limit.tokens.amount,
		"tokens": tokens or 0,
	}
