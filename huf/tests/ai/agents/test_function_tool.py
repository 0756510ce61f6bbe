import time

import frappe

from huf.ai.agents.function_tool import create_function_tool
from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.types import CallRequest, CallStatus, Effect
from huf.ai.loop.tool_calls import perform, prepare
from huf.ai.providers.sdk_agent import to_loop_tool
from huf.tests.base import SiteTestCase

ANY = {"type": "object", "properties": {}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def at_once(n: int) -> dict:
	return {"n": n}


def after_a_while(n: int) -> dict:
	time.sleep(0.02)
	return {"n": n}


async def awaited(n: int) -> dict:
	return {"n": n}


def to_be_awaited(n: int):
	return awaited(n)


def call(function, arguments: str, parameters: dict = ANY, **options):
	tool = to_loop_tool(create_function_tool("count", "Counts.", parameters, function, **options))
	(prepared,) = prepare((CallRequest("c1", "count", arguments),), {"count": tool})

	async def made():
		return await perform(prepared)

	return run_coroutine(made())


class TestFunctionTools(SiteTestCase):
	def test_each_kind_of_function_gives_its_result_as_text(self):
		for function in (at_once, after_a_while, awaited, to_be_awaited):
			with self.subTest(function=function.__name__):
				made = call(function, '{"n": 3}', NUMBER)
				self.assertEqual((made.status, made.text), (CallStatus.SUCCESS, '{"n": 3}'))

	def test_so_does_a_call_that_is_made_as_a_whole(self):
		for function in (at_once, after_a_while, awaited, to_be_awaited):
			with self.subTest(function=function.__name__):
				tool = create_function_tool("count", "Counts.", NUMBER, function)
				self.assertEqual(tool.work({"n": 3}), '{"n": 3}')

	def test_what_is_not_fit_to_be_called_is_an_observation_of_every_kind(self):
		for function in (at_once, after_a_while, awaited, to_be_awaited):
			with self.subTest(function=function.__name__):
				made = call(function, '{"m": 3}')
				self.assertEqual(made.status, CallStatus.FAILED)
				self.assertIn("unexpected keyword argument", made.text)

	def test_a_missing_permission_is_named_to_the_model(self):
		def write():
			frappe.get_doc("User", "Administrator").raise_no_permission_to("write")

		made = call(write, "{}")
		self.assertEqual(made.status, CallStatus.FAILED)
		self.assertIn("You need the 'write' permission on User Administrator", made.text)

	def test_whoever_is_not_admitted_is_told_and_nothing_is_called(self):
		def refuse():
			raise ToolError("Not you.")

		for function in (at_once, awaited):
			with self.subTest(function=function.__name__):
				made = call(function, '{"n": 3}', NUMBER, admit=refuse)
				self.assertEqual(made.status, CallStatus.FAILED)
				self.assertIn("Not you.", made.text)

	def test_what_a_tool_said_to_people_stays_out_of_their_messages(self):
		def say(n: int) -> str:
			frappe.msgprint("Look here")
			return "said"

		before = len(frappe.local.message_log)
		for effect in (Effect.READ, Effect.WRITE):
			self.assertEqual(call(say, '{"n": 1}', NUMBER, effect=effect).text, "said")
		self.assertEqual(len(frappe.local.message_log), before)
