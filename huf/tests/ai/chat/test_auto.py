"""Messages on the auto route: answered by the chat, by the agent, or escalated to the agent."""

import json
from dataclasses import replace
from datetime import timedelta
from unittest import mock

import frappe
from frappe.utils import now_datetime

from huf.ai.chat import messages
from huf.ai.core.errors import TooManyRuns, UsageError
from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.route_choice import RouteChoice
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.mcp.server.tools import name_of_agent
from huf.ai.runs import admission, queue, stopping
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import enqueue_run, work_on
from huf.ai.runs.repetition import find_sent_run
from huf.ai.runs.routing import HeldChat, find_takeover, route_request
from huf.ai.runs.start import start_run
from huf.api import conversation
from huf.tests.api.test_mcp import META, REVISION
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, make_user, remove_stops
from huf.tests.http import post
from huf.tests.model_server import ModelServer, text, tool_call

SIMPLE, TASK = "What is a capital city?", "Use the agent and count the open to-dos"
KEY = "a-message-of-the-chat"
NEEDS_SEARCH = "I need to search for current information to answer that."


def stopping_before(stop):
	"""`find_takeover` that first calls `stop`, between the answer of the chat and the agent's run."""

	def find(request, result):
		stop(result)
		frappe.db.commit()
		return find_takeover(request, result)

	return find


class TestAuto(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.tool = make_tool("Get List", reference_doctype="ToDo")
		self.agent = make_agent(make_model(self.server), (self.tool,))

	def send(self, prompt: str, route: str | None = "auto", conversation: str | None = None) -> dict:
		return messages.send_agent_chat_message(self.agent, prompt, conversation, route=route)

	def get_decision(self, run: str):
		return frappe.get_last_doc("Agent Route Decision", {"run": run})

	def read_conversation(self, conversation: str) -> tuple[list, dict]:
		"""(contents of the messages, routes of the runs), as the page reads them."""
		page = messages.get_agent_chat_messages(conversation)
		contents = [row.content for row in page["messages"] if row.kind == "Message"]
		return contents, {name: run.get("route") for name, run in page["runs"].items()}

	def test_a_simple_question_is_answered_without_tools(self):
		self.server.script(text("A seat of government."))
		result = self.send(SIMPLE)
		self.assertNotIn("tools", self.server.requests[0])
		decision = self.get_decision(result["run"])
		known = (decision.route, decision.escalated, decision.conversation)
		self.assertEqual(known, ("chat", 0, result["conversation"]))
		contents, shown = self.read_conversation(result["conversation"])
		self.assertEqual(contents, [SIMPLE, "A seat of government."])
		route = shown[result["run"]]
		self.assertEqual((route["route"], route["escalated"]), ("chat", False))
		self.assertGreater(route["confidence"], 0)
		self.assertTrue(route["reasons"])

	def test_a_question_that_needs_tools_goes_to_the_agent(self):
		self.server.script(tool_call(self.tool, {}), text("None."))
		result = self.send(TASK)
		self.assertEqual(result["response"], "None.")
		self.assertIn("tools", self.server.requests[0])
		self.assertEqual(self.get_decision(result["run"]).route, "agent")
		self.assertEqual(frappe.db.get_value("Agent Run", result["run"], "route"), "agent")

	def test_chat_answer_that_lacks_current_data_is_replaced_by_the_agent(self):
		self.server.script(text(NEEDS_SEARCH), tool_call(self.tool, {}), text(NEEDS_SEARCH))
		result = self.send(SIMPLE)
		self.assertEqual(
			(result["response"], len(self.server.requests)), (NEEDS_SEARCH, 3), "it is escalated once"
		)
		self.assertNotIn(NEEDS_SEARCH, json.dumps(self.server.requests[1]["messages"]))
		self.assertEqual(self.get_decision(result["run"]).escalated, 1)
		contents, shown = self.read_conversation(result["conversation"])
		self.assertEqual((contents, list(shown)), ([SIMPLE, NEEDS_SEARCH], [result["run"]]))
		total = frappe.db.get_value("Agent Conversation", result["conversation"], "total_messages")
		rows = frappe.get_all(
			"Agent Message", {"conversation": result["conversation"]}, order_by="sequence asc"
		)
		self.assertEqual(total, len(rows))

	def test_escalation_to_the_agent_does_not_count_as_another_run(self):
		frappe.get_doc("Agent", self.agent).update({"runs_per_hour": 1}).save()
		frappe.db.commit()
		self.server.script(text(NEEDS_SEARCH), text("None."))
		result = self.send(SIMPLE)
		self.assertEqual(result["response"], "None.")
		self.assertEqual(self.read_conversation(result["conversation"])[0], [SIMPLE, "None."])
		with self.assertRaises(TooManyRuns):
			self.send(SIMPLE)

	def test_question_and_answer_stay_if_the_agent_cannot_take_over(self):
		stops = (
			lambda _: stopping.stop("Agent", self.agent),
			lambda _: frappe.get_doc("Agent", self.agent).update({"disabled": 1}).save(),
		)
		self.addCleanup(remove_stops)
		for stop in stops:
			remove_stops()
			self.server.script(text(NEEDS_SEARCH))
			with mock.patch.object(queue, "find_takeover", side_effect=stopping_before(stop)):
				result = self.send(SIMPLE)
			self.assertEqual((result["status"], result["response"]), ("Success", NEEDS_SEARCH))
			self.assertEqual(self.read_conversation(result["conversation"])[0], [SIMPLE, NEEDS_SEARCH])

	def test_chat_answer_stays_if_too_many_runs_work_for_the_agent_to_start(self):
		for is_streamed in (False, True):
			self.server.script(text(NEEDS_SEARCH))
			limits = [None, TooManyRuns("Wait.")]
			with mock.patch.object(admission, "check_runs_at_once", side_effect=limits):
				result = self.stream()[-1].data if is_streamed else self.send(SIMPLE)
			self.assertEqual((result["status"], result["response"]), ("Success", NEEDS_SEARCH))
			self.assertEqual(self.read_conversation(result["conversation"])[0], [SIMPLE, NEEDS_SEARCH])

	def test_a_branch_made_before_the_agent_takes_over_keeps_the_chat_answer(self):
		branches: list[str] = []

		def branch(result):
			branches.append(conversation.branch(result["conversation"], result["run"]))

		self.server.script(text(NEEDS_SEARCH), text("Bern."))
		with mock.patch.object(queue, "find_takeover", side_effect=stopping_before(branch)):
			result = self.send(SIMPLE)
		self.assertEqual(self.read_conversation(result["conversation"])[0], [SIMPLE, "Bern."])
		self.assertEqual(self.read_conversation(branches[0])[0], [SIMPLE, NEEDS_SEARCH])

	def test_agent_takes_over_after_the_stream_client_disconnects(self):
		self.server.script(text(f"Bern is one. {NEEDS_SEARCH}", pace=0.2, chunk_size=6), text("Bern."))
		events = messages.stream_chat(self.agent, SIMPLE, route="auto")
		next(event for event in events if event and event.kind is EventKind.TEXT_DELTA)
		events.close()
		run = frappe.get_last_doc("Agent Run", {"agent": self.agent})
		self.assertEqual((run.status, run.route), ("Queued", "agent"))
		work_on(run.name)
		self.assertEqual(self.read_conversation(run.conversation)[0], [SIMPLE, "Bern."])
		self.assertEqual(frappe.db.count("Agent Run", {"agent": self.agent}), 2)

	def test_agent_answers_if_the_client_disconnects_before_its_run_begins(self):
		for items_read in (0, 1):
			self.server.script(
				text(f"Bern is one. {NEEDS_SEARCH} Wait.", pace=0.03, chunk_size=6), text("Bern.")
			)
			events = messages.stream_chat(self.agent, SIMPLE, route="auto")
			next(event for event in events if event and event.kind is EventKind.TEXT_VOID)
			self.assertEqual([next(events) for _ in range(items_read)], [None] * items_read)
			events.close()
			run = frappe.get_last_doc("Agent Run", {"agent": self.agent})
			self.assertEqual((run.status, run.route), ("Queued", "agent"))
			self.assertEqual(work_on(run.name).response, "Bern.")

	def test_disconnect_during_the_agent_answer_starts_no_further_run(self):
		self.server.script(text(NEEDS_SEARCH), text("Bern is one. Rome", pace=0.02, chunk_size=6))
		events = messages.stream_chat(self.agent, SIMPLE, route="auto")
		next(event for event in events if event and event.kind is EventKind.TEXT_DELTA)
		events.close()
		self.assertEqual(frappe.db.count("Agent Run", {"agent": self.agent}), 2)

	def stream(self, *answers) -> list:
		self.server.script(*answers)
		return [event for event in messages.stream_chat(self.agent, SIMPLE, route="auto") if event]

	def test_chat_answer_streams_before_it_is_complete(self):
		answer = "Bern is one. Paris is another. Rome"
		self.server.script(text(answer, pace=0.05, chunk_size=6))
		shown = []
		for event in messages.stream_chat(self.agent, SIMPLE, route="auto"):
			if event and event.kind is EventKind.TEXT_DELTA:
				run = frappe.db.get_value("Agent Run", event.run, "status")
				shown.append((event.data["text"], run))
		self.assertEqual("".join(piece for piece, _ in shown), answer)
		self.assertEqual(shown[0][1], "Started", "before the answer was complete")

	def test_escalation_in_a_later_sentence_voids_the_streamed_text(self):
		events = self.stream(
			text(f"Bern is one. {NEEDS_SEARCH} Wait.", pace=0.03, chunk_size=6), text("Bern.")
		)
		kinds = [event.kind for event in events]
		first = "".join(
			event.data["text"] for event in events[: kinds.index(EventKind.TEXT_VOID)] if "text" in event.data
		)
		self.assertIn("Bern is", first)
		self.assertNotIn("search", first)
		self.assertEqual(len({event.run for event in events}), 2)
		self.assertEqual(events[-1].data["response"], "Bern.")

	def test_restarted_model_answer_is_held_again_from_its_start(self):
		def make_delta(words: str) -> RunEvent:
			return RunEvent(EventKind.TEXT_DELTA, "r", {"step": 1, "text": words})

		held, void = HeldChat(can_void=True), RunEvent(EventKind.TEXT_VOID, "r", {"step": 1})
		self.assertEqual(held.add(make_delta("Bern is ")), [])
		self.assertEqual(held.add(void), [], "nothing was shown")
		first, rest = make_delta("Paris. "), make_delta("Rome ")
		self.assertEqual(held.add(first), [void])
		self.assertEqual((held.add(rest), held.events), ([], [first, rest]))
		self.assertEqual(held.add(make_delta("is old. ")), [first, rest])

	def test_message_behind_an_active_run_is_queued_at_once(self):
		self.server.script(text("Yes."))
		conversation = self.send(SIMPLE, None)["conversation"]
		with acting_as("Administrator"):
			start_run(AgentRequest(self.agent, "Busy", "Administrator", conversation))
		first = next(messages.stream_chat(self.agent, SIMPLE, conversation, route="auto"))
		self.assertEqual(first.kind, EventKind.RUN_QUEUED)
		queued = self.send(SIMPLE, conversation=conversation)
		for run in (first.run, queued["run"]):
			self.assertEqual(self.get_decision(run).route, "agent", "it belongs to the task in progress")

	def test_stream_of_an_escalated_message_shows_only_the_agent_answer(self):
		self.server.script(text(NEEDS_SEARCH), text("Bern."))
		events = [event for event in messages.stream_chat(self.agent, SIMPLE, route="auto") if event]
		self.assertEqual(len({event.run for event in events}), 1)
		last = events[-1].data
		self.assertEqual((last["response"], last["route"]["escalated"]), ("Bern.", True))

	def test_explicit_chat_is_not_escalated_and_explicit_agent_skips_the_router(self):
		self.server.script(text(NEEDS_SEARCH), text("Yes."), text("No."))
		before = frappe.db.count("Agent Route Decision")
		self.assertEqual(self.send(SIMPLE, "chat")["response"], NEEDS_SEARCH)
		self.assertEqual(self.send(SIMPLE, "agent")["response"], "Yes.")
		self.assertEqual(self.send(SIMPLE, None)["response"], "No.")
		offered = ["tools" in request for request in self.server.requests]
		self.assertEqual(offered, [False, True, True])
		self.assertEqual(frappe.db.count("Agent Route Decision"), before)
		with self.assertRaises(UsageError):
			self.send(SIMPLE, "maybe")

	def test_follow_up_stays_with_an_explicitly_chosen_agent(self):
		for choice, route in ((None, "agent"), ("agent", "agent"), ("chat", "chat")):
			self.server.script(text("Shall I?"), text("Done."))
			conversation = self.send("Close the old to-dos", choice)["conversation"]
			result = messages.send_agent_chat_message(self.agent, "yes, do that", conversation, route="auto")
			self.assertEqual(result["route"]["route"], route, choice)

	def test_follow_up_in_a_named_thread_stays_with_the_agent(self):
		for thread in ("t1", None):
			self.server.script(text("Shall I?"), text("Done."))
			for prompt in (TASK, "yes, do that"):
				result = run_agent_sync(self.agent, prompt, external_id=thread, route="auto")
			self.assertEqual(result["route"]["route"], "agent", thread)
		frappe.get_doc("Agent", self.agent).update({"persist_conversation": 0}).save()
		self.server.script(text("Done."))
		result = run_agent_sync(self.agent, "yes, do that", route="auto")
		self.assertEqual(result["route"]["route"], "chat", "it continues nothing")

	def test_a_site_can_switch_the_escalation_off(self):
		self.set_escalation(0)
		self.addCleanup(self.set_escalation, 1)
		self.server.script(text(NEEDS_SEARCH))
		self.assertEqual(self.send(SIMPLE)["response"], NEEDS_SEARCH)

	def set_escalation(self, value: int):
		frappe.get_doc("Huf Settings").update({"enable_dynamic_escalation": value}).save()
		frappe.db.commit()

	def test_auto_without_a_model_is_routed_and_answered_offline(self):
		agent = make_agent(None, (self.tool,))
		for prompt in (SIMPLE, TASK):
			result = messages.send_agent_chat_message(agent, prompt, route="auto")
			self.assertEqual(result["status"], "Success", result)
			self.assertTrue(result["response"])

	def test_every_entry_point_accepts_the_auto_route_and_escalates(self):
		user = make_user("Huf User")
		doc = frappe.get_doc("User", user)
		doc.api_key, doc.api_secret = frappe.generate_hash(length=15), "secret-of-this-test"
		doc.save()
		headers = {"Authorization": f"token {doc.api_key}:secret-of-this-test"}
		user_messages = [{"id": "1", "role": "user", "content": SIMPLE}]
		agui = {
			"threadId": "t",
			"runId": "r",
			"state": {},
			"messages": user_messages,
			"tools": [],
			"context": [],
		}
		named = {"agent": self.agent, "route": "auto"}
		openai = {"model": self.agent, "metadata": {"route": "auto"}}
		params = {"name": name_of_agent(self.agent), "arguments": {"message": SIMPLE, "route": "auto"}}
		mcp_call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": META}}
		mcp = {"Mcp-Method": "tools/call", "Mcp-Name": params["name"], "MCP-Protocol-Version": REVISION}
		headers |= {"Accept": "application/json, text/event-stream", **mcp}
		calls = (
			("/agent/chat", {**named, "message": SIMPLE}),
			("/agent/stream", {**named, "message": SIMPLE}),
			("/api/method/huf.api.chat.stream", {**named, "prompt": SIMPLE}),
			("/copilotkit/action", {**named, "action": "chat", "message": SIMPLE}),
			("/copilotkit/stream", {**agui, "forwardedProps": named}),
			("/v1/chat/completions", {**openai, "messages": user_messages}),
			("/v1/chat/completions", {**openai, "messages": user_messages, "stream": True}),
			("/v1/responses", {**openai, "input": SIMPLE}),
			("/v1/responses", {**openai, "input": SIMPLE, "stream": True}),
			("/mcp", mcp_call),
			(
				"/api/method/huf.ai.agent_integration.run_agent_sync",
				{"agent_name": self.agent, "prompt": SIMPLE, "route": "auto"},
			),
		)
		for path, body in calls:
			with self.subTest(path):
				self.server.script(text("A seat of government."))
				answer = post(path, json=body, headers=headers, base_url="http://127.0.0.1:8000")
				self.assertEqual(answer.status_code, 200, answer.get_data())
				self.assertIn(b"seat of", answer.get_data())
				self.assertNotIn("tools", self.server.requests[-1])
				self.assertEqual(frappe.get_last_doc("Agent Run", {"run_as": user}).route, "chat")
				self.assertRegex(answer.get_data(as_text=True), r'"route": ?\{[^}]*"route": ?"chat"')

				self.server.script(text(NEEDS_SEARCH), text("Bern."))
				answer = post(path, json=body, headers=headers, base_url="http://127.0.0.1:8000")
				self.assertIn(b"Bern.", answer.get_data(), "the agent took over")
				self.assertNotIn(b"need to search", answer.get_data())

	def test_agent_takes_over_after_another_worker_resumes_the_chat(self):
		request = messages.build_chat_request(self.agent, SIMPLE, None, choice=RouteChoice.AUTO)
		chat = start_run(route_request(replace(request, idempotency_key=KEY))).name
		self.server.script(text(NEEDS_SEARCH), text("Bern."))
		self.assertEqual(work_on(chat, now_datetime() + timedelta(seconds=60)).response, NEEDS_SEARCH)
		run = frappe.get_last_doc("Agent Run", {"agent": self.agent})
		self.assertEqual((run.status, run.route), ("Queued", "agent"))
		self.assertEqual(work_on(run.name).response, "Bern.")
		self.assertEqual(self.get_decision(run.name).escalated, 1)
		self.assertEqual(find_sent_run(KEY).name, run.name)
		self.assertEqual(self.read_conversation(run.conversation)[0], [SIMPLE, "Bern."])

	def test_no_agent_takes_over_from_a_resumed_chat_whose_caller_is_a_program(self):
		request = AgentRequest(self.agent, SIMPLE, "Administrator", choice=RouteChoice.AUTO)
		chat = start_run(route_request(request)).name
		self.server.script(text(NEEDS_SEARCH))
		self.assertEqual(work_on(chat, now_datetime() + timedelta(seconds=60)).response, NEEDS_SEARCH)
		self.assertEqual(frappe.db.count("Agent Run", {"agent": self.agent}), 1)

	def test_a_queued_message_is_routed_but_not_escalated(self):
		self.server.script(text(NEEDS_SEARCH))
		run = enqueue_run(AgentRequest(self.agent, SIMPLE, "Administrator", choice=RouteChoice.AUTO)).name
		self.assertEqual(frappe.db.get_value("Agent Run", run, "route"), "chat")
		result = work_on(run)
		self.assertEqual(result.route["route"], "chat")
		self.assertNotIn("tools", self.server.requests[0])
		self.assertEqual(frappe.db.count("Agent Run", {"agent": self.agent}), 1)
