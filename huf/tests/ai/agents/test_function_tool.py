"""Synchronous and asynchronous functions as tools: results, errors and admission checks."""

import json
import sys
import time

import frappe

from huf.ai.agents.function_tool import create_function_tool
from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.session import acting_as
from huf.ai.core.types import CallRequest, CallStatus, Effect
from huf.ai.loop.tool_calls import perform, prepare
from huf.ai.providers.sdk_agent import to_loop_tool
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_user

ANY = {"type": "object", "properties": {}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def run_now(n: int) -> dict:
	return {"n": n}


def run_slowly(n: int) -> dict:
	time.sleep(0.02)
	return {"n": n}


async def run_async(n: int) -> dict:
	return {"n": n}


def return_coroutine(n: int):
	return run_async(n)


def call(function, arguments: str, parameters: dict = ANY, **options):
	tool = to_loop_tool(create_function_tool("count", "Counts.", parameters, function, **options))
	(prepared,) = prepare((CallRequest("c1", "count", arguments),), {"count": tool})

	async def perform_call():
		return await perform(prepared)

	return run_coroutine(perform_call())


class TestFunctionTools(SiteTestCase):
	def test_sync_and_async_functions_return_their_result_as_text(self):
		for function in (run_now, run_slowly, run_async, return_coroutine):
			with self.subTest(function=function.__name__):
				result = call(function, '{"n": 3}', NUMBER)
				self.assertEqual((result.status, result.text), (CallStatus.SUCCESS, '{"n": 3}'))

	def test_tool_work_returns_text_for_sync_and_async_functions(self):
		for function in (run_now, run_slowly, run_async, return_coroutine):
			with self.subTest(function=function.__name__):
				tool = create_function_tool("count", "Counts.", NUMBER, function)
				self.assertEqual(tool.work({"n": 3}), '{"n": 3}')

	def test_wrong_arguments_are_a_failed_tool_result(self):
		for function in (run_now, run_slowly, run_async, return_coroutine):
			with self.subTest(function=function.__name__):
				result = call(function, '{"m": 3}')
				self.assertEqual(result.status, CallStatus.FAILED)
				self.assertIn("unexpected keyword argument", result.text)

	def test_a_document_is_returned_with_the_fields_that_the_user_may_read(self):
		agent, user = make_agent(instructions="SECRET"), make_user("Huf User")
		with acting_as(user):
			one, several = (
				call(function, "{}").text
				for function in (
					lambda: frappe.get_doc("Agent", agent),
					lambda: [frappe.get_doc("Agent", agent)],
				)
			)
		self.assertEqual(json.loads(several), [json.loads(one)])
		self.assertEqual(json.loads(one)["name"], agent)
		self.assertNotIn("SECRET", one)

	def test_a_function_that_exits_ends_its_call_only(self):
		async def exit_async():
			sys.exit(2)

		for function in (lambda: sys.exit(2), exit_async):
			result = call(function, "{}")
			self.assertEqual(result.status, CallStatus.FAILED)
			self.assertIn("sys.exit(2)", result.text)

	def test_a_missing_permission_is_named_to_the_model(self):
		def write():
			frappe.get_doc("User", "Administrator").raise_no_permission_to("write")

		result = call(write, "{}")
		self.assertEqual(result.status, CallStatus.FAILED)
		self.assertIn("You need the 'write' permission on User Administrator", result.text)

	def test_missing_values_are_said_to_be_missing(self):
		def insert():
			frappe.get_doc({"doctype": "ToDo"}).insert()

		self.assertRegex(call(insert, "{}").text, r'"Values are missing in \[ToDo, \w+\]: description"')

		def refuse():
			frappe.throw("Company is mandatory", frappe.MandatoryError)

		self.assertIn('"error": "Company is mandatory"', call(refuse, "{}").text)

	def test_message_of_frappe_reaches_the_model_without_its_tags(self):
		for error in (frappe.ValidationError, frappe.PermissionError):

			def refuse(error=error):
				frappe.throw(' <b>Cancel</b> <a href="/app/order/1">1</a> first', error)

			self.assertIn('"error": "Cancel 1 first"', call(refuse, "{}").text)

	def test_message_without_its_tags_keeps_its_words_apart_and_its_comparisons(self):
		def refuse():
			frappe.throw("Only 3 < 5 in <b>Rate</b>.<br>Choose:<ul><li>Email</li><li>Phone</li></ul>")

		self.assertIn('"error": "Only 3 < 5 in Rate. Choose: Email Phone"', call(refuse, "{}").text)

	def test_failed_admission_check_is_a_failed_tool_result(self):
		def refuse():
			raise ToolError("Not you.")

		for function in (run_now, run_async):
			with self.subTest(function=function.__name__):
				result = call(function, '{"n": 3}', NUMBER, admit=refuse)
				self.assertEqual(result.status, CallStatus.FAILED)
				self.assertIn("Not you.", result.text)

	def test_msgprint_of_a_tool_is_not_added_to_the_message_log(self):
		def say(n: int) -> str:
			frappe.msgprint("Look here")
			return "said"

		before = len(frappe.local.message_log)
		for effect in (Effect.READ, Effect.WRITE):
			self.assertEqual(call(say, '{"n": 1}', NUMBER, effect=effect).text, "said")
		self.assertEqual(len(frappe.local.message_log), before)
