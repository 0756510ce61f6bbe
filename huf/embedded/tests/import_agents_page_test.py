"""Agents are imported from files of other programs after a report of what cannot be mapped."""

import json

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.agent_exports import BUILDER, make_workflow

CLERK = "clerk@example.com"
AGENT = "/api/resource/Agent"


@needs_browser
class TestImportAgentsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.add_user(CLERK, "Huf User")

	def choose(self, page, name: str, text: str) -> None:
		upload = {"name": name, "mimeType": "text/plain", "buffer": text.encode()}
		page.get_by_test_id("agents-file").set_input_files(upload)

	def list_agents(self) -> list[str]:
		return [row["name"] for row in self.call(f"{AGENT}?limit_page_length=0")["data"]]

	def test_report_is_shown_before_the_agent_is_created(self):
		with self.open_page("/huf/agents") as page:
			page.get_by_test_id("import-agents").click()
			self.choose(page, "orders.json", json.dumps(make_workflow()))
			page.get_by_text("1 agent would be made").wait_for()
			agent = page.locator("[data-testid=imported-agent][data-name='Order Agent']")
			for text in (
				"You know orders.",
				"max_iterations: 7",
				"Look up (toolHttpRequest)",
				"Memory (memoryBufferWindow)",
				"gpt-4o-mini is not connected here",
			):
				agent.get_by_text(text).wait_for()
			page.get_by_test_id("unmapped-rest").get_by_text("When a message comes (chatTrigger)").wait_for()
			self.assertNotIn("Order Agent", self.list_agents())
			page.get_by_test_id("import-agents").click()
			page.get_by_text("1 agent made").wait_for()
			page.get_by_test_id("unmapped").get_by_text("Look up (toolHttpRequest)").wait_for()
			page.get_by_role("link", name="Order Agent").click()
			page.wait_for_url("**/huf/agents/Order%20Agent")
		self.assertEqual(self.call(f"{AGENT}/Order%20Agent")["data"]["max_iterations"], 7)

	def test_agent_builder_export_is_imported_on_a_phone(self):
		with self.open_page("/huf/import-agents", width=390, height=844) as page:
			self.choose(page, "workflow.py", BUILDER)
			page.get_by_text("2 agents would be made").wait_for()
			page.get_by_text("tools: [web_search]").wait_for()
			page.get_by_text("No instructions").wait_for()
			page.get_by_test_id("import-agents").get_by_text("Make 2 agents").click()
			page.get_by_text("2 agents made").wait_for()
		self.assertLessEqual({"Sort", "Orders"}, set(self.list_agents()))

	def test_invalid_file_shows_an_error_and_can_be_replaced_by_another(self):
		with self.open_page("/huf/import-agents") as page:
			self.choose(page, "note.txt", "- no workflow")
			page.get_by_test_id("error").get_by_text("neither JSON nor Python").wait_for()
			self.assertEqual(page.get_by_test_id("import-agents").count(), 0)
			self.choose(page, "orders.json", json.dumps(make_workflow()))
			page.get_by_test_id("imported-agent").wait_for()
			self.assertEqual(page.get_by_test_id("error").count(), 0)

	def test_agent_import_without_create_permission_shows_an_error(self):
		with self.open_page("/huf/import-agents", user=CLERK) as page:
			self.choose(page, "orders.json", json.dumps(make_workflow()))
			page.get_by_test_id("error").wait_for()
			self.assertEqual(page.get_by_test_id("imported-agent").count(), 0)
