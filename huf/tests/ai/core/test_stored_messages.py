"""Messages that records store in English are shown in the reader's language, with their values."""

import frappe

from huf.ai.core.errors import add_details
from huf.ai.core.stored_messages import translate_stored
from huf.ai.evals.cases import parse_case
from huf.ai.evals.checks import FAULTS, CheckContext, Trace, TracedCall, find_faults
from huf.ai.mail.stored_reasons import REASONS, SUMMARIES, translate_reason, translate_summary
from huf.tests.base import SiteTestCase

LANGUAGES = ("de", "es", "cs")
CHECKS = """
expect:
- says: cheap
- says_not: three
- matches: "[0-9]"
- {calls: find, times: 2}
- calls: note
- {calls: find, with: {of: books}}
- calls_not: find
- fails: find
- {fails: find, with: {of: cars}, error: full}
- {record: ToDo, values: {status: Open}}
- {record: ToDo, count: 3}
- ends: Stopped
"""


class TestStoredMessages(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"

	def test_values_and_details_stay_in_a_translated_reason(self):
		reason = "It failed several times. anna@x.example has already answered"
		self.assertEqual(
			translate_reason(reason), "Es ist mehrmals fehlgeschlagen. anna@x.example hat schon geantwortet"
		)
		self.assertEqual(
			translate_reason(add_details("ben@x.example has already answered", "By {user}")),
			add_details("ben@x.example hat schon geantwortet", "By {user}"),
		)
		self.assertEqual(translate_summary("By clara@x.example"), "Von clara@x.example")
		nested = "It failed several times. A manager finds the reason in the Error Log."
		self.assertIn("Ein Manager findet den Grund", translate_reason(nested))

	def test_unknown_and_empty_texts_are_left_as_they_are(self):
		for text in (None, "", "Something of a provider", "Something\nDetails: of a provider"):
			self.assertEqual(translate_reason(text), text)

	def test_every_message_of_a_check_is_translated(self):
		call = TracedCall("find", {"of": "cars"}, True, "3")
		trace = Trace("There are three.", (call,), "Failed", "It broke")
		rows = [{"name": "T1", "status": "Closed"}]
		case = parse_case("one", "Clerk", "?", CHECKS)
		faults = find_faults(case, trace, CheckContext(lambda check: rows, lambda question: None))
		self.assertEqual(len(faults), len(case.expect), faults)
		for fault in faults:
			with self.subTest(fault):
				self.assertNotEqual(translate_stored(fault, FAULTS), fault)

	def test_every_message_with_places_has_its_places_in_each_language(self):
		for language in LANGUAGES:
			frappe.local.lang = language
			for template in (*FAULTS, *REASONS, *SUMMARIES):
				with self.subTest(f"{language}: {template}"):
					translated = frappe._(template)
					self.assertNotEqual(translated, template)
					places = [part.split("}")[0] for part in template.split("{")[1:]]
					self.assertTrue(all(f"{{{place}}}" in translated for place in places))
