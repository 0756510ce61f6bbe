"""A run that waits for one that it called: what clients of each protocol get until a person has answered."""

from unittest.mock import patch

import frappe

from huf.ai.chat.approvals import approve_call
from huf.ai.core.session import acting_as
from huf.ai.runs import queue
from huf.tests.api.test_copilotkit import build_agui_request, read_events
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_tool
from huf.tests.http import post
from huf.tests.model_server import tool_call


class TestCalledRuns(DraftTestCase):
	def setUp(self):
		super().setUp()
		self.headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}"}
		self.ask = make_tool("Run Agent", agent=self.agent)
		self.lead = self.make_agent(self.ask)

	def send(self, path: str, **body):
		self.server.script(tool_call(self.ask, {"prompt": "Change the order"}), self.change("new"))
		return post(path, json={"model": self.lead, **body}, headers=self.headers)

	def find_address(self) -> str:
		"""The page of the run that asks, which the last run has called."""
		frappe.db.rollback()
		run = frappe.get_last_doc("Agent Draft", {"agent": self.agent}).run
		self.assertEqual(frappe.db.get_value("Agent Run", run, "status"), "Waiting")
		return f"/huf/runs/{run}"

	def test_openais_clients_read_what_the_called_run_waits_for(self):
		chat, responses = "/v1/chat/completions", "/v1/responses"
		messages = [{"role": "user", "content": "Hi"}]
		for path, body in ((chat, {"messages": messages}), (responses, {"input": "Hi"})):
			for stream in (False, True):
				with self.subTest(path, stream=stream):
					answer = self.send(path, **body, stream=stream)
					self.assertEqual(answer.status_code, 200)
					self.assertIn(self.find_address(), answer.get_data(as_text=True))

	def test_an_ag_ui_stream_ends_with_what_the_called_run_waits_for(self):
		address = f"/copilotkit/stream?agent={self.lead}"
		events = read_events(self.send(address, **build_agui_request(("user", "Hi"))))
		joined = read_events(post(address, json=build_agui_request(), headers=self.headers))
		for each in (events, joined):
			text = "".join(event["delta"] for event in each if event["type"] == "TEXT_MESSAGE_CONTENT")
			self.assertIn(self.find_address(), text)
			self.assertEqual((each[-1]["type"], each[-1]["result"]["status"]), ("RUN_FINISHED", "Waiting"))
		draft = frappe.get_last_doc("Agent Draft", {"agent": self.agent})
		with acting_as(self.user), patch.object(queue, "enqueue_work"):
			approve_call(draft.name, draft.digest)
		frappe.db.commit()
		gone_on = read_events(post(address, json=build_agui_request(), headers=self.headers))
		self.assertEqual((gone_on[-1]["type"], gone_on[-1]["code"]), ("RUN_ERROR", "not_ended"))

	def test_mcp_clients_read_what_the_called_run_waits_for(self):
		name = "ask_" + frappe.scrub(self.lead)
		asked = {"name": name, "arguments": {"message": "Hi"}}
		request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
		self.headers |= {
			"Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2025-06-18",
		}
		result = self.send("/mcp", **request).json["result"]
		self.assertIn(self.find_address(), result["content"][0]["text"])
