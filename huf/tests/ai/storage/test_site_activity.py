"""A site whose agents work counts as active, also if nobody signs in."""

from datetime import timedelta
from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.storage import site_activity
from huf.ai.storage.site_activity import record_activity
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_trigger


class TestSiteActivity(SiteTestCase):
	def test_a_schedule_counts_as_activity_once_a_day(self):
		trigger = make_trigger(make_agent(), "Schedule", cron="0 6 * * *", run_as="Administrator")
		self.addCleanup(frappe.delete_doc, "Agent Trigger", trigger.name)
		in_five_days = now_datetime() + timedelta(days=5)
		name = record_activity(in_five_days)
		self.assertTrue(frappe.db.exists("Activity Log", name), "nobody has signed in for five days")
		self.assertIsNone(record_activity(), "the last activity is new")

	def test_a_site_without_work_for_agents_is_left_dormant(self):
		in_five_days = now_datetime() + timedelta(days=5)
		with patch.object(site_activity, "is_in_use", return_value=False):
			self.assertIsNone(record_activity(in_five_days))

	def test_runs_and_mailboxes_count_as_use(self):
		rows = {"Agent Run": False, "Agent Trigger": False, "Agent Mailbox": False}
		with patch.object(frappe.db, "exists", lambda doctype, filters: rows[doctype]):
			self.assertFalse(site_activity.is_in_use(now_datetime()))
			for doctype in rows:
				rows[doctype] = True
				self.assertTrue(site_activity.is_in_use(now_datetime()), doctype)
				rows[doctype] = False
