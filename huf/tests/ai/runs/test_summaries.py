"""Every message of a long conversation is summarized once, sent, or reported as omitted."""

import re
from dataclasses import replace
from datetime import timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.execution import summarize_first
from huf.ai.runs.queue import work_on
from huf.ai.runs.replay import replay
from huf.ai.runs.start import load_run, start_run
from huf.ai.runs.summaries import INSTRUCTIONS
from huf.ai.storage import leases, retention
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.history import move_watermark, read_history, read_summary, read_unsummarised
from huf.ai.storage.recorded_run import read_opening
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, error, text, tool_call

LIMIT = 4
SUMMARY = "Anna wants tea."


class TestSummaries(SiteTestCase):
	def test_long_conversation_is_summarized_before_the_run_continues(self):
		with ModelServer() as server:
			agent, conversation = self.long_conversation(server, messages=2 * LIMIT + 1)
			writes, database = [], frappe.local.db
			server.on_request = lambda body: writes.append(database.transaction_writes)
			server.script(text(SUMMARY), text("Tea it is."))
			result = run_agent_sync(agent, "Well?", conversation_id=conversation)
			summarizing, opening = (request["messages"] for request in server.requests)
		self.assertEqual((summarizing[0]["content"], writes), (INSTRUCTIONS, [0, 0]))
		self.assertIn("\n\nYou are an agent under test.\n\n", opening[0]["content"])
		self.assertTrue(opening[0]["content"].endswith(SUMMARY))
		self.assertEqual(find_numbers(summarizing), [1, 2, 3, 4])
		self.assertEqual(find_numbers(opening), [5, 6, 7, 8, 9])
		self.assertEqual(read_summary(conversation), (SUMMARY, 4))
		self.assert_recorded(result)

	def assert_recorded(self, result):
		calls = frappe.get_all(
			"Agent LLM Call", {"run": result["run"]}, ["step", "call_type"], order_by="step asc"
		)
		self.assertEqual([(row.step, row.call_type) for row in calls], [(0, "summary"), (1, "agent")])
		self.assertEqual((result["steps"], result["input_tokens"]), (1, 200))
		self.assertTrue(replay(result["run"]).identical)

	def test_personal_data_in_a_summary_is_masked(self):
		with ModelServer() as server:
			agent, conversation = self.long_conversation(server, 2 * LIMIT + 1, mask_personal_data=1)
			move_watermark(conversation, 0, 1, "Write to anna@example.com.")
			frappe.db.commit()
			server.script(text("Well."))
			run_agent_sync(agent, "Well?", conversation_id=conversation)
			self.assertIn("Write to [EMAIL-1].", server.requests[0]["messages"][0]["content"])

	def test_every_message_is_either_summarized_once_or_sent(self):
		with ModelServer() as server:
			agent, conversation = self.long_conversation(server, messages=0)
			find = make_tool("Get List", reference_doctype="ToDo")
			frappe.get_doc("Agent", agent).update({"agent_tool": [{"tool": find}]}).save()
			frappe.db.commit()
			server.forever(lambda request: answer(request, find))
			for number in range(1, 26):
				run_agent_sync(agent, f"Message {number}.", conversation_id=conversation)
			requests = [request["messages"] for request in server.requests]
		summed = [find_numbers(request) for request in requests if request[0]["content"] == INSTRUCTIONS]
		self.assertGreater(len(summed), 3)
		self.assertLess(len(summed), 15)
		covered = [number for numbers in summed for number in numbers]
		self.assertEqual(covered + find_numbers(requests[-1]), list(range(1, 26)))

	def test_short_conversation_is_sent_whole_without_a_summary_call(self):
		with ModelServer() as server:
			agent, conversation = self.long_conversation(server, messages=2 * LIMIT)
			server.script(text("Well."))
			run_agent_sync(agent, "Well?", conversation_id=conversation)
			self.assertEqual(find_numbers(server.requests[0]["messages"]), list(range(1, 2 * LIMIT + 1)))

	def test_failed_summary_call_adds_a_notice_of_omitted_messages(self):
		with ModelServer() as server:
			agent, conversation = self.long_conversation(server, messages=15)
			server.script(error(400), text("Well."))
			result = run_agent_sync(agent, "Well?", conversation_id=conversation)
			opening = server.requests[-1]["messages"]
		self.assertEqual((result["status"], read_summary(conversation)), ("Success", (None, 0)))
		self.assertIn("10 earlier messages are not shown: Message 1. / Message 3.", opening[0]["content"])
		self.assertEqual(find_numbers(opening[1:]), [11, 12, 13, 14, 15])

	def test_tool_call_instead_of_a_summary_is_ignored_and_retried_next_run(self):
		with ModelServer() as server:
			agent, conversation = self.long_conversation(server, messages=2 * LIMIT + 1)
			server.script(tool_call("search", {"query": "tea"}), text("Well."))
			first = run_agent_sync(agent, "Well?", conversation_id=conversation)
			server.script(text(SUMMARY), text("Tea it is."))
			second = run_agent_sync(agent, "And now?", conversation_id=conversation)
		self.assertEqual((first["status"], first["response"]), ("Success", "Well."))
		self.assertEqual((second["status"], read_summary(conversation)[0]), ("Success", SUMMARY))
		self.assertEqual(frappe.db.count("Agent Tool Call", {"run": first["run"]}), 0)
		self.assertEqual(first["input_tokens"], 200)

	def test_unreadable_message_in_the_history_does_not_fail_the_run(self):
		with ModelServer() as server:
			agent, conversation = self.long_conversation(server, messages=2 * LIMIT + 1)
			server.script(text(SUMMARY), text("Well."))
			broken = {"conversation": conversation, "sequence": 1}
			frappe.db.set_value("Agent Message", broken, {"kind": "Tool Call", "content": "no JSON"})
			frappe.db.commit()
			server.strict = False
			result = run_agent_sync(agent, "Well?", conversation_id=conversation)
		self.assertEqual(result["status"], "Success")

	def test_run_without_a_model_opens_with_a_notice_of_omitted_messages(self):
		agent, conversation = self.long_conversation(None, messages=15)
		run = run_agent_sync(agent, "Hello", conversation_id=conversation)["run"]
		opening = read_opening(frappe.db.get_value("Agent Run", run, "opening"))
		self.assertIn("10 earlier messages are not shown", opening[0]["content"])
		self.assertEqual(read_summary(conversation), (None, 0))

	def test_resumed_run_reuses_its_recorded_opening_and_summary_usage(self):
		with ModelServer() as server:
			agent, conversation = self.long_conversation(server, messages=15)
			server.script(text(SUMMARY))
			request = AgentRequest(agent, "Well?", "Administrator", conversation)
			name = start_run(request, RunStatus.QUEUED).name
			run = load_run(leases.acquire_lease(name))
			self.assertTrue(run.is_long)
			messages, used = run_coroutine(summarize_first(run, run.manager.prepare_agent(), []))
			resumed = load_run(leases.acquire_lease(name, now_datetime() + timedelta(hours=1)))
		self.assertEqual((resumed.messages, resumed.is_long), (messages, False))
		self.assertEqual(resumed.recorded.replies, {})
		self.assertEqual(replace(resumed.recorded.usage, cost=0), replace(used, cost=0))
		self.assertAlmostEqual(resumed.recorded.usage.cost, used.cost, places=9)

	def test_run_whose_worker_is_lost_during_the_summary_makes_it_once_more(self):
		for lost, summary in ((1, SUMMARY), (2, None)):
			with ModelServer(strict=False) as server:
				agent, conversation = self.long_conversation(server, messages=15)
				request = AgentRequest(agent, "Well?", "Administrator", conversation)
				run = start_run(request, RunStatus.QUEUED).name
				for hours in range(lost):
					load_run(leases.acquire_lease(run, now_datetime() + timedelta(hours=hours)))
				server.forever(lambda body: text(SUMMARY if is_for_summary(body) else "Tea it is."))
				result = work_on(run, now_datetime() + timedelta(hours=lost))
			self.assertEqual((result.response, read_summary(conversation)[0]), ("Tea it is.", summary))
			self.assertEqual(result.usage.input_tokens, 100 * len(server.requests))

	def test_summary_watermark_moves_only_from_its_expected_position(self):
		_, conversation = self.long_conversation(None, messages=3)
		self.assertTrue(move_watermark(conversation, 0, 2, "First."))
		self.assertFalse(move_watermark(conversation, 0, 3, "Second."))
		self.assertEqual(read_summary(conversation), ("First.", 2))

	def test_summary_stops_before_the_message_of_a_queued_run(self):
		agent, conversation = self.long_conversation(None, messages=5)
		request = AgentRequest(agent, "Later", "Administrator", conversation)
		waiting = start_run(request, RunStatus.QUEUED).name
		self.add(agent, conversation, range(6, 20))
		rows, _ = read_unsummarised(conversation, LIMIT, [waiting], 8000)
		self.assertEqual(rows[-1].content, "Message 4.")

	def test_blanking_a_run_deletes_the_summary_that_may_contain_it(self):
		agent, conversation = self.long_conversation(None, messages=3)
		run = run_agent_sync(agent, "Hello", conversation_id=conversation)["run"]
		move_watermark(conversation, 0, 2, SUMMARY)
		retention.blank_runs([run])
		self.assertEqual(read_summary(conversation), (None, 2))
		past = read_history(conversation, LIMIT)
		self.assertIn("no longer stored", past.earlier)
		self.assertEqual([message["content"] for message in past.messages], ["Message 3."])

	def test_deleting_a_message_has_the_conversation_summarized_anew_without_it(self):
		with ModelServer() as server:
			agent, conversation = self.long_conversation(server, messages=2 * LIMIT + 1)
			move_watermark(conversation, 0, 4, SUMMARY)
			for sequence, expected in ((5, (SUMMARY, 4)), (2, (None, 0))):
				message = frappe.db.get_value(
					"Agent Message", {"conversation": conversation, "sequence": sequence}
				)
				frappe.delete_doc("Agent Message", message)
				self.assertEqual(read_summary(conversation), expected)
			self.add(agent, conversation, range(10, 13))
			server.script(text("Without two."), text("Fine."))
			run_agent_sync(agent, "Well?", conversation_id=conversation)
		self.assertEqual(set(find_numbers(server.requests[0]["messages"])), {1, 3, 4, 6, 7, 8})

	def long_conversation(self, server, messages, **values):
		agent = make_agent(make_model(server) if server else None, history_limit=LIMIT, **values)
		conversations = ConversationManager(agent)
		conversation = conversations.get_or_create_conversation()
		self.add(agent, conversation, range(1, messages + 1))
		return agent, conversation

	def add(self, agent, conversation, numbers):
		conversations = ConversationManager(agent)
		conversations.conversation = conversation
		for number in numbers:
			conversations.add_message("user" if number % 2 else "agent", f"Message {number}.", run="earlier")
		frappe.db.commit()


def answer(request, find):
	"""Answers with a summary if requested; otherwise with text, after a call for every third message."""
	if is_for_summary(request):
		return text(SUMMARY)
	last = request["messages"][-1]
	if last["role"] == "user" and int(last["content"].split()[1][:-1]) % 3 == 0:
		return tool_call(find, {"limit": 1})
	return text("Well.")


def is_for_summary(request) -> bool:
	return request["messages"][0]["content"] == INSTRUCTIONS


def find_numbers(messages) -> list[int]:
	"""Numbers of the messages that a request contains."""
	whole = "\n".join(message.get("content") or "" for message in messages)
	return [int(number) for number in re.findall(r"Message (\d+)\.", whole)]
