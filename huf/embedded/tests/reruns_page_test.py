"""A run is rerun with an edited prompt on its page, which changes no documents."""

import os
from urllib.parse import quote

from huf.embedded.tests.accessibility_test import faults_of
from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.model_server import ModelServer, text, tool_call


@needs_browser
class TestRerunsPage(PageTestCase):
	def test_rerun_with_an_edited_prompt_shows_differences_and_changes_nothing(self):
		with ModelServer() as model:
			model.script(
				tool_call("create_todo", {"description": "Call Anna"}),
				text("Made the todo.\nCall Anna."),
				tool_call("create_todo", {"description": "Call Bert"}),
				text("Made the todo.\nCall Bert."),
			)
			provider = self.make(
				"AI Provider", provide_name="Scripted", api_key="sk-test", api_base=model.base_url
			)["name"]
			self.make("AI Model", model_name="scripted", provider=provider)
			self.call("/api/resource/Agent/Office%20Assistant", {"model": "scripted"}, "PUT")
			values = {"agent_name": "Office Assistant", "prompt": "Call Anna"}
			run = self.call("/api/method/huf.ai.agent_integration.run_agent_sync", values)["message"]["run"]
			with self.open_page(f"/huf/runs/{run}") as page:
				page.get_by_test_id("model-call").first.get_by_role("button").first.click()
				page.get_by_test_id("show-input").click()
				page.get_by_test_id("edit-input").click()
				page.get_by_role("textbox", name="Person").fill("Call Bert")
				page.get_by_test_id("rerun").click()
				result = page.get_by_test_id("rerun-result")
				result.wait_for()
				steps = result.get_by_test_id("compare-step")
				self.assertEqual(steps.first.get_attribute("data-same"), "false")
				self.assertIn("Call Bert", steps.last.locator("[data-kind=add]").inner_text())
				self.assertEqual(faults_of(page), [])
				if pictures := os.environ.get("HUF_PICTURES"):
					page.screenshot(path=f"{pictures}/rerun.png", full_page=True)
			sent = model.requests[-1]["messages"]
			self.assertEqual([each["content"] for each in sent if each["role"] == "user"], ["Call Bert"])
		fields = quote('["description"]')
		todos = self.call(f"/api/resource/ToDo?limit_page_length=0&fields={fields}")["data"]
		self.assertIn("Call Anna", str(todos))
		self.assertNotIn("Call Bert", str(todos))
