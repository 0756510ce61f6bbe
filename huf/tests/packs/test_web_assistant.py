"""The web assistant pack searches, opens and reads pages of a local server, and answers."""

import json
import os
from unittest.mock import patch

import frappe

from huf.ai.agents.manager import AgentManager
from huf.ai.core.session import acting_as
from huf.ai.runs.entry import run_agent_sync
from huf.tests.ai.tools.pages import ARTICLE, Site, public
from huf.tests.factories import make_model, make_user
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.packs.samples import ShippedPackCase


class TestWebAssistant(ShippedPackCase):
	name = "web_assistant"

	def setUp(self):
		super().setUp()
		self.site = Site(self)
		public(self, "127.0.0.1")
		self.user = make_user("Huf User")

	def set_search(self, **values) -> None:
		frappe.get_doc("Huf Settings").update(values).save()
		frappe.db.commit()

	def ask(self, prompt: str, *answers) -> tuple[dict, list[dict]]:
		"""The run's result, and its tool calls."""
		with ModelServer() as server:
			frappe.db.set_value("Agent", "Web Assistant", "model", make_model(server))
			frappe.db.commit()
			server.script(*answers)
			with acting_as(self.user):
				result = run_agent_sync("Web Assistant", prompt)
		calls = frappe.get_all(
			"Agent Tool Call", {"run": result["run"]}, ["tool", "status", "result"], order_by="step asc"
		)
		return result, calls

	def test_the_agent_has_exactly_four_tools(self):
		tools = [row.tool for row in frappe.get_doc("Agent", "Web Assistant").agent_tool]
		self.assertEqual(tools, ["web_search", "open_url", "extract_text", "final_answer"])

	def test_step_limit_comes_from_the_site_or_the_environment(self):
		self.assertEqual(AgentManager("Web Assistant").steps, 8)
		with patch.dict(os.environ, {"MAX_AGENT_STEPS": "10"}):
			self.assertEqual(AgentManager("Web Assistant").steps, 10)

	def test_a_search_result_is_opened_and_final_answer_is_the_response(self):
		page = self.site.add("/roof", ARTICLE)
		found = {"results": [{"title": "The roof", "url": page, "content": "About roofs"}]}
		self.site.answer_json("/search?q=leaking+roof&format=json", found)
		self.set_search(search_provider="SearXNG", search_base_url=self.site.url)
		self.addCleanup(self.set_search, search_provider=None, search_base_url=None)
		result, calls = self.ask(
			"Busca en la web dónde gotea el tejado",
			tool_call("web_search", {"query": "leaking roof"}),
			tool_call("open_url", {"url": page}),
			tool_call("final_answer", {"answer": f"En el norte ({page})."}),
		)
		self.assertEqual([call.tool for call in calls], ["web_search", "open_url", "final_answer"], result)
		self.assertEqual({call.status for call in calls}, {"Success"}, calls)
		self.assertIn("It leaks in the north.", json.loads(calls[1].result)["text"])
		self.assertEqual((result["status"], result["response"]), ("Success", f"En el norte ({page})."))

	def test_a_url_in_the_prompt_is_opened(self):
		page = self.site.add("/roof", ARTICLE)
		result, calls = self.ask(f"Navega a {page}", tool_call("open_url", {"url": page}), text("It leaks."))
		self.assertEqual((calls[0].tool, calls[0].status), ("open_url", "Success"))
		self.assertEqual(json.loads(calls[0].result)["title"], "The roof")

	def test_extract_text_removes_html_tags(self):
		_, calls = self.ask("Read this", tool_call("extract_text", {"content": ARTICLE}), text("It leaks."))
		self.assertNotIn("<p>", json.loads(calls[0].result)["text"])

	def test_a_tool_that_fails_twice_in_a_row_ends_the_run(self):
		missing = [tool_call("open_url", {"url": f"{self.site.url}/{place}"}) for place in (1, 2)]
		result, calls = self.ask(f"Open {self.site.url}/1 and {self.site.url}/2", *missing)
		self.assertEqual([call.status for call in calls], ["Failed", "Failed"])
		self.assertEqual((result["status"], result["stop_reason"]), ("Stopped", "tool_failures"))

	def test_the_run_stops_with_a_warning_after_eight_steps(self):
		again = [tool_call("extract_text", {"content": f"Text {place}"}) for place in range(8)]
		result, _ = self.ask("Read all of this", *again, text("Half of it is read."))
		self.assertTrue(result["response"].startswith("[WARNING: Max steps (8) reached."), result["response"])
