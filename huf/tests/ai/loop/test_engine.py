"""The agent loop by itself: scripted model replies, functions as tools, no site."""

import asyncio
import unittest

from huf.ai.core.errors import ModelError
from huf.ai.core.types import CallRequest, Effect, ModelReply, RunStatus, StopReason, Tool, Usage
from huf.ai.loop.engine import run_loop
from huf.ai.loop.guards import Cancelled, StepCap
from huf.ai.loop.model_calls import renew_call_ids
from huf.ai.loop.run_context import NoJournal
from huf.tests.ai.loop.models import FunctionModel
from huf.tests.measuring import time_thread

REQUEST = [{"role": "user", "content": "Hi"}]


class TestLoop(unittest.TestCase):
	def test_an_answer_ends_the_run(self):
		outcome = run(ModelReply("Hello."))
		self.assertEqual((outcome.status, outcome.text, outcome.steps), (RunStatus.SUCCESS, "Hello.", 1))

	def test_the_transcript_holds_each_call_and_its_result(self):
		outcome = run(make_call_reply("double", '{"n": 2}'), ModelReply("Four."))
		self.assertEqual(
			outcome.messages,
			[
				*REQUEST,
				{
					"role": "assistant",
					"content": None,
					"tool_calls": [
						{
							"id": "c1",
							"type": "function",
							"function": {"name": "double", "arguments": '{"n": 2}'},
						}
					],
				},
				{"role": "tool", "tool_call_id": "c1", "content": "4"},
				{"role": "assistant", "content": "Four."},
			],
		)

	def test_calls_with_duplicate_ids_get_unique_ids(self):
		both = tuple(CallRequest("0", "double", f'{{"n": {number}}}') for number in (1, 2))
		third = CallRequest("0", "double", '{"n": 3}')
		outcome = run(ModelReply("", both), ModelReply("", (third,)), ModelReply("Done."))
		called = {
			call["id"]: call["function"]["arguments"]
			for message in outcome.messages
			for call in message.get("tool_calls") or ()
		}
		self.assertEqual(called, {"0": '{"n": 1}', "0_2": '{"n": 2}', "0_3": '{"n": 3}'})
		answered = {
			each["tool_call_id"]: each["content"] for each in outcome.messages if each["role"] == "tool"
		}
		self.assertEqual(answered, {"0": "2", "0_2": "4", "0_3": "6"})

	def test_many_calls_with_the_same_id_are_renamed_within_two_seconds(self):
		reply = ModelReply("", (CallRequest("{", "double", "{}"),) * 10_000)
		renewed: list[ModelReply] = []
		self.assertLess(time_thread(lambda: renewed.append(renew_call_ids(reply, []))), 2)
		self.assertEqual(len({call.id for call in renewed[0].calls}), 10_000)

	def test_an_answer_cut_at_its_limit_is_not_a_success(self):
		outcome = run(ModelReply("Half an ans", finish_reason="length"))
		self.assertEqual(
			(outcome.status, outcome.stop_reason), (RunStatus.STOPPED, StopReason.CONTEXT_BUDGET)
		)

	def test_calls_in_a_cut_answer_are_not_run(self):
		request = CallRequest("c1", "double", '{"n": 2')
		outcome = run(ModelReply("", (request,), finish_reason="length"))
		self.assertEqual((outcome.status, outcome.tool_results), (RunStatus.STOPPED, []))

	def test_the_step_cap_stops_only_runs_that_reach_it(self):
		stopped = run(*[make_call_reply("double", '{"n": 1}')] * 2, guards=[StepCap(2)])
		self.assertEqual((stopped.stop_reason, stopped.steps), (StopReason.MAX_STEPS, 2))
		passed = run(make_call_reply("double", '{"n": 1}'), ModelReply("Two."), guards=[StepCap(2)])
		self.assertEqual(passed.status, RunStatus.SUCCESS)

	def test_a_cancelled_run_does_not_begin_its_next_step(self):
		options = iter([False, True])
		guard = Cancelled(lambda waiting: not waiting and next(options))
		outcome = run(make_call_reply("double", '{"n": 1}'), guards=[guard])
		self.assertEqual((outcome.status, outcome.steps), (RunStatus.CANCELLED, 1))

	def test_a_run_cancelled_during_a_model_call_keeps_the_partial_text(self):
		async def complete(messages, tools, on_text):
			on_text("So far")
			await asyncio.Event().wait()

		guard = Cancelled(lambda waiting: waiting)
		outcome = asyncio.run(run_loop(REQUEST, [], FunctionModel(complete), guards=[guard]))
		self.assertEqual(
			(outcome.status, outcome.text, outcome.is_recorded), (RunStatus.CANCELLED, "So far", False)
		)

	def test_a_model_that_fails_ends_the_run_as_failed(self):
		async def complete(messages, tools, on_text):
			raise ModelError("out of order")

		outcome = asyncio.run(run_loop(REQUEST, [], FunctionModel(complete)))
		self.assertEqual((outcome.status, outcome.error), (RunStatus.FAILED, "out of order"))

	def test_usage_adds_up_and_an_unknown_price_is_counted(self):
		first = make_call_reply("double", '{"n": 1}', usage=Usage(10, 1, cost=None))
		outcome = run(first, ModelReply("Two.", usage=Usage(20, 2, cost=0.5)))
		self.assertEqual(outcome.usage, Usage(30, 3, 0, 0.5, unpriced_calls=1))

	def test_each_call_is_journaled_before_the_next_one_starts(self):
		journal = RecordingJournal()
		run(make_call_reply("double", '{"n": 1}'), ModelReply("Two."), journal=journal)
		self.assertEqual(
			journal.lines,
			[
				"start_model_call 1",
				"finish_model_call 1",
				"start_tool_call 1",
				"finish_tool_call 1",
				"finish_step 1",
				"start_model_call 2",
				"finish_model_call 2",
			],
		)


class RecordingJournal(NoJournal):
	def __init__(self):
		self.lines: list[str] = []

	def __getattribute__(self, name):
		if name.startswith(("start_", "finish_")):
			return lambda step, *rest: self.lines.append(f"{name} {step}")
		return super().__getattribute__(name)


def make_call_reply(name, arguments, **values):
	return ModelReply("", (CallRequest("c1", name, arguments),), **values)


def run(*replies, **options):
	remaining = iter(replies)

	async def complete(messages, tools, on_text):
		return next(remaining)

	async def double(arguments):
		return arguments["n"] * 2

	tool = Tool("double", "Double it", {"type": "object"}, Effect.READ, double)
	return asyncio.run(run_loop(REQUEST, [tool], FunctionModel(complete), **options))
