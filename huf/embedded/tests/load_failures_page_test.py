"""What could not be loaded is replaced by the reason and a button to try again."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase

TRIGGER = "Every morning"
REQUESTS = (
	("/huf/knowledge", "get_sources", "sources-empty"),
	("/huf/settings", "get_record", "record-form"),
	("/huf/programs", "diagnose", "programs"),
	("/huf/records/ToDo", "get_meta", "records-empty"),
	("/huf/records/ToDo", "get_records", "records-empty"),
	(f"/huf/triggers/{TRIGGER}", "get_events", "events-empty"),
)
"""Addresses, a method of the site that fails, and what is there when it is tried again."""


@needs_browser
class TestLoadFailuresPage(PageTestCase):
	def test_a_page_that_could_not_be_loaded_is_loaded_again(self):
		values = {"agent": "Office Assistant", "trigger_type": "Manual", "prompt": "List my open todos"}
		self.make("Agent Trigger", trigger_name=TRIGGER, run_as="Administrator", **values)
		for address, method, ready in REQUESTS:
			with self.subTest(address), self.open_page("/huf/help/mcp") as page:
				page.route(f"**/*.{method}*", lambda route: route.abort())
				page.goto(address)
				page.get_by_test_id("error").get_by_text("No connection to the site").wait_for()
				page.unroute(f"**/*.{method}*")
				page.get_by_test_id("retry").click()
				page.get_by_test_id(ready).wait_for()
				self.assertEqual(page.get_by_test_id("error").count(), 0)
