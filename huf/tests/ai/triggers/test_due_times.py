"""Due times, without a site."""

import unittest
from datetime import datetime
from itertools import islice

from huf.ai.triggers.due_times import Plan, check_cron


def at(text: str) -> datetime:
	return datetime.fromisoformat(text)


class TestPlan(unittest.TestCase):
	def test_the_next_time_is_later_and_the_last_one_is_not(self):
		for plan in (Plan(cron="0 * * * *"), Plan(interval="Hourly", start=at("2026-01-01 00:00"))):
			with self.subTest(plan):
				for now in (
					"2026-03-01 10:00:00",
					"2026-03-01 10:00:00.000001",
					"2026-03-01 10:59:59.999999",
				):
					self.assertEqual(plan.next_due(at(now)), at("2026-03-01 11:00"))
					self.assertEqual(plan.last_due(at(now)), at("2026-03-01 10:00"))

	def test_an_interval_is_counted_from_its_first_time(self):
		plan = Plan(interval="Daily", count=3, start=at("2026-01-01 08:30"))
		due = list(plan.between(at("2026-01-01 08:30"), at("2026-01-08 00:00")))
		self.assertEqual(due, [at("2026-01-04 08:30"), at("2026-01-07 08:30")])
		self.assertIsNone(plan.last_due(at("2026-01-01 08:29")))
		self.assertEqual(plan.next_due(at("2025-06-01 00:00")), at("2026-01-01 08:30"))

	def test_a_month_that_is_too_short_does_not_shorten_the_next(self):
		plan = Plan(interval="Monthly", start=at("2026-01-31 09:00"))
		due = [moment.strftime("%m-%d") for moment in islice(plan.between(plan.start, datetime.max), 3)]
		self.assertEqual(due, ["02-28", "03-31", "04-30"])
		self.assertEqual(plan.last_due(at("2026-03-31 08:59")), at("2026-02-28 09:00"))

	def test_years_are_counted_too(self):
		plan = Plan(interval="Yearly", count=2, start=at("2024-02-29 00:00"))
		self.assertEqual(plan.next_due(at("2026-01-01 00:00")), at("2026-02-28 00:00"))
		self.assertEqual(plan.next_due(at("2026-03-01 00:00")), at("2028-02-29 00:00"))

	def test_a_cron_expression_has_five_fields_and_a_day_that_comes(self):
		for good in ("0 9 * * 1-5", "*/5 * * * *", "@daily"):
			self.assertIsNone(check_cron(good), good)
		for bad in ("", "0 9 * *", "* * * * * *", "61 * * * *", "every day", "R R * * *", "0 r(1-5) * * *"):
			self.assertIn("five fields", check_cron(bad), bad)
		self.assertIn("no such day", check_cron("0 0 31 2 *"))
