"""Computes when a schedule is due, from a cron expression or from an interval and its first time.

Pure. Times are naive, in the site's time zone. When its clock is set back an hour, the times of that hour are
due once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

from croniter import croniter
from dateutil.relativedelta import relativedelta
from frappe import _

MICROSECOND = timedelta(microseconds=1)
STEPS = {
	"Minutely": timedelta(minutes=1),
	"Hourly": timedelta(hours=1),
	"Daily": timedelta(days=1),
	"Weekly": timedelta(weeks=1),
}
RANDOM = re.compile(r"(?<![A-Z])R(?![A-Z])", re.IGNORECASE)
"""A field with R has a random value: croniter draws another at each reading, so there is no next time."""
MONTHS = {"Monthly": 1, "Yearly": 12}


@dataclass(frozen=True)
class Plan:
	"""Either `cron`, or every `count` of an `interval` from `start` on."""

	cron: str | None = None
	interval: str = ""
	count: int = 1
	start: datetime = datetime.min

	def next_due(self, after: datetime) -> datetime:
		"""The first due time after `after`. Raises ValueError if it is never due."""
		if self.cron:
			return croniter(self.cron, after).get_next(datetime)
		return next(self.iterate_interval(after))

	def last_due(self, now: datetime) -> datetime | None:
		"""The latest due time up to and including `now`, or None."""
		if self.cron:
			return croniter(self.cron, now + MICROSECOND).get_prev(datetime)
		number = self.find_number(now)
		number -= self.due(number) > now
		return self.due(number) if number >= 0 else None

	def between(self, begin: datetime, end: datetime) -> Iterator[datetime]:
		"""Due times after `begin`, up to and including `end`; none after the year 9999."""
		times = croniter(self.cron, begin).all_next(datetime) if self.cron else self.iterate_interval(begin)
		try:
			for due in times:
				if due > end:
					return
				yield due
		except (ValueError, OverflowError):
			return

	def iterate_interval(self, begin: datetime) -> Iterator[datetime]:
		number = self.find_number(begin)
		number += self.due(number) <= begin
		return map(self.due, count(number))

	def due(self, number: int) -> datetime:
		"""The due time of a number, from 0. Computed from the first one, so that the 31st stays the 31st."""
		if self.interval in STEPS:
			return self.start + number * self.count * STEPS[self.interval]
		return self.start + relativedelta(months=number * self.count * MONTHS[self.interval])

	def find_number(self, moment: datetime) -> int:
		"""The number of a due time at, or next to, a moment."""
		if moment < self.start:
			return 0
		if self.interval in STEPS:
			return (moment - self.start) // (self.count * STEPS[self.interval])
		months = (moment.year - self.start.year) * 12 + moment.month - self.start.month
		return months // (self.count * MONTHS[self.interval])


def check_cron(expression: str) -> str | None:
	"""What is wrong with a cron expression, or None."""
	if (
		RANDOM.search(expression)
		or not croniter.is_valid(expression)
		or not (expression.startswith("@") or len(expression.split()) == 5)
	):
		return _("It takes five fields: minute, hour, day, month and weekday, such as 0 9 * * 1-5.")
	try:
		croniter(expression, datetime(2000, 1, 1)).get_next(datetime)
	except ValueError:
		return _("There is no such day.")
	return None
