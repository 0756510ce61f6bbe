"""Due times of cron expressions and intervals, without a site."""

import unittest
from datetime import datetime
from itertools import islice

from huf.ai.triggers.due_times import Plan, check_cron


def at(text: str) -> datetime:
	return datetime.fromisoformat(text)


class TestPlan(unittest.TestCase):
	def test_next_due_is_after_now_and_last_due_is_not(self):
		for plan in (Plan(cron="0 * * * *"), Plan(interval="Hourly", start=at("2026-01-01 00:00"))):
			with self.subTest(plan):
				for now in (
					"2026-03-01 10:00:00",
					"2026-03-01 10:00:00.000001",
					"2026-03-01 10:59:59.999999",
				):
					self.assertEqual(plan.next_due(at(now)), at("2026-03-01 11:00"))
					self.assertEqual(plan.last_due(at(now)), at("2026-03-01 10:00"))

	def test_interval_is_counted_from_its_start(self):
		plan = Plan(interval="Daily", count=3, start=at("2026-01-01 08:30"))
		due = list(plan.between(at("2026-01-01 08:30"), at("2026-01-08 00:00")))
		self.assertEqual(due, [at("2026-01-04 08:30"), at("2026-01-07 08:30")])
		self.assertIsNone(plan.last_due(at("2026-01-01 08:29")))
		self.assertEqual(plan.next_due(at("2025-06-01 00:00")), at("2026-01-01 08:30"))

	def test_short_month_does_not_shift_the_following_months(self):
		plan = Plan(interval="Monthly", start=at("2026-01-31 09:00"))
		due = [moment.strftime("%m-%d") for moment in islice(plan.between(plan.start, datetime.max), 3)]
		self.assertEqual(due, ["02-28", "03-31", "04-30"])
		self.assertEqual(plan.last_due(at("2026-03-31 08:59")), at("2026-02-28 09:00"))

	def test_yearly_interval_handles_leap_days(self):
		plan = Plan(interval="Yearly", count=2, start=at("2024-02-29 00:00"))
		self.assertEqual(plan.next_due(at("2026-01-01 00:00")), at("2026-02-28 00:00"))
		self.assertEqual(plan.next_due(at("2026-03-01 00:00")), at("2028-02-29 00:00"))

	def test_cron_expression_needs_five_fields_and_an_existing_day(self):
		for good in ("0 9 * * 1-5", "*/5 * * * *", "@daily"):
			self.assertIsNone(check_cron(good), good)
		for bad in ("", "0 9 * *", "* * * * * *", "61 * * * *", "every day", "R R * * *", "0 r(1-5) * * *"):
			self.assertIn("five fields", check_cron(bad), bad)
		self.assertIn("no such day", check_cron("0 0 31 2 *"))
