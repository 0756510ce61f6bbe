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
	def test_sync_and_async_functions_return_their_result_as_text(self):
		for function in (at_once, after_a_while, awaited, to_be_awaited):
			with self.subTest(function=function.__name__):
				made = call(function, '{"n": 3}', NUMBER)
				self.assertEqual((made.status, made.text), (CallStatus.SUCCESS, '{"n": 3}'))

	def test_tool_work_returns_text_for_sync_and_async_functions(self):
		for function in (at_once, after_a_while, awaited, to_be_awaited):
			with self.subTest(function=function.__name__):
				tool = create_function_tool("count", "Counts.", NUMBER, function)
				self.assertEqual(tool.work({"n": 3}), '{"n": 3}')

	def test_wrong_arguments_are_a_failed_tool_result(self):
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

	def test_failed_admission_check_is_a_failed_tool_result(self):
		def refuse():
			raise ToolError("Not you.")

		for function in (at_once, awaited):
			with self.subTest(function=function.__name__):
				made = call(function, '{"n": 3}', NUMBER, admit=refuse)
				self.assertEqual(made.status, CallStatus.FAILED)
				self.assertIn("Not you.", made.text)

	def test_msgprint_of_a_tool_is_not_added_to_the_message_log(self):
		def say(n: int) -> str:
			frappe.msgprint("Look here")
			return "said"

		before = len(frappe.local.message_log)
		for effect in (Effect.READ, Effect.WRITE):
			self.assertEqual(call(say, '{"n": 1}', NUMBER, effect=effect).text, "said")
		self.assertEqual(len(frappe.local.message_log), before)
