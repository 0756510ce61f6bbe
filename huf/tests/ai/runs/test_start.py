"""A run from the request to its records, through real LiteLLM and a scripted model."""

import json
import time

import frappe

from huf.ai.agents.tool_factory import create_tool
from huf.ai.core.errors import UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.events import EventKind
from huf.ai.core.types import AgentRequest
from huf.ai.loop.guards import SUM_UP
from huf.ai.runs.entry import run_agent, run_agent_sync, stream_agent
from huf.ai.runs.queue import end_run
from huf.ai.runs.start import start_run
from huf.ai.storage.run_rows import request_cancel
from huf.tests.base import SiteTestCase
from huf.tests.drafting import Shop
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import (
	ModelServer,
	call,
	stall,
	text,
	tool_call,
	tool_calls,
	usage,
)


class TestRun(SiteTestCase):
	def test_run_with_three_tool_turns_records_calls_messages_and_cost(self):
		title = unique("Call Anna")
		with ModelServer() as server:
			agent = self.todo_agent(server)
			server.script(
				tool_call(self.create, {"description": title}, usage=usage(100, 10)),
				tool_call(self.list, {"filters": {"description": title}}, usage=usage(200, 10)),
				tool_call(
					self.list, {"filters": {"status": "Open"}, "limit": 1}, usage=usage(300, 10, cached=200)
				),
				text("Done.", usage=usage(400, 20)),
			)
			result = run_agent_sync(agent, "Make a todo and look at it")
		self.assertEqual((result["status"], result["response"], result["steps"]), ("Success", "Done.", 4))
		self.assertEqual((result["input_tokens"], result["output_tokens"]), (1000, 50))
		# USD 1, 2 and 0.5 per million: 800 uncached, 50 output, 200 cached tokens.
		self.assertAlmostEqual(result["total_cost"], (800 + 100 + 100) / 1e6)
		self.assert_rows(result["run"], title)

	def test_request_without_a_conversation_uses_a_new_one_while_another_is_busy(self):
		agent = make_agent()
		first = start_run(AgentRequest(agent, "One", "Administrator"))
		second = start_run(AgentRequest(agent, "Two", "Administrator"))
		self.assertNotEqual(second.conversation, first.conversation)
		with self.assertRaisesRegex(UsageError, "still answering"):
			start_run(AgentRequest(agent, "Three", "Administrator", first.conversation))
		for run in (first, second):
			run_coroutine(end_run(run))
		later = start_run(AgentRequest(agent, "Four", "Administrator"))
		self.assertEqual(later.conversation, first.conversation, "the session continues")
		run_coroutine(end_run(later))

	def assert_rows(self, run, title):
		calls = rows("Agent Tool Call", run, ["tool", "status", "effect", "step", "arguments", "result"])
		self.assertEqual([row.tool for row in calls], [self.create, self.list, self.list])
		self.assertEqual([row.effect for row in calls], ["write", "read", "read"])
		self.assertEqual(json.loads(calls[0].arguments), {"description": title})
		self.assertEqual(json.loads(calls[1].result)["count"], 1)
		model_calls = rows("Agent LLM Call", run, ["step", "status", "input_tokens"])
		self.assertEqual([row.input_tokens for row in model_calls], [100, 200, 300, 400])
		kinds = frappe.get_all("Agent Message", {"run": run}, pluck="kind", order_by="sequence asc")
		self.assertEqual(kinds, ["Message", *["Tool Call", "Tool Result"] * 3, "Message"])
		self.assertEqual(frappe.db.count("ToDo", {"description": title}), 1)

	def test_second_prompt_sends_history_once_with_calls_and_results(self):
		with ModelServer() as server:
			agent = self.todo_agent(server)
			server.script(tool_call(self.list, {"limit": 1}), text("First."), text("Second."))
			first = run_agent_sync(agent, "One")
			run_agent_sync(agent, "Two", conversation_id=first["conversation"])
			sent = server.requests[-1]["messages"]
		self.assertEqual(
			[m["role"] for m in sent], ["system", "user", "assistant", "tool", "assistant", "user"]
		)
		self.assertEqual([m["content"] for m in sent if m["role"] == "user"], ["One", "Two"])
		self.assertEqual(sent[2]["tool_calls"][0]["id"], sent[3]["tool_call_id"])

	def test_request_without_a_conversation_id_continues_the_session_conversation(self):
		with ModelServer() as server:
			agent = self.todo_agent(server)
			server.script(text("First."), text("Second."), text("Third."))
			first, second = run_agent_sync(agent, "One"), run_agent_sync(agent, "Two")
			other = run_agent_sync(agent, "Three", channel_id="mail")
		self.assertEqual(first["conversation"], second["conversation"])
		self.assertNotEqual(first["conversation"], other["conversation"])

	def test_no_write_transaction_is_open_while_the_model_thinks(self):
		with ModelServer() as server:
			agent = self.todo_agent(server)
			writes = []
			server.on_request = lambda body: writes.append(database.transaction_writes)
			server.script(tool_call(self.create, {"description": unique("x")}), text("Done."))
			database = frappe.local.db
			run_agent_sync(agent, "Make a todo")
		self.assertEqual(writes, [0, 0])

	def test_no_write_transaction_is_open_while_stream_events_are_consumed(self):
		with ModelServer() as server, Shop() as shop:
			fetch = make_tool("GET", base_url=shop.url, allow_private_hosts=1, effect="read")
			agent = self.todo_agent(server)
			doc = frappe.get_doc("Agent", agent)
			doc.append("agent_tool", {"tool": fetch})
			doc.save()
			frappe.db.commit()
			both = [call(fetch, {"url": f"/{n}"}) for n in range(2)]
			server.script(tool_calls(both), tool_call(self.list, {"limit": 1}), text("Done."))
			events = stream_agent(AgentRequest(agent, "Look", "Administrator"))
			seen = [frappe.db.transaction_writes for event in events if event]
		self.assertEqual(set(seen), {0})

	def test_reads_and_agents_run_side_by_side_and_writes_do_not(self):
		made = [
			make_tool("GET"),
			make_tool("Run Agent", agent=make_agent()),
			make_tool("Get List", reference_doctype="ToDo"),
			make_tool("Search Knowledge"),
			make_tool("POST"),
			make_tool("Create Document", reference_doctype="ToDo"),
		]
		tools = [create_tool(frappe.get_doc("Agent Tool Function", name)) for name in made]
		self.assertEqual(
			[bool(tool.run_concurrently) for tool in tools], [True, True, True, False, False, False]
		)

	def test_each_call_of_a_turn_receives_a_result(self):
		with ModelServer() as server:
			agent = self.todo_agent(server)
			server.script(
				tool_calls([call(self.list, {"limit": 1}), call("no_such_tool", {})]), text("Well.")
			)
			result = run_agent_sync(agent, "Look")
			seen = [m for m in server.requests[-1]["messages"] if m["role"] == "tool"]
		self.assertEqual(len(seen), 2)
		self.assertIn("There is no tool 'no_such_tool'", seen[1]["content"])
		self.assertEqual(
			[r.status for r in rows("Agent Tool Call", result["run"], ["status"])], ["Success", "Refused"]
		)

	def test_invalid_json_arguments_are_returned_to_the_model_without_a_call(self):
		with ModelServer() as server:
			agent = self.todo_agent(server)
			before = frappe.db.count("ToDo")
			server.script(tool_call(self.create, '{"description": "cut off'), text("Sorry."))
			run_agent_sync(agent, "Make a todo")
			seen = server.requests[-1]["messages"][-1]["content"]
		self.assertIn("not valid JSON", seen)
		self.assertEqual(frappe.db.count("ToDo"), before)

	def test_lone_surrogates_are_replaced_and_do_not_fail_the_run(self):
		half = "\ud83d"
		with ModelServer() as server:
			agent = self.todo_agent(server)
			server.script(
				tool_call(self.create, {"description": f"Call {half}"}), text(f"{half}\ude00 Done {half}.")
			)
			result = run_agent_sync(agent, f"Make a todo {half}")
			events = stream_agent(AgentRequest(agent, f"And {half}?", "Administrator"))
			server.script(text(f"Streamed {half}."))
			streamed = next(event.run for event in events if event)
			list(events)
			sent = [str(request["messages"]) for request in server.requests]
		self.assertEqual(
			(result["status"], result["response"]),
			("Success", "\N{GRINNING FACE} Done \N{REPLACEMENT CHARACTER}."),
		)
		self.assertFalse([each for each in sent if half in each])
		stored = frappe.db.get_value("Agent Message", {"run": streamed, "role": "agent"}, "content")
		self.assertEqual(stored, "Streamed \N{REPLACEMENT CHARACTER}.")

	def test_failed_tool_leaves_no_messages_and_the_run_continues(self):
		with ModelServer() as server:
			agent = self.todo_agent(server)
			server.script(
				tool_call(self.create, {"description": "x", "allocated_to": "nobody@x"}), text("I see.")
			)
			result = run_agent_sync(agent, "Make a todo")
		failed = rows("Agent Tool Call", result["run"], ["status", "error_message"])[0]
		self.assertEqual((result["status"], failed.status), ("Success", "Failed"))
		self.assertFalse(frappe.local.message_log)

	def test_failed_query_does_not_break_later_queries_of_the_run(self):
		# Frappe 15 on Postgres makes an invalid query of this value, which ends the transaction.
		broken = {"filters": [["description", "=", "a=1"]]}
		with ModelServer() as server:
			agent = self.todo_agent(server)
			server.script(
				tool_call(self.list, broken),
				tool_calls([call(self.list, {**broken, "limit": 2}), call(self.list, {"limit": 1})]),
				text("I see."),
			)
			result = run_agent_sync(agent, "Look")
		self.assertEqual(result["status"], "Success")
		self.assertEqual(rows("Agent Tool Call", result["run"], ["status"])[-1].status, "Success")

	def test_the_step_cap_stops_a_run_that_never_answers(self):
		with ModelServer() as server:
			agent = self.todo_agent(server, max_iterations=2)
			calls = [tool_call(self.list, {"limit": 1}), tool_call(self.list, {"limit": 2})]
			server.script(*calls, text("I found one so far."))
			result = run_agent_sync(agent, "Go on for ever")
			*_, second, last = server.requests
		self.assertEqual(
			(result["status"], result["stop_reason"], result["steps"]), ("Stopped", "max_steps", 2)
		)
		warning = "[WARNING: Max steps (2) reached. Response may be incomplete.]"
		self.assertEqual(result["response"], f"{warning}\n\nI found one so far.")
		self.assertEqual(
			(last["messages"][-1]["content"], "tools" in second, "tools" in last), (SUM_UP, True, False)
		)

	def test_run_at_the_step_limit_without_a_summary_returns_its_earlier_text(self):
		with ModelServer() as server:
			agent = self.todo_agent(server, max_iterations=1)
			server.script(
				tool_call(self.list, {"limit": 1}, content="I look."), tool_call(self.list, {"limit": 2})
			)
			result = run_agent_sync(agent, "Go on for ever")
		self.assertEqual((result["stop_reason"], result["steps"]), ("max_steps", 1))
		self.assertTrue(result["response"].endswith("I look."))
		self.assertEqual(frappe.db.count("Agent Tool Call", {"run": result["run"]}), 1)

	def test_run_events_arrive_in_order_with_the_streamed_text(self):
		with ModelServer() as server:
			agent, events = self.todo_agent(server), []
			server.script(tool_call(self.list, {"limit": 1}), text("All done."))
			run_agent(AgentRequest(agent, "Look", "Administrator"), [events.append])
		kinds = [e.kind for e in events if e.kind is not EventKind.TEXT_DELTA]
		expected = ["run_started", "tool_started", "progress", "tool_finished", "run_finished"]
		self.assertEqual([kind.value for kind in kinds], expected)
		self.assertEqual(
			"".join(e.data["text"] for e in events if e.kind is EventKind.TEXT_DELTA), "All done."
		)

	def test_progress_events_name_the_step_its_limit_and_the_tool(self):
		with ModelServer() as server:
			agent, events = self.todo_agent(server, max_iterations=7), []
			tool = frappe.get_doc("Agent Tool Function", self.list)
			tool.update({"description": "List to-dos. Filters are those of a list."}).save()
			server.script(
				tool_call(self.list, {"limit": 1}), tool_call("no_such_tool", {}), text("All done.")
			)
			run_agent(AgentRequest(agent, "Look", "Administrator"), [events.append])
		self.assertEqual(
			[e.data["text"] for e in events if e.kind is EventKind.PROGRESS],
			["Step 1 of 7: List to-dos", "Step 2 of 7: no such tool"],
		)

	def test_run_stalled_in_a_stream_can_be_cancelled_and_keeps_partial_text(self):
		with ModelServer(strict=False) as server:
			agent, cancelled_at = self.todo_agent(server), []
			server.script(stall(text("So far so good, and then silence", chunk_size=6), after_chunks=3))

			def cancel(event):
				if event.kind is EventKind.TEXT_DELTA:
					cancelled_at.append(time.monotonic())
					request_cancel(event.run)
					frappe.db.commit()

			result = run_agent(AgentRequest(agent, "Talk", "Administrator"), [cancel])
		self.assertEqual((result.status.value, result.stop_reason.value), ("Cancelled", "cancelled"))
		self.assertTrue(result.response.startswith("So far"))
		self.assertLess(time.monotonic() - cancelled_at[0], 10)
		recorded = frappe.get_all(
			"Agent Message", {"run": result.run}, pluck="content", order_by="sequence asc"
		)
		self.assertEqual(recorded, ["Talk", result.response])

	def test_an_unpriced_model_has_an_unknown_cost_not_a_zero_one(self):
		with ModelServer() as server:
			agent = self.todo_agent(server, own_prices=0)
			server.script(text("Hello."))
			result = run_agent_sync(agent, "Hi")
		self.assertIsNone(result["total_cost"])
		self.assertEqual(frappe.db.get_value("Agent Run", result["run"], "unpriced_calls"), 1)

	def test_disabled_agent_empty_prompt_and_unknown_agent_are_refused(self):
		agent = make_agent(disabled=1)
		with self.assertRaisesRegex(UsageError, "disabled"):
			run_agent_sync(agent, "Hi")
		with self.assertRaisesRegex(UsageError, "empty"):
			run_agent_sync(agent, "  ")
		with self.assertRaisesRegex(frappe.PermissionError, "no agent"):
			run_agent_sync(unique("Nobody"), "Hi")

	def todo_agent(self, server, own_prices=1, **values):
		self.create = make_tool("Create Document", reference_doctype="ToDo")
		self.list = make_tool("Get List", reference_doctype="ToDo")
		return make_agent(make_model(server, own_prices), (self.create, self.list), **values)


def rows(doctype, run, fields):
	return frappe.get_all(doctype, {"run": run}, fields, order_by="step asc, creation asc")
