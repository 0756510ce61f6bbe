"""Values of a wrong type are refused in a sentence, before anything reckons with them."""

import frappe

from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, unique

WRONG = (
	("Agent", {"temperature": "hot"}, "Temperature must be a number"),
	("Agent", {"daily_cost_limit": "ten"}, "must be a number"),
	("Agent Tool Function", {"types": "GetList"}, "Type cannot be GetList. Choose one of: Get Document, "),
	("Agent Trigger", {"scheduled_interval": "Fortnightly"}, "cannot be Fortnightly"),
	("Agent Trigger", {"scheduled_interval": "Daily", "interval_count": "x"}, "must be a number"),
	("Agent Trigger", {"scheduled_interval": "Daily", "starts_on": "tomorrow"}, "must be a date and time"),
	("Agent Trigger", {"scheduled_interval": "Daily", "interval_count": 4_000_000}, "too many"),
	("Agent Trigger", {"scheduled_interval": "Yearly", "interval_count": 10**22}, "at most 2147483647"),
	("AI Model", {"input_price": "cheap"}, "must be a number"),
)


class TestFieldValues(SiteTestCase):
	def make(self, doctype: str, **values):
		required = {
			"Agent": {"agent_name": unique("agent")},
			"Agent Tool Function": {
				"tool_name": frappe.scrub(unique("tool")).replace(" ", "_"),
				"types": "Get List",
				"reference_doctype": "ToDo",
				"description": "Lists to-dos",
			},
			"Agent Trigger": {
				"trigger_name": unique("trigger"),
				"trigger_type": "Schedule",
				"run_as": "Administrator",
			},
			"AI Model": {"model_name": unique("model")},
		}[doctype]
		if doctype == "Agent Trigger":
			required["agent"] = make_agent()
		return frappe.get_doc({"doctype": doctype, **required, **values}).insert()

	def test_a_wrong_value_is_named(self):
		for doctype, values, message in WRONG:
			with self.subTest(doctype, **values):
				with self.assertRaisesRegex(frappe.ValidationError, message):
					self.make(doctype, **values)

	def test_settings_hold_no_number_that_would_end_runs(self):
		for field, value in (("history_limit", 10**22), ("draft_expiry_hours", 2_000_000_000)):
			settings = frappe.get_doc("Huf Settings")
			settings.set(field, value)
			with self.subTest(field), self.assertRaisesRegex(frappe.ValidationError, "can be at most"):
				settings.save()

	def test_a_limit_of_the_site_may_be_larger_than_a_column(self):
		settings = frappe.get_doc("Huf Settings")
		settings.site_monthly_token_limit = 3_000_000_000
		settings.save()
		frappe.db.rollback()

	def test_numbers_and_times_as_forms_send_them(self):
		agent = self.make("Agent", temperature="0.5", daily_cost_limit="1,000").reload()
		self.assertEqual((agent.temperature, agent.daily_cost_limit), (0.5, 1000))
		self.make("Agent Trigger", scheduled_interval="Daily", interval_count="2", starts_on="2030-01-02")
		self.make("Agent Tool Function", max_result_chars="", effect="")
