"""A deletion hides its item at once, can be undone, is sent on leaving, and is reverted when refused."""

import time
import urllib.error

from huf.embedded.tests.browser import needs_browser, say
from huf.embedded.tests.pages import PageTestCase


@needs_browser
class TestDeletions(PageTestCase):
	def exists(self, path: str) -> bool:
		try:
			return bool(self.call(f"/api/resource/{path}"))
		except urllib.error.HTTPError as error:
			self.assertEqual(error.code, 404)
			return False

	def wait_until_gone(self, path: str) -> None:
		end = time.monotonic() + 20
		while self.exists(path) and time.monotonic() < end:
			time.sleep(0.1)
		self.assertFalse(self.exists(path))

	def open_page_of(self, user: str, **options):
		"""The chat of a new user, who has no other chats."""
		self.add_user(user, "Huf User")
		return self.open_page(user=user, **options)

	def test_deleted_chat_is_hidden_at_once_and_restored_by_undo(self):
		with self.open_page("/huf/chat") as page:
			say(page, "How many users are there?")
			item = page.get_by_test_id("conversation-item")
			item.hover()
			item.get_by_role("button").click()
			page.get_by_role("menuitem").last.click()
			page.get_by_test_id("deletion").wait_for()
			self.assertEqual(item.count(), 0)
			page.get_by_test_id("undo-deletion").press("Enter")
			item.wait_for()
			page.wait_for_timeout(11_000)
			page.reload()
			item.wait_for()

	def test_after_a_deletion_by_keyboard_the_focus_is_on_the_next_chat_or_the_search(self):
		with self.open_page_of("focus@example.com") as page:
			for title in ("First", "Second", "Third"):
				page.goto("/huf/chat")
				say(page, title)
			items = page.get_by_test_id("conversation-item")
			page.goto("/huf/chat")
			for title, focused in (("Second", "First"), ("First", "Third"), ("Third", None)):
				items.filter(has_text=title).get_by_role("button").press("Enter")
				page.get_by_role("menuitem").last.press("Enter")
				items.filter(has_text=title).wait_for(state="detached")
				link = items.filter(has_text=focused or "").get_by_role("link")
				expected = link if focused else page.get_by_test_id("history-search")
				expected.and_(page.locator(":focus")).wait_for()

	def test_a_deletion_is_undone_by_keys_except_in_a_field(self):
		with self.open_page_of("keys@example.com") as page:
			say(page, "Fifth")
			page.goto("/huf/chat")
			item = page.get_by_test_id("conversation-item").filter(has_text="Fifth")
			item.get_by_role("button").press("Enter")
			page.get_by_role("menuitem").last.press("Enter")
			page.get_by_test_id("deletion").wait_for()
			page.get_by_test_id("composer").press("Control+z")
			page.get_by_test_id("deletion").wait_for()
			page.get_by_test_id("new-chat").press("Control+z")
			item.wait_for()
			page.get_by_test_id("deletion").wait_for(state="detached")

	def test_a_screen_reader_is_told_of_a_deletion_in_the_open_drawer(self):
		with self.open_page_of("drawer@example.com", width=360, height=640) as page:
			say(page, "Fourth, with a title that is too long for one line of a narrow window")
			page.get_by_test_id("show-sidebar").press("Enter")
			item = page.get_by_role("dialog").get_by_test_id("conversation-item")
			item.filter(has_text="Fourth").get_by_role("button").press("Enter")
			page.get_by_role("menuitem").last.press("Enter")
			# Not found where it is hidden from assistive technology.
			page.get_by_role("button", name="Undo").wait_for()
			words = page.get_by_test_id("deletion").locator("span")
			self.assertFalse(
				words.evaluate("(span) => span.scrollWidth > span.clientWidth"), "its end is cut off"
			)

	def test_leaving_the_page_sends_a_pending_deletion(self):
		note = self.make("ToDo", description="Leave")["name"]
		with self.open_page(f"/huf/records/ToDo/{note}") as page:
			page.get_by_test_id("delete-record").click()
			page.get_by_test_id("deletion").wait_for()
			self.assertTrue(self.exists(f"ToDo/{note}"))
			page.goto("about:blank")
			self.wait_until_gone(f"ToDo/{note}")

	def test_refused_deletion_restores_the_item_and_shows_the_error(self):
		values = {"types": "Get List", "reference_doctype": "ToDo", "description": "List to-dos"}
		self.make("Agent Tool Function", tool_name="kept_tool", **values)
		self.make("Agent", agent_name="Keeper", instructions="Keep.", agent_tool=[{"tool": "kept_tool"}])
		with self.open_page("/huf/tools/kept_tool") as page:
			page.get_by_test_id("delete-tool").click()
			page.wait_for_url("**/huf/tools")
			item = page.locator("[data-testid=tool-item][data-name=kept_tool]")
			page.get_by_test_id("tool-item").first.wait_for()
			self.assertEqual(item.count(), 0)
			page.get_by_test_id("error").wait_for()
			item.wait_for()
		self.assertTrue(self.exists("Agent%20Tool%20Function/kept_tool"))
