"""Costs by day and group of the runs that a user may read, used budgets, and the forecast for the month."""

from datetime import date, datetime

import frappe
from frappe.utils import add_days, now_datetime, today

from huf.ai.chat.messages import send_agent_chat_message
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.queries.costs import elapsed_share, find_deletion
from huf.ai.storage.limits import AGENT, build_limit
from huf.api import cost as api
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_user


class TestCost(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.owner, self.manager = make_user("Huf User"), make_user("Huf User", "Huf Manager")
		self.agent = make_agent(daily_cost_limit=5)
		with acting_as(self.owner):
			runs = [send_agent_chat_message(self.agent, "Count")["run"] for _ in range(2)]
		for run, values in zip(
			runs, ({"total_cost": 1.25}, {"total_cost": 0.5, "unpriced_calls": 1}), strict=True
		):
			frappe.db.set_value("Agent Run", run, values, update_modified=False)
			calls = {"cost": values["total_cost"], "cost_known": int("unpriced_calls" not in values)}
			frappe.db.set_value("Agent LLM Call", {"run": run}, calls, update_modified=False)

	def read(self, user: str, group: str = "Agent") -> dict:
		with acting_as(user):
			return api.get_costs(today(), today(), group)

	def test_costs_add_up_by_day_and_group(self):
		for group, name in (
			("Agent", self.agent),
			("User", self.owner),
			("Trigger", None),
			("Model", "Offline"),
		):
			costs = self.read(self.owner, group)
			(row,) = costs["groups"]
			self.assertEqual((row["grouped"] or None, row["runs"], row["cost"]), (name, 2, 1.75), group)
		(day,) = costs["days"]
		self.assertEqual((day["day"], day["runs"], day["cost"], day["unpriced"]), (today(), 2, 1.75, 1))
		self.assertEqual(costs["month"]["spent"], 1.75)
		self.assertGreaterEqual(costs["month"]["forecast"], 1.75)

	def test_a_user_sees_no_costs_and_no_budgets_of_others(self):
		costs = self.read(make_user("Huf User"))
		self.assertEqual((costs["groups"], costs["budgets"], costs["days"][0]["cost"]), ([], [], 0))
		with acting_as(make_user()), self.assertRaises(frappe.PermissionError):
			api.get_costs(today(), today())

	def test_manager_sees_the_used_budget_of_an_agent(self):
		limit = build_limit(AGENT, self.agent, self.agent)
		budget = {"doctype": "Agent Budget", "scope": "agent", "holder": self.agent, "cost": 2, "tokens": 30}
		frappe.get_doc({**budget, "period": today()}).insert(
			ignore_permissions=True, set_name=limit.budget(now_datetime())
		)
		(row,) = [each for each in self.read(self.manager)["budgets"] if each["holder"] == self.agent]
		self.assertEqual((row["scope"], row["cost_limit"], row["cost"], row["tokens"]), ("agent", 5, 2, 30))

	def test_periods_and_groups_that_make_no_sense_are_refused(self):
		for arguments in (
			("x", today()),
			("2026-02-01", "2026-01-01"),
			("2020-01-01", today()),
			(today(), today(), "Mood"),
		):
			with self.assertRaises(UsageError):
				api.get_costs(*arguments)

	def test_costs_say_that_runs_of_the_period_are_deleted(self):
		self.addCleanup(set_days_to_keep, 0)
		for days, first, expected in (
			(0, "2026-01-01", None),
			(40, "2026-02-10", None),
			(40, "2026-02-01", 40),
		):
			set_days_to_keep(days)
			now = datetime(2026, 3, 20, 0, 30)
			self.assertEqual(find_deletion(date.fromisoformat(first), now), expected, (days, first))
		self.assertEqual(api.get_costs(add_days(today(), -60), today())["deleted_after"], 40)

	def test_a_forecast_takes_at_least_a_day_as_elapsed(self):
		self.assertEqual(elapsed_share(datetime(2026, 4, 1, 0, 5)), 1 / 30)
		self.assertEqual(elapsed_share(datetime(2026, 4, 16)), 0.5)


def set_days_to_keep(days: int):
	frappe.db.set_single_value("Huf Settings", "keep_runs_days", days)
	frappe.db.commit()
