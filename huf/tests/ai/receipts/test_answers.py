"""Claims of a run's answer, stored with it and sent with its last event."""

import json

import frappe

from huf.ai.runs.entry import run_agent_sync
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call


class TestAnswers(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer(strict=False))
		self.tool = make_tool("Create Document", name=None, reference_doctype="ToDo")
		self.agent = make_agent(make_model(self.server), (self.tool,), persist_conversation=0)

	def ask(self, *replies) -> dict:
		self.server.forever(
			lambda request: replies[sum(message["role"] == "tool" for message in request["messages"])]
		)
		return run_agent_sync(self.agent, "Create a todo: Call Anna", external_id=unique("claims"))

	def test_a_claim_has_its_receipt(self):
		result = self.ask(tool_call(self.tool, {"description": "Call Anna"}), text("I created the todo."))
		(claim,) = result["claims"]
		call = frappe.db.get_value("Agent Tool Call", {"run": result["run"]})
		self.assertEqual((claim["confirmed"], claim["calls"]), (True, [call]))
		self.assertEqual(claim["documents"][0][0], "ToDo")
		stored = frappe.db.get_value("Agent Run", result["run"], ["claims", "unconfirmed_claims"])
		self.assertEqual((json.loads(stored[0]), stored[1]), (result["claims"], 0))

	def test_a_claim_without_a_call_is_not_confirmed(self):
		result = self.ask(text("Done! I created the todo. There are 12 enabled users."))
		self.assertEqual([claim["confirmed"] for claim in result["claims"]], [False, False, False])
		self.assertEqual(frappe.db.get_value("Agent Run", result["run"], "unconfirmed_claims"), 3)
