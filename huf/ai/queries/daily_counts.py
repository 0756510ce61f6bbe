"""Counts of runs and costs of models by day, with the user's permissions. Read-only."""

from datetime import date, timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.core.types import RunStatus
from huf.ai.queries.reports import sum_days
from huf.ai.storage.shared_values import share_value
from huf.permissions import list_condition

FAILED_STATUSES = (RunStatus.FAILED.value, RunStatus.STOPPED.value)
MAX_UNCACHED_RUNS = 1000
TODAY_TTL_S, EARLIER_TTL_S = 60, 3600
"""Runs of earlier days change rarely: one that waited ends, or retention deletes it."""


def count_days(days: int) -> list[dict]:
	"""The last `days` days up to today, in the site's time zone: [{day, done, failed, other, cost,
	unpriced}].

	`cost` is in USD, with model calls outside runs; `unpriced` counts what has no known cost.
	"""
	today = now_datetime().date()
	first = today - timedelta(days=days - 1)
	found = {str(first + timedelta(days=number)): create_day() for number in range(days)}
	earlier = read_daily_rows(first, today, EARLIER_TTL_S)
	for row in (*earlier, *read_daily_rows(today, None, TODAY_TTL_S)):
		if day := found.get(str(row.day)):
			done, failed = int(row.successes), int(row.failures)
			day |= {"done": done, "failed": failed, "other": int(row.runs) - done - failed}
			day |= {"cost": row.cost or 0, "unpriced": int(row.unpriced)}
	return [{"day": day, **figures} for day, figures in found.items()]


def create_day() -> dict:
	return {"done": 0, "failed": 0, "other": 0, "cost": 0.0, "unpriced": 0}


def read_daily_rows(first: date, end: date | None, cache_ttl_s: int) -> list:
	"""A row for each day from `first` to before `end`. Cached if there are many runs to count."""
	own = list_condition(frappe.session.user, "Agent Run")
	key = f"huf_daily_spending|{first}|{end}|{own}"
	if (cached := frappe.cache.get_value(key, expires=True)) is not None:
		return cached
	period = {"from_date": str(first)} | ({"to_date": str(end - timedelta(days=1))} if end else {})
	rows = sum_days(period)
	if sum(row.runs for row in rows) > MAX_UNCACHED_RUNS:
		share_value(key, rows, cache_ttl_s)
	return rows
