"""Reasons that mails store in English are shown in the reader's language, with their values."""

import frappe

from huf.ai.core.errors import add_details
from huf.ai.mail.stored_reasons import REASONS, SUMMARIES, translate_reason, translate_summary
from huf.tests.base import SiteTestCase

LANGUAGES = ("de", "es", "cs")


class TestStoredReasons(SiteTestCase):
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

	def test_every_message_with_places_has_its_places_in_each_language(self):
		for language in LANGUAGES:
			frappe.local.lang = language
			for template in (*REASONS, *SUMMARIES):
				with self.subTest(f"{language}: {template}"):
					translated = frappe._(template)
					self.assertNotEqual(translated, template)
					places = [part.split("}")[0] for part in template.split("{")[1:]]
					self.assertTrue(all(f"{{{place}}}" in translated for place in places))
