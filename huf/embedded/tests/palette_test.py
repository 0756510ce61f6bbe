"""The command palette opens pages, agents, runs, conversations and permitted records by keyboard."""

from huf.embedded.tests.browser import needs_browser, say
from huf.embedded.tests.pages import PageTestCase

CLERK = "clerk@example.com"


@needs_browser
class TestPalette(PageTestCase):
	def open_entry(self, page, words: str, entry: str) -> None:
		page.keyboard.press("Control+k")
		page.get_by_test_id("palette-text").fill(words)
		page.get_by_test_id("palette-entry").filter(has_text=entry).first.wait_for()
		for _ in range(20):
			if entry in page.locator("[data-testid=palette-entry][data-highlighted]").inner_text():
				break
			page.keyboard.press("ArrowDown")
		page.keyboard.press("Enter")
		page.get_by_test_id("palette").wait_for(state="detached")

	def test_everything_is_reached_without_a_mouse(self):
		self.make("ToDo", description="Water the plants")
		with self.open_page() as page:
			say(page, "How many users are there?")
			self.open_entry(page, "sett", "Settings")
			page.wait_for_url("**/huf/settings")
			self.open_entry(page, "office", "Agent · Looks up")
			page.wait_for_url("**/huf/agents/Office%20Assistant")
			self.open_entry(page, "how many", "Conversation · Office")
			page.get_by_test_id("run-footer").wait_for()
			self.open_entry(page, "how many", "Run · Office")
			page.locator("[data-testid=run][data-status=Success]").wait_for()
			self.open_entry(page, "plants", "Record · ToDo")
			page.wait_for_url("**/huf/records/ToDo/*")
			self.open_entry(page, "chat with off", "Chat with Office Assistant")
			page.get_by_test_id("composer").wait_for()
			self.open_entry(page, "dark", "Switch to dark")
			page.locator("html[data-theme=dark]").wait_for(state="attached")

	def test_search_does_not_find_conversations_of_other_users(self):
		self.add_user(CLERK, "Huf User")
		with self.open_page() as page:
			say(page, "How many users are there in secret?")
		found = self.call("/api/method/huf.api.record.find?text=secret", user=CLERK)["message"]
		self.assertEqual(found, [])
		self.assertTrue(self.call("/api/method/huf.api.record.find?text=secret")["message"])
