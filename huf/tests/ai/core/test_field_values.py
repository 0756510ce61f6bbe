"""Field values of a wrong type or range are refused with a clear message."""

from contextlib import suppress

import frappe

from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, unique

INVALID_VALUES = (
	("Agent", {"temperature": "hot"}, "Temperature must be a number"),
	("Agent", {"daily_cost_limit": "ten"}, "must be a number"),
	("Agent", {"daily_cost_limit": "0,50"}, "must be a number"),
	("Agent", {"daily_cost_limit": "0,500"}, "must be a number"),
	("Agent", {"daily_cost_limit": "1.500,00"}, "must be a number"),
	("Agent Tool Function", {"types": "GetList"}, "Type cannot be GetList. Choose one of: Get Document, "),
	("Agent Trigger", {"scheduled_interval": "Fortnightly"}, "cannot be Fortnightly"),
	("Agent Trigger", {"scheduled_interval": "Daily", "interval_count": "x"}, "must be a number"),
	("Agent Trigger", {"scheduled_interval": "Daily", "starts_on": "tomorrow"}, "must be a date and time"),
	("Agent Trigger", {"scheduled_interval": "Daily", "interval_count": 4_000_000}, "too many"),
	("Agent Trigger", {"scheduled_interval": "Yearly", "interval_count": 10**22}, "at most 2147483647"),
	("Agent Trigger", {"scheduled_interval": "Daily", "starts_on": "2030-01-02T10:00:00Z"}, "date and time"),
	("Agent Trigger", {"scheduled_interval": "Daily", "starts_on": 5}, "must be a date and time"),
	("AI Model", {"input_price": "cheap"}, "must be a number"),
	("AI Model", {"input_price": "nan"}, "must be a number"),
	("AI Model", {"input_price": "inf"}, "must be a number"),
	("AI Model", {"input_price": 10**13}, "at most 999999999999"),
	("Agent Tool Function", {"types": ""}, "Type is missing"),
	("Agent Tool Function", {"parameters": [{}]}, "cannot be a parameter's name"),
	("Agent Memory", {"expires_on": "soon"}, "must be a date"),
	("Agent Memory", {"expires_on": 5}, "must be a date"),
	("Agent Memory", {"expires_on": "3 May 2030"}, "must be a date"),
	("Agent Memory", {"expires_on": "-1-1-1"}, "must be a date"),
	("Huf User Settings", {"away_until": "2030-05-03T10:00:00Z"}, "must be a date"),
	("Agent Trigger", {"scheduled_interval": "Daily", "starts_on": "3 May 2030 at 5pm"}, "date and time"),
	("Huf User Settings", {"away_until": "soon"}, "must be a date"),
)
NUMBERS_AS_TEXT = (
	("AI Provider", "api_base"),
	("Agent Tool Function", "base_url"),
	("Agent Trigger", "webhook_secret"),
	("Agent Memory", "fact"),
	("Knowledge Source", "urls"),
	("Agent Eval Case", "definition"),
	("Agent Mailbox", "email"),
	("Agent Route Rule", "rule_name"),
	("MCP Server", "server_name"),
	("MCP Server Connection", "url"),
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
			"Agent Memory": {"fact": "Anna likes tea", "scope": "User"},
			"Huf User Settings": {"user": "Administrator"},
		}[doctype]
		if doctype == "Agent Trigger":
			required["agent"] = make_agent()
		return frappe.get_doc({"doctype": doctype, **required, **values}).insert()

	def test_invalid_field_value_is_refused_with_its_reason(self):
		for doctype, values, message in INVALID_VALUES:
			with self.subTest(doctype, **values):
				with self.assertRaisesRegex(frappe.ValidationError, message):
					self.make(doctype, **values)

	def test_number_in_a_text_field_becomes_text(self):
		for doctype, field in NUMBERS_AS_TEXT:
			doc = frappe.get_doc({"doctype": doctype, field: 5})
			with self.subTest(doctype), suppress(frappe.ValidationError):
				doc.run_method("validate")
			self.assertEqual(doc.get(field), "5", doctype)

	def test_too_large_or_non_finite_settings_are_refused(self):
		too_large = (
			("history_limit", 10**22),
			("draft_expiry_hours", 2_000_000_000),
			("run_cost_limit", 1e300),
		)
		for field, value in (*too_large, ("run_cost_limit", "nan"), ("user_daily_cost_limit", "inf")):
			settings = frappe.get_doc("Huf Settings")
			settings.set(field, value)
			message = "can be at most" if (field, value) in too_large else "must be a number"
			with self.subTest(field), self.assertRaisesRegex(frappe.ValidationError, message):
				settings.save()

	def test_site_token_limit_may_exceed_32_bits(self):
		settings = frappe.get_doc("Huf Settings")
		settings.site_monthly_token_limit = 3_000_000_000
		settings.save()
		frappe.db.rollback()

	def test_numbers_and_times_as_text_from_forms_are_accepted(self):
		agent = self.make("Agent", temperature="0.5", daily_cost_limit="1,000").reload()
		self.assertEqual((agent.temperature, agent.daily_cost_limit), (0.5, 1000))
		self.make("Agent Trigger", scheduled_interval="Daily", interval_count="2", starts_on="2030-01-02")
		self.make("Agent Tool Function", max_result_chars="", effect="")
