"""Wide and right-to-left answers on a phone."""

from collections.abc import Iterator
from contextlib import contextmanager

from huf.embedded.tests.browser import needs_browser, say
from huf.embedded.tests.pages import PageTestCase
from huf.tests.model_server import ModelServer, text

PHONE = {"width": 390, "height": 844}
WIDE = "| Customer | Note |\n|---|---|\n| Anna | " + "x" * 90 + " |\n"
RIGHT_TO_LEFT = "- שלום עולם\n- להתראות\n"
CUT_OFF = """() => {
	const isReached = (each) => each.parentElement.closest(".table-scroll, pre");
	const items = [...document.querySelectorAll("[data-testid=message-agent] *")];
	return items.filter((each) => each.getBoundingClientRect().right > innerWidth && !isReached(each)).map((each) => each.outerHTML);
}"""
"""Elements beyond the edge of the window that no scrolling reaches."""
MARKER_SPACE = """(list) => {
	const item = list.querySelector("li");
	return list.getBoundingClientRect().right - item.getBoundingClientRect().right;
}"""


@needs_browser
class TestWideAnswersPage(PageTestCase):
	def test_a_wide_table_scrolls_in_its_own_box_with_its_download_in_view(self):
		with self.ask(f"{WIDE}\nI have created {'y' * 90}.") as page:
			self.assertEqual(page.evaluate(CUT_OFF), [])

	def test_markers_of_a_right_to_left_list_are_within_the_answer(self):
		with self.ask(RIGHT_TO_LEFT) as page:
			self.assertGreater(page.locator("[data-testid=message-agent] ul").evaluate(MARKER_SPACE), 10)

	@contextmanager
	def ask(self, answer: str) -> Iterator:
		"""A phone's page with this answer."""
		with ModelServer() as model, self.open_page("about:blank", **PHONE) as page:
			model.script(text(answer))
			self.make("AI Provider", provide_name=model.base_url, api_key="sk-1", api_base=model.base_url)
			self.make("AI Model", model_name=model.base_url, model_id="scripted", provider=model.base_url)
			agent = self.make("Agent", agent_name=f"Writer {model.base_url[-8:-3]}", model=model.base_url)
			page.goto(f"/huf/chat?agent={agent['name']}")
			say(page, "Answer")
			yield page
