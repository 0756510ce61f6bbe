"""An identical write is made once per run, unless another write may have reverted it."""

import asyncio
import unittest

from huf.ai.core.types import CallRequest, Effect, Tool
from huf.ai.loop.run_context import NoJournal, ignore
from huf.ai.loop.tool_calls import ToolRunner, prepare

ANY = {"type": "object", "properties": {}}


class TestIdenticalWrites(unittest.TestCase):
	def setUp(self):
		self.executed: list[str] = []
		self.approved: list[str] = []

	def run_calls(self, *calls: str) -> list:
		"""Run calls, each written as tool:argument, one per turn."""
		names = {each.partition(":")[0] for each in calls}
		tools = {name: self.make_tool(name) for name in names}
		runner = ToolRunner((), NoJournal(), ignore, self.approve)

		async def run():
			results = []
			for number, each in enumerate(calls):
				name, _, value = each.partition(":")
				request = CallRequest(f"c{number}", name, f'{{"value": "{value}"}}')
				results += await runner.run(number, prepare((request,), tools))
			return results

		return asyncio.run(run())

	def make_tool(self, name: str) -> Tool:
		async def work(arguments):
			self.executed.append(f"{name}:{arguments['value']}")
			return f"{name} number {len(self.executed)}"

		effect = Effect.READ if name == "read" else Effect.WRITE
		return Tool(name, name, ANY, effect, work, creates=name == "create")

	async def approve(self, step, call, later):
		self.approved.append(call.request.id)
		return call

	def test_an_identical_write_returns_the_first_result_without_approval(self):
		first, second = self.run_calls("create:a", "create:a")
		self.assertEqual((self.executed, second.text, second.cached), (["create:a"], first.text, True))
		self.assertEqual(self.approved, ["c0"])

	def test_identical_creates_are_skipped_after_creating_other_documents(self):
		self.run_calls("create:a", "create:b", "create:a", "read:x", "create:b")
		self.assertEqual(self.executed, ["create:a", "create:b", "read:x"])

	def test_a_write_is_repeated_if_another_write_may_have_reverted_it(self):
		calls = ["set:open", "set:closed", "set:open", "create:a", "delete:a", "create:a"]
		self.run_calls(*calls)
		self.assertEqual(self.executed, calls)
