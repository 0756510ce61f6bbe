"""Counts and costs of runs by day, with the user's permissions. Read-only."""

from datetime import timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.core.types import RunStatus
from huf.permissions import list_condition

UNDER_WAY = (RunStatus.QUEUED.value, RunStatus.STARTED.value)
FAILED_STATUSES = (RunStatus.FAILED.value, RunStatus.STOPPED.value)


def count_days(days: int) -> list[dict]:
	"""The last `days` days up to today, in the site's time zone: [{day, done, failed, other, cost,
	unpriced}].

	`cost` is in USD; `unpriced` counts runs whose cost is not fully known.
	"""
	first = (now_datetime() - timedelta(days=days - 1)).date()
	found = {str(first + timedelta(days=number)): create_day() for number in range(days)}
	for row in read_daily_rows(str(first)):
		day = found.get(str(row.day))
		if day is None:
			continue
		day[classify_status(row.status)] += row.runs
		day["cost"] += row.cost or 0
		day["unpriced"] += row.unpriced or 0
	return [{"day": day, **figures} for day, figures in found.items()]


def create_day() -> dict:
	return {"done": 0, "failed": 0, "other": 0, "cost": 0.0, "unpriced": 0}


def classify_status(status: str) -> str:
	if status == RunStatus.SUCCESS.value:
		return "done"
	return "failed" if status in FAILED_STATUSES else "other"


def read_daily_rows(first: str) -> list:
	own = list_condition(frappe.session.user, "Agent Run")
	return frappe.db.sql(
		f"""select date(creation) as day, status, count(*) as runs, sum(total_cost) as cost,
		sum(case when unpriced_calls > 0 then 1 else 0 end) as unpriced
		from `tabAgent Run` where creation >= %(first)s {f"and {own}" if own else ""}
		group by date(creation), status order by date(creation), status""",
		{"first": first},
		as_dict=True,
	)
