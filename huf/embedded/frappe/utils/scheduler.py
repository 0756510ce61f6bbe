"""The schedule: each `scheduler_events` hook that is due becomes a job.

Last runs are stored in jobs.db and advanced by compare-and-set, so that any number of schedulers fire each
event once. Runs missed during downtime are made up for once.
"""

import datetime
from collections.abc import Iterator
from functools import cache

import frappe
from croniter import croniter
from frappe.utils import jobs_db
from frappe.utils.background_jobs import enqueue

from huf.embedded.site_thread import SiteThread

CRON = {
	"all": "*/4 * * * *",
	"hourly": "0 * * * *",
	"daily": "0 0 * * *",
	"weekly": "0 0 * * 0",
	"monthly": "0 0 1 * *",
	"yearly": "0 0 1 1 *",
}
LONG = "_long"


def get_events() -> Iterator[tuple[str, str, str]]:
	"""(method, cron expression, queue) of every scheduled event of the installed apps."""
	for frequency, methods in frappe.get_hooks("scheduler_events", {}).items():
		if frequency == "cron":
			for expression, crons in methods.items():
				yield from ((method, expression, "default") for method in crons)
			continue
		queue = "long" if frequency.endswith(LONG) else "default"
		expression = CRON.get(frequency.removesuffix(LONG), frequency)
		yield from ((method, expression, queue) for method in methods)


def list_unreadable() -> list[str]:
	"""Events that never fire, because their hook names no known frequency or no cron expression."""
	return [f"{method} ({cron})" for method, cron, _queue in get_events() if not is_readable(cron)]


@cache
def is_readable(cron) -> bool:
	"""Whether it is a cron expression that has a next time: 31 February has none."""
	try:
		return bool(croniter(str(cron)).get_next())
	except ValueError:
		return False


def enqueue_events(now: datetime.datetime | None = None, events=None) -> list[str]:
	"""Enqueue the `events` (by default those of the hooks) that are due at `now` (the site's time); returns
	the methods. Unreadable events of an app are left out, so that the others fire.

	An event seen for the first time counts as having just run.
	"""
	now = now or frappe.utils.now_datetime()
	fired = []
	for method, cron, queue in events or get_events():
		if is_readable(cron) and _take_turn(f"{method} {cron}", cron, now):
			enqueue(method, queue=queue, job_id=f"scheduled_job::{method}", deduplicate=True)
			fired.append(method)
	return fired


def _take_turn(event: str, cron: str, now: datetime.datetime) -> bool:
	db = jobs_db.connect()
	rows = db.execute("SELECT last_run FROM schedule WHERE event = ?", (event,))
	if not rows:
		db.execute("INSERT OR IGNORE INTO schedule (event, last_run) VALUES (?, ?)", (event, now.isoformat()))
		return False
	last_run = rows[0]["last_run"]
	last = datetime.datetime.fromisoformat(last_run)
	if last.replace(second=0, microsecond=0) > now:
		# The clock was put back, as at the end of daylight saving time.
		is_due = croniter.match(cron, now)
	else:
		is_due = croniter(cron, last).get_next(datetime.datetime) <= now
	if not is_due:
		return False
	query = "UPDATE schedule SET last_run = ? WHERE event = ? AND last_run = ?"
	return db.change(query, (now.isoformat(), event, last_run)) == 1


class Scheduler(SiteThread):
	"""One thread that calls `enqueue_events` at the start of every minute."""

	title = "Scheduler"

	def work(self):
		while not self.stopping.wait(60 - datetime.datetime.now().second):
			self.tick()

	def tick(self, now: datetime.datetime | None = None) -> list[str]:
		return self.on_site(enqueue_events, now) or []
