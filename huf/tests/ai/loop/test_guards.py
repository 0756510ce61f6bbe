"""Each guard stops the runs that it should stop and lets others continue."""

import asyncio
import unittest
from dataclasses import replace

from huf.ai.core.errors import ModelError, ToolError
from huf.ai.core.types import CallRequest, CallStatus, Effect, ModelReply, RunStatus, StopReason, Tool
from huf.ai.loop.engine import run_loop
from huf.ai.loop.guards import NUDGE, Cancelled, Deadline, Stall, ToolFailures
from huf.ai.loop.tool_calls import MAX_CALLS_PER_TURN
from huf.tests.ai.loop.models import FunctionModel

REQUEST = [{"role": "user", "content": "Hi"}]
DONE = ModelReply("Done.")


class LoopTestCase(unittest.TestCase):
	def setUp(self):
		self.count, self.running, self.max_running = 0, 0, 0

	def run_loop(self, *replies, **options):
		remaining = iter(replies)

		async def complete(messages, tools, on_text):
			self.sent = list(messages)
			if reply := next(remaining, None):
				return reply
			raise ModelError("down")

		return asyncio.run(run_loop(REQUEST, self.tools(), FunctionModel(complete), **options))

	def tools(self) -> list[Tool]:
		def tool(name, effect, run, **values):
			return Tool(name, "", {"type": "object"}, effect, run, **values)

		return [
			tool("look", Effect.READ, self.look),
			tool("count", Effect.READ, self.count_up),
			tool("write", Effect.WRITE, self.look),
			tool("fail", Effect.READ, self.raise_error),
			tool("send", Effect.EXTERNAL, self.look),
			tool("send_quietly", Effect.EXTERNAL, self.return_constant),
			tool("twice", Effect.READ, self.count_up, max_calls=2),
			tool("search", Effect.READ, self.search),
			tool("fetch", Effect.READ, self.fetch, run_concurrently=self.fetch),
		]

	async def look(self, arguments):
		return f"seen {arguments}"

	async def search(self, arguments):
		return {**arguments, "results": [], "more": False}

	async def count_up(self, arguments):
		self.count += 1
		return self.count

	async def return_constant(self, arguments):
		return "sent"

	async def raise_error(self, arguments):
		self.count += 1
		raise ToolError(f"out of order, {self.count}")

	async def fetch(self, arguments):
		self.running += 1
		self.max_running = max(self.max_running, self.running)
		await asyncio.sleep(0)
		self.running -= 1
		return arguments


class TestStall(LoopTestCase):
	def test_after_a_repeated_call_the_model_answers_and_the_run_stops(self):
		outcome = self.run_loop(calls("look"), calls("look"), ModelReply("What I have."), guards=[Stall()])
		self.assertEqual((outcome.status, outcome.stop_reason), (RunStatus.STOPPED, StopReason.STALLED))
		self.assertEqual((outcome.text, self.sent[-1]["content"]), ("What I have.", NUDGE))

	def test_a_call_after_the_stall_nudge_is_not_run(self):
		outcome = self.run_loop(calls("look"), calls("look"), calls("write"), guards=[Stall()])
		self.assertEqual((outcome.stop_reason, len(outcome.tool_results)), (StopReason.STALLED, 2))

	def test_a_model_that_is_down_at_the_nudge_is_replaced_and_asked_once(self):
		asked = []

		async def answer(messages, tools, on_text):
			asked.append([message["content"] for message in messages].count(NUDGE))
			return ModelReply("What I have.")

		larger = iter([None, FunctionModel(answer)])
		outcome = self.run_loop(
			calls("look"), calls("look"), guards=[Stall()], escalate=lambda _: next(larger)
		)
		self.assertEqual((outcome.text, asked), ("What I have.", [1]))

	def test_a_run_cancelled_at_the_nudge_keeps_no_nudge(self):
		cancelled = iter([False, False, False, True])
		guards = [Cancelled(lambda is_waiting: not is_waiting and next(cancelled)), Stall()]
		larger = iter([None, FunctionModel(None)])
		outcome = self.run_loop(calls("look"), calls("look"), guards=guards, escalate=lambda _: next(larger))
		self.assertEqual((outcome.stop_reason, outcome.messages[-1]["role"]), (StopReason.CANCELLED, "tool"))

	def test_three_turns_without_new_results_are_a_stall(self):
		turns = [calls("nothing", n) for n in range(3)]
		outcome = self.run_loop(*turns, ModelReply("I cannot."), guards=[Stall()])
		self.assertEqual((outcome.stop_reason, outcome.steps), (StopReason.STALLED, 4))

	def test_three_empty_results_of_different_queries_are_a_stall(self):
		searches = [calls("search", n) for n in range(3)]
		outcome = self.run_loop(*searches, ModelReply("Nothing to be found."), guards=[Stall()])
		self.assertEqual((outcome.stop_reason, outcome.text), (StopReason.STALLED, "Nothing to be found."))

	def test_two_turns_without_new_results_are_no_stall(self):
		turns = [calls("nothing", n) for n in range(2)]
		self.assertEqual(self.run_loop(*turns, DONE, guards=[Stall()]).status, RunStatus.SUCCESS)

	def test_repeating_a_read_after_a_write_is_no_stall(self):
		outcome = self.run_loop(calls("look"), calls("write"), calls("look"), DONE, guards=[Stall()])
		self.assertEqual(outcome.status, RunStatus.SUCCESS)

	def test_repeating_a_read_after_an_external_call_is_no_stall(self):
		outcome = self.run_loop(calls("look"), calls("send"), calls("look"), DONE, guards=[Stall()])
		self.assertEqual(outcome.status, RunStatus.SUCCESS)

	def test_different_external_calls_with_equal_results_are_no_stall(self):
		turns = [calls("send_quietly", n) for n in range(5)]
		self.assertEqual(self.run_loop(*turns, DONE, guards=[Stall()]).status, RunStatus.SUCCESS)

	def test_the_same_external_call_again_is_a_stall(self):
		outcome = self.run_loop(calls("send"), calls("send"), DONE, guards=[Stall()])
		self.assertEqual(outcome.stop_reason, StopReason.STALLED)

	def test_rejected_calls_are_a_stall_only_if_repeated(self):
		async def approve(step, call, later):
			return replace(call, error="Rejected.") if call.tool.name == "send" else call

		turns = [calls("look"), *(calls("send", n) for n in range(4)), calls("look")]
		outcome = self.run_loop(*turns, DONE, guards=[Stall()], approve=approve)
		self.assertEqual(outcome.status, RunStatus.SUCCESS)
		turns = [calls("send", 1)] * 4
		outcome = self.run_loop(*turns, DONE, guards=[Stall()], approve=approve)
		self.assertEqual(outcome.stop_reason, StopReason.STALLED)

	def test_the_same_call_twice_in_one_turn_is_no_stall(self):
		outcome = self.run_loop(several("look", [1, 1]), DONE, guards=[Stall()])
		self.assertEqual(outcome.status, RunStatus.SUCCESS)

	def test_retrying_a_failed_call_is_no_stall(self):
		outcome = self.run_loop(calls("fail"), calls("fail"), DONE, guards=[Stall()])
		self.assertEqual(outcome.status, RunStatus.SUCCESS)


class TestToolFailures(LoopTestCase):
	def test_a_tool_that_fails_twice_in_a_row_ends_the_run(self):
		outcome = self.run_loop(calls("fail", 1), calls("fail", 2), guards=[ToolFailures(2)])
		self.assertEqual((outcome.status, outcome.stop_reason), (RunStatus.STOPPED, StopReason.TOOL_FAILURES))
		self.assertEqual(outcome.error, "Tool fail failed 2 consecutive times. Aborting run.")
		self.assertEqual([o.status for o in outcome.tool_results], [CallStatus.FAILED] * 2)

	def test_parallel_failures_count_as_one(self):
		both = several("fail", range(2))
		self.assertEqual(self.run_loop(both, DONE, guards=[ToolFailures(2)]).status, RunStatus.SUCCESS)
		outcome = self.run_loop(both, both, guards=[ToolFailures(2)])
		self.assertEqual(outcome.error, "Tool fail failed 2 consecutive times. Aborting run.")

	def test_a_successful_call_of_another_tool_does_not_reset_the_failures(self):
		outcome = self.run_loop(calls("fail", 1), calls("look"), calls("fail", 2), guards=[ToolFailures(2)])
		self.assertEqual(outcome.stop_reason, StopReason.TOOL_FAILURES)

	def test_one_failure_and_calls_of_unknown_tools_do_not_stop_the_run(self):
		turns = [calls("fail", 1), calls("nothing", 1), calls("nothing", 2)]
		self.assertEqual(self.run_loop(*turns, DONE, guards=[ToolFailures(2)]).status, RunStatus.SUCCESS)


class TestDeadline(LoopTestCase):
	def test_no_step_begins_after_the_deadline(self):
		clock = iter([1, 6])
		outcome = self.run_loop(calls("look"), guards=[Deadline(5, 0, lambda: next(clock))])
		self.assertEqual((outcome.stop_reason, outcome.steps), (StopReason.TIMEOUT, 1))
		self.assertIn("5 seconds", outcome.error)

	def test_a_run_before_its_deadline_continues(self):
		self.assertEqual(self.run_loop(DONE, guards=[Deadline(5, 0, lambda: 4.9)]).status, RunStatus.SUCCESS)


class TestCalls(LoopTestCase):
	def test_a_repeated_read_is_answered_from_the_cache(self):
		outcome = self.run_loop(calls("count"), calls("count"), DONE)
		self.assertEqual([(o.text, o.cached) for o in outcome.tool_results], [("1", False), ("1", True)])

	def test_a_write_invalidates_cached_reads(self):
		outcome = self.run_loop(calls("count"), calls("write"), calls("count"), DONE)
		self.assertEqual([o.text for o in outcome.tool_results][::2], ["1", "2"])

	def test_reads_with_different_arguments_are_cached_separately(self):
		outcome = self.run_loop(calls("count", 1), calls("count", 2), DONE)
		self.assertEqual([o.text for o in outcome.tool_results], ["1", "2"])

	def test_calls_above_the_call_limit_of_a_tool_are_refused(self):
		outcome = self.run_loop(*[calls("twice", n) for n in range(3)], DONE)
		self.assertEqual([o.ok for o in outcome.tool_results], [True, True, False])
		self.assertIn("its limit of 2 calls", outcome.tool_results[-1].text)

	def test_calls_above_the_limit_per_turn_get_an_error_result(self):
		outcome = self.run_loop(several("look", range(200)), DONE)
		self.assertEqual(sum(o.ok for o in outcome.tool_results), MAX_CALLS_PER_TURN)
		self.assertEqual(len(outcome.tool_results), 200)

	def test_network_calls_run_concurrently_and_results_keep_their_order(self):
		outcome = self.run_loop(several("fetch", range(5)), DONE)
		self.assertEqual(self.max_running, 5)
		self.assertEqual([o.text for o in outcome.tool_results], [f'{{"n": {n}}}' for n in range(5)])

	def test_a_turn_that_includes_a_database_call_runs_sequentially(self):
		mixed = [call("fetch", 1), call("look", 1), call("fetch", 2)]
		self.run_loop(ModelReply("", tuple(mixed)), DONE)
		self.assertEqual(self.max_running, 1)


def call(name: str, n: int = 1) -> CallRequest:
	return CallRequest(f"c{n}", name, f'{{"n": {n}}}')


def calls(name: str, n: int = 1) -> ModelReply:
	return several(name, [n])


def several(name: str, numbers) -> ModelReply:
	return ModelReply("", tuple(call(name, n) for n in numbers))
