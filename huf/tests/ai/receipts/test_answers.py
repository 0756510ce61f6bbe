"""Claims in a run's answer are stored with the run and sent with its last event."""

import json
from unittest.mock import patch

import frappe

from huf.ai.chat.messages import send_agent_chat_message
from huf.ai.core.events import EventKind
from huf.ai.core.types import AgentRequest
from huf.ai.queries.event_stream import replay_events
from huf.ai.runs.entry import run_agent_sync, stream_agent
from huf.ai.runs.replay import replay
from huf.ai.storage.chats import branch_chat
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, call, error, text, tool_call, tool_calls


class TestAnswers(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer(strict=False))
		self.tool = make_tool("Create Document", name=None, reference_doctype="ToDo")
		self.agent = make_agent(make_model(self.server), (self.tool,), persist_conversation=0)

	def run_agent(self, *replies) -> dict:
		self.server.forever(
			lambda request: replies[sum(message["role"] == "tool" for message in request["messages"])]
		)
		return run_agent_sync(self.agent, "Create a todo: Call Anna", external_id=unique("claims"))

	def test_claim_backed_by_a_call_is_confirmed_and_stored(self):
		result = self.run_agent(
			tool_call(self.tool, {"description": "Call Anna"}), text("I created the todo.")
		)
		(claim,) = result["claims"]
		call = frappe.db.get_value("Agent Tool Call", {"run": result["run"]})
		self.assertEqual((claim["confirmed"], claim["calls"]), (True, [call]))
		self.assertEqual(claim["documents"][0][0], "ToDo")
		stored = frappe.db.get_value("Agent Run", result["run"], ["claims", "unconfirmed_claims"])
		self.assertEqual((json.loads(stored[0]), stored[1]), (result["claims"], 0))

	def test_a_claim_without_a_call_is_not_confirmed(self):
		result = self.run_agent(text("Done! I created the todo. There are 12 enabled users."))
		self.assertEqual([claim["confirmed"] for claim in result["claims"]], [False, False, False])
		self.assertEqual(frappe.db.get_value("Agent Run", result["run"], "unconfirmed_claims"), 3)

	def test_a_call_that_got_an_earlier_result_does_not_count_as_another_effect(self):
		# The result of a creation has today's date, which can hold a two.
		todo = frappe.get_doc({"doctype": "ToDo", "description": unique("Call Anna")}).insert()
		self.tool = make_tool("Delete Document", name=None, reference_doctype="ToDo")
		self.agent = make_agent(make_model(self.server), (self.tool,), persist_conversation=0)
		calls = [call(self.tool, {"name": todo.name})] * 2
		result = self.run_agent(tool_calls(calls), text("x"), text("I deleted two todos."))
		self.assertEqual([claim["why"] for claim in result["claims"]], ["number two"])

	def test_of_a_call_of_another_agent_only_what_that_agent_did_confirms_a_claim(self):
		ask = make_tool("Run Agent", agent=self.agent)
		asking = make_agent(make_model(self.server), (ask,), persist_conversation=0)
		create = tool_calls([call(self.tool, {"description": name}) for name in ("Call Anna", "Call Bob")])
		for replies, expected in (([text("I cannot.")], False), ([create, text("Done.")], True)):
			with self.subTest(expected):
				answer = text("I created the two todos.")
				self.server.script(tool_call(ask, {"prompt": "Create it"}), *replies, answer)
				result = run_agent_sync(asking, "Create a todo", external_id=unique("claims"))
				(claim,) = result["claims"]
				self.assertEqual(claim["confirmed"], expected)
				made = frappe.get_all(
					"Agent Tool Call", {"run": result["run"]}, pluck="name", order_by="name"
				)
				self.assertEqual(claim["calls"], made if expected else [])
				self.assertEqual(len(claim["documents"]), 2 if expected else 0)

	def test_what_an_earlier_run_of_the_conversation_did_proves_that_it_was_done_earlier(self):
		agent = make_agent(make_model(self.server), (self.tool,))
		chat = unique("claims")
		self.server.script(tool_call(self.tool, {"description": "Call Anna"}), text("Done."))
		run_agent_sync(agent, "Create a todo: Call Anna", external_id=chat)
		for answer, is_confirmed in (
			("I already created the todo.", True),
			("I created the todo.", False),
			("I already deleted the todo.", False),
		):
			self.server.script(text(answer))
			(claim,) = run_agent_sync(agent, "And?", external_id=chat)["claims"]
			self.assertEqual(claim["confirmed"], is_confirmed, answer)

	def test_what_was_done_before_a_chat_was_branched_proves_that_it_was_done_earlier(self):
		agent = make_agent(make_model(self.server), (self.tool,))
		self.server.script(tool_call(self.tool, {"description": "Call Anna"}), text("Done."))
		first = send_agent_chat_message(agent, "Create a todo: Call Anna")
		source = frappe.get_doc("Agent Conversation", first["conversation"])
		branch = branch_chat(source, first["run"], True, frappe.session.user)
		before_it = branch_chat(source, first["run"], False, frappe.session.user)
		for conversation, is_confirmed in ((branch, True), (before_it, False)):
			self.server.script(text("I already created the todo."))
			(claim,) = send_agent_chat_message(agent, "And?", conversation)["claims"]
			self.assertEqual(claim["confirmed"], is_confirmed)

	def test_claims_of_a_truncated_answer_are_checked(self):
		result = self.run_agent(text("I created the todo. Then I", finish_reason="length"))
		self.assertEqual(
			(result["status"], [claim["confirmed"] for claim in result["claims"]]), ("Stopped", [False])
		)

	def test_extreme_numbers_do_not_prevent_the_answer_from_being_stored(self):
		rows = {"rows": [{"avg": "NaN"}]}
		for prompt in ("What is key " + "7" * 400, f"Sum 1e999 {json.dumps(rows)}"):
			self.server.forever(
				lambda request: (
					text("There are 3 todos, 1 open.")
					if request["messages"][-1]["role"] == "tool"
					else tool_call(self.tool, {"description": "9" * 400})
				)
			)
			result = run_agent_sync(self.agent, prompt, external_id=unique("claims"))
			self.assertEqual((result["status"], bool(result["claims"])), ("Success", True))

	def test_a_failing_check_does_not_keep_the_answer_from_being_stored(self):
		with patch("huf.ai.runs.finish.check_run", side_effect=OverflowError):
			result = self.run_agent(text("I created the todo."))
		self.assertEqual((result["status"], result.get("claims")), ("Success", None))


class TestStrictReceipts(SiteTestCase):
	"""With strict receipts, the model may correct itself once before anyone reads the answer."""

	LIE, TRUTH = "Done, I created the todo.", "I have not created anything."

	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.tool = make_tool("Create Document", reference_doctype="ToDo")
		self.agent = make_agent(make_model(self.server), (self.tool,), strict_receipts=1)

	def stream(self, *turns, **values) -> list:
		self.server.script(*turns)
		request = AgentRequest(
			self.agent, "Create a todo: Call Anna", "Administrator", external_id=unique("s")
		)
		return [event for event in stream_agent(request) if event]

	def join_text(self, events) -> str:
		return "".join(event.data["text"] for event in events if event.kind is EventKind.TEXT_DELTA)

	def test_false_claim_is_returned_once_and_only_the_correction_is_shown(self):
		events = self.stream(text(self.LIE), text(self.TRUTH))
		self.assertEqual(self.join_text(events), self.TRUTH)
		result = events[-1].data
		self.assertEqual((result["response"], result["status"]), (self.TRUTH, "Success"))
		self.assertIn(f"- {self.LIE}", self.server.requests[-1]["messages"][-1]["content"])
		self.assertEqual(self.join_text(replay_events(events[-1].run)), self.TRUTH)
		messages = frappe.get_all(
			"Agent Message",
			{"run": events[-1].run, "role": "agent"},
			pluck="content",
			order_by="sequence asc",
		)
		self.assertEqual(messages, [self.TRUTH])

	def test_model_may_make_the_missing_call_after_an_unconfirmed_claim(self):
		call = tool_call(self.tool, {"description": unique("Call Anna")})
		events = self.stream(text(self.LIE), call, text(self.LIE))
		self.assertEqual(self.join_text(events), self.LIE)
		self.assertEqual([claim["confirmed"] for claim in events[-1].data["claims"]], [True])

	def test_repeated_false_claim_is_shown_as_unconfirmed(self):
		events = self.stream(text(self.LIE), text(self.LIE))
		self.assertEqual(self.join_text(events), self.LIE)
		self.assertEqual([claim["confirmed"] for claim in events[-1].data["claims"]], [False])

	def test_an_answer_by_the_tool_final_answer_is_returned_and_does_not_confirm_itself(self):
		doc = frappe.get_doc("Agent", self.agent)
		doc.append("agent_tool", {"tool": "final_answer"})
		doc.save()
		answer = tool_call("final_answer", {"answer": "Done! There are 12 todos."})
		events = self.stream(answer, answer)
		result = events[-1].data
		self.assertEqual((result["response"], result["steps"]), ("Done! There are 12 todos.", 2))
		self.assertEqual([claim["confirmed"] for claim in result["claims"]], [False, False])
		self.assertTrue(replay(result["run"]).identical)

	def test_first_answer_is_shown_when_the_correction_call_fails(self):
		events = self.stream(text(self.LIE), error(400, "broken"))
		self.assertEqual((self.join_text(events), events[-1].data["status"]), (self.LIE, "Success"))

	def test_no_correction_is_requested_at_the_step_limit(self):
		frappe.db.set_value("Agent", self.agent, "max_iterations", 1)
		frappe.clear_document_cache("Agent", self.agent)
		events = self.stream(text(self.LIE))
		self.assertEqual(
			(events[-1].data["response"], events[-1].data["stop_reason"]), (self.LIE, "final_answer")
		)

	def test_confirmed_claim_needs_no_correction_call(self):
		events = self.stream(tool_call(self.tool, {"description": unique("Call Anna")}), text(self.LIE))
		self.assertEqual(len(self.server.requests), 2)
		self.assertEqual(self.join_text(events), self.LIE)
