"""A lawyer's chat with Helena in German: a greeting, an answer with sources, and a deadline to approve."""

import unittest

from huf.embedded.tests.browser import needs_browser, open_page, say
from huf.embedded.tests.office import ANSWER_TIMEOUT_MS, CASE, DEADLINE, PROMPTS, SCRIPT, open_office


@needs_browser
class TestHelenaPage(unittest.TestCase):
	def test_german_chat_cites_sources_and_creates_an_approved_deadline(self):
		with open_office() as office, open_page(office.server.url) as page:
			page.set_default_timeout(ANSWER_TIMEOUT_MS)
			office.model.script(*SCRIPT)
			office.rest.sign_in(page)
			page.goto("/huf/chat?agent=Helena")
			page.get_by_text("Hi, ich bin Helena!").wait_for()
			self.assertEqual(page.locator("html").get_attribute("lang"), "de")
			say(page, PROMPTS[0])
			page.get_by_text("VIII ZR 271/17").last.wait_for()
			self.assertEqual(page.get_by_test_id("run-badge").get_attribute("data-mode"), "Inline")
			page.get_by_test_id("composer").fill(PROMPTS[1])
			page.get_by_test_id("send").click()
			page.get_by_text("Helena Frist neu anlegen").wait_for()
			filters = f'[["akte", "=", "{CASE}"], ["bezeichnung", "=", "{DEADLINE["bezeichnung"]}"]]'
			self.assertEqual(
				office.rest.method("frappe.client.get_count", doctype="Helena Frist", filters=filters), 0
			)
			page.get_by_role("button", name="Freigeben").click()
			page.locator("[data-testid=draft][data-status=Applied]").wait_for()
			self.assertEqual(
				office.rest.method("frappe.client.get_count", doctype="Helena Frist", filters=filters), 1
			)
