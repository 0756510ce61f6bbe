"""Forms and lists in Desk: tabs, columns, descriptions, and scripts that show values in readable form."""

import re
from pathlib import Path

import frappe

from huf.tests.base import SiteTestCase

DOCTYPES = Path(__file__).resolve().parents[1] / "huf" / "doctype"
LAYOUT = ("Section Break", "Column Break", "Tab Break")


def read_script(doctype: str, kind: str = "") -> str:
	folder = frappe.scrub(doctype)
	return (DOCTYPES / folder / f"{folder}{kind}.js").read_text()


class TestForms(SiteTestCase):
	def test_the_first_tab_of_an_agent_has_what_every_agent_needs(self):
		fields = frappe.get_meta("Agent").fields
		first = next(index for index, df in enumerate(fields) if df.fieldtype == "Tab Break")
		first_tab = [df.fieldname for df in fields[:first] if df.fieldtype not in LAYOUT]
		for needed in ("agent_name", "model", "instructions", "agent_tool", "knowledge"):
			self.assertIn(needed, first_tab)
		self.assertLessEqual(len(first_tab), 10)
		required = [df.fieldname for df in fields[first:] if df.reqd and not df.default]
		self.assertEqual(required, [])

	def test_a_run_shows_no_zero_confidence_or_tier(self):
		meta = frappe.get_meta("Agent Run")
		self.assertEqual(meta.get_field("confidence").depends_on, "eval:doc.route")
		self.assertEqual(meta.get_field("tier").depends_on, "eval:doc.tier")
		self.assertFalse(meta.get_field("model").description)

	def test_the_trigger_form_explains_run_as_for_administrator(self):
		self.assertIn("Administrator", frappe.get_meta("Agent Trigger").get_field("run_as").description)
		self.assertIn('frappe.session.user !== "Administrator"', read_script("Agent Trigger"))


class TestLists(SiteTestCase):
	def test_the_trigger_event_list_shows_reasons_and_readable_event_names(self):
		self.assertTrue(frappe.get_meta("Agent Trigger Event").get_field("reason").in_list_view)
		named = set(re.findall(r"^\t(\w+): __\(", read_script("Agent Trigger Event", "_list"), re.MULTILINE))
		events = frappe.get_meta("Agent Trigger").get_field("doc_event").options.split()
		self.assertEqual(set(events) - named, set())

	def test_buttons_lead_to_doctypes_that_the_desk_opens(self):
		for script in DOCTYPES.glob("*/*.js"):
			for doctype in re.findall(r'set_route\("(?:List|Form)", "([^"]+)"', script.read_text()):
				with self.subTest(script.name, doctype=doctype):
					meta = frappe.get_meta(doctype)
					self.assertTrue(meta.permissions)
					self.assertFalse(meta.read_only)

	def test_costs_that_are_not_known_are_not_shown_as_zero(self):
		for doctype, kind, field in (
			("Agent Run", "", "unpriced_calls"),
			("Agent Run", "_list", "unpriced_calls"),
			("Agent LLM Call", "", "cost_known"),
			("Agent Route Decision", "", "cost_known"),
		):
			with self.subTest(doctype, kind=kind):
				script = read_script(doctype, kind)
				self.assertRegex(script, rf'doc\??\.{field}( \?|\)?)[^\n]*__\("unknown"\)')
				self.assertTrue(frappe.get_meta(doctype).get_field(field))
