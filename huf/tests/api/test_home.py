"""The start page counts runs by day: users see their own runs, managers see all."""

from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.queries import daily_counts
from huf.api import home
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_user


def today(page: dict) -> dict:
	return page["days"][-1]


class TestHome(SiteTestCase):
	def make_run(self, owner: str, status: str, **values) -> str:
		run = frappe.get_doc(
			{"doctype": "Agent Run", "agent": self.agent, "status": status, **values}
		).insert()
		frappe.db.set_value("Agent Run", run.name, "owner", owner, update_modified=False)
		return run.name

	@patch.object(daily_counts, "MAX_UNCACHED_RUNS", float("inf"))
	def test_user_sees_daily_counts_of_own_runs(self):
		self.agent, user, other = make_agent(), make_user("Huf User"), make_user("Huf User")
		self.make_run(user, "Success", total_cost=0.5)
		self.make_run(user, "Started")
		failed = self.make_run(user, "Failed", unpriced_calls=1)
		self.make_run(other, "Success", total_cost=2)
		frappe.set_user(user)
		page = home.get_home()
		day = {"done": 1, "failed": 1, "other": 1, "cost": 0.5, "unpriced": 1}
		self.assertEqual(today(page), {"day": str(now_datetime().date()), **day})
		self.assertEqual((len(page["days"]), len(page["running"])), (30, 1))
		self.assertEqual([run["name"] for run in page["failures"]], [failed])
		self.assertIsNone(page["setup"])

	@patch.object(daily_counts, "MAX_UNCACHED_RUNS", float("inf"))
	def test_manager_sees_runs_of_all_users_and_the_setup_state(self):
		before = today(home.get_home())["done"]
		self.agent = make_agent()
		self.make_run(make_user("Huf User"), "Success")
		page = home.get_home()
		self.assertEqual(today(page)["done"], before + 1)
		self.assertIn(self.agent, page["setup"]["own_agents"])
		self.assertTrue(page["setup"]["has_run"])
