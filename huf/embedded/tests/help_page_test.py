"""Each page has a help text of two sentences that links to a help page in the app."""

import os

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import follow, needs_browser
from huf.embedded.tests.pages import PageTestCase

SECTIONS = (
	*("", "chat", "drafts", "runs", "costs", "agents", "triggers", "mail", "knowledge", "tools", "models"),
	*("packs", "records", "settings"),
)


@needs_browser
class TestHelpPage(PageTestCase):
	def test_each_section_has_a_two_sentence_help_and_links_to_its_help_page(self):
		with self.open_page("/huf") as page:
			for section in SECTIONS:
				with self.subTest(section):
					follow(page, f"/huf/{section}")
					page.get_by_test_id("help").click()
					help_text = page.get_by_test_id("help-text")
					text = help_text.locator("p").inner_text()
					self.assertEqual(text.count("."), 2, text)
					help_text.get_by_role("link").click()
					page.get_by_test_id("help-page").get_by_role("heading", level=1).first.wait_for()

	def test_the_way_back_leads_to_the_page_that_was_left_for_the_help(self):
		with self.open_page("/huf/drafts") as page:
			page.get_by_test_id("help").click()
			page.get_by_test_id("help-text").get_by_role("link").click()
			page.get_by_test_id("help-page").get_by_role("heading", level=1).first.wait_for()
			before = page.url
			link = page.get_by_test_id("help-page").locator("a[href^='/huf/help/']").first
			link.click()
			page.wait_for_url(lambda url: "/huf/help/" in url and url != before)
			self.assertEqual(len(page.context.pages), 1)
			page.get_by_test_id("up").filter(has_text="Back").click()
			page.wait_for_url("**/huf/drafts")
			page.goto("/huf/help/mcp")
			page.get_by_test_id("up").click()
			page.get_by_role("heading", name="Home").wait_for()

	def test_lines_of_the_documents_that_begin_with_code_are_joined(self):
		with self.open_page("/huf/help/approvals") as page:
			page.get_by_test_id("help-page").get_by_text("and reason. The run then goes on").wait_for()
			self.assertEqual(page.get_by_test_id("help-page").locator("p br").count(), 0)

	def test_help_pages_are_accessible_and_link_to_each_other(self):
		with self.open_page("/huf/help/approvals") as page:
			article = page.get_by_test_id("help-page")
			article.get_by_role("heading", level=1).wait_for()
			self.assertEqual(faults_of(page), [])
			if pictures := os.environ.get("HUF_PICTURES"):
				page.screenshot(path=f"{pictures}/help.png")
				page.get_by_test_id("theme-toggle").click()
				page.set_viewport_size({"width": 390, "height": 800})
				page.goto("/huf/runs")
				page.get_by_test_id("help").click()
				page.screenshot(path=f"{pictures}/help-phone.png")
			page.goto("/huf/help/there-is-none")
			page.get_by_text("There is no such help page").wait_for()
			page.goto("/huf/help/approvals")
			article.locator("a[href='/huf/help/untrusted-content']").first.wait_for()
