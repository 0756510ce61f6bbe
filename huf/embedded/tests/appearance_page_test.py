"""Pages as a person first sees them: lists say that they are empty, records that they are switched off."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase


@needs_browser
class TestAppearancePage(PageTestCase):
	def test_a_site_without_people_says_that_nobody_is_invited(self):
		with self.open_page("/huf/people") as page:
			page.get_by_text("Nobody has been invited yet.").wait_for()
			page.get_by_test_id("people-search").fill("Eva")
			page.get_by_text("Nobody found.").wait_for()

	def test_mailboxes_and_rules_say_that_there_are_none_and_which_is_switched_off(self):
		with self.open_page("/huf/mail?view=rules", locale="de-DE") as page:
			page.get_by_text("Noch keine Regeln.").wait_for()
			page.goto("/huf/mail?view=mailboxes")
			page.get_by_text("Noch keine Postfächer.").wait_for()
			box = {"mailbox_name": "Office", "email": "office@office.example", "run_as": "Administrator"}
			self.make("Agent Mailbox", **box, enabled=0)
			page.reload()
			page.get_by_test_id("mailbox-item").get_by_text("ausgeschaltet").wait_for()

	def test_a_model_that_was_never_tested_has_no_result_of_a_test(self):
		self.make("AI Provider", provide_name="Zeta", api_key="sk-1", api_base="http://127.0.0.1:9/v1")
		self.make("AI Model", model_name="zeta-1", provider="Zeta")
		with self.open_page("/huf/models/zeta-1") as page:
			page.get_by_role("heading", name="Prices").wait_for()
			self.assertEqual(page.get_by_role("heading", name="Last Test").count(), 0)
