"""Packs are inspected, installed, updated and removed on the page, which lists what is deleted with them."""

from huf.embedded.tests.browser import needs_browser, say
from huf.embedded.tests.pages import PageTestCase

READER = "reader@example.com"


@needs_browser
class TestPacksPage(PageTestCase):
	def test_pack_is_installed_used_updated_and_removed(self):
		with self.open_page("/huf/packs") as page:
			row = page.locator("[data-testid=pack][data-name=sales_report]")
			row.get_by_test_id("brings").click()
			self.assertIn("Sales Analyst", row.get_by_test_id("contents").inner_text())
			row.get_by_test_id("install").click()
			row.get_by_test_id("installed").wait_for()
			self.assertRegex(row.get_by_test_id("report").inner_text(), r"^\d+ new")
			page.goto("/huf/chat?agent=Sales%20Analyst")
			say(page, "Sales report for EMEA in 2024")
			self.assertIn("EUR 12,575.00", page.get_by_test_id("message-agent").inner_text())
			page.goto("/huf/packs")
			row.get_by_test_id("update").click()
			self.assertEqual(row.get_by_test_id("report").inner_text(), "No changes")
			row.get_by_test_id("remove").click()
			confirmation = page.get_by_role("alertdialog").inner_text()
			self.assertIn("deleted too: 1 Agent Conversation", confirmation)
			page.get_by_test_id("confirm").click()
			page.locator("[data-testid=pack][data-name=sales_report][data-installed='']").wait_for()
			self.assertEqual(row.get_by_test_id("report").inner_text(), "The pack was removed.")

	def test_update_report_names_a_local_change_that_is_kept(self):
		self.call("/api/method/huf.api.pack.install", {"name": "web_assistant"})
		self.call("/api/resource/Agent/Web%20Assistant", {"temperature": 0.9}, "PUT")
		with self.open_page("/huf/packs") as page:
			row = page.locator("[data-testid=pack][data-name=web_assistant]")
			row.get_by_test_id("update").click()
			self.assertIn(
				"temperature was changed here and is kept", row.get_by_test_id("report").inner_text()
			)
			row.get_by_test_id("remove").click()
			self.assertNotIn("are deleted too", page.get_by_role("alertdialog").inner_text())
			page.get_by_role("button", name="Cancel").click()
			row.get_by_test_id("installed").wait_for()

	def test_packs_page_is_hidden_from_users_without_the_manager_role(self):
		self.add_user(READER, "Huf User")
		with self.open_page("/huf/packs", user=READER) as page:
			page.get_by_test_id("error").wait_for()
			self.assertEqual(page.get_by_role("link", name="Packs").count(), 0)
