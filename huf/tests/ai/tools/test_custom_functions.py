"""Functions that apps lend: which are found, how they are described, how they are called."""

import functools
from unittest import mock

import frappe

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.tools import custom_functions
from huf.ai.tools.registry import tool
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_tool

HERE = __name__


@tool()
def add(a: int, b: int = 1, note: str | None = None) -> int:
	return a + b


def subtract(a: int, b: int) -> int:
	return a - b


async def sales_report(args, user_context):
	return {"region": args["region"], "user": user_context["user_id"], "roles": user_context["user_role"]}


class TestCustomFunctions(SiteTestCase):
	def test_a_path_outside_the_installed_apps_is_refused(self):
		for path in ("os.system", "subprocess.run", "builtins.eval", "", "nonsense"):
			with self.subTest(path), self.assertRaisesRegex(UsageError, "installed app"):
				custom_functions.find_app_function(path)

	def test_what_an_app_only_imports_is_not_its_own(self):
		for path in (
			"huf.ai.tools.custom_functions.inspect.getsource",
			"huf.ai.storage.rows.now",
			"huf.ai.chat.messages.AgentRequest",
		):
			with self.subTest(path), self.assertRaises(UsageError):
				custom_functions.find_app_function(path)

	def test_what_an_app_offers_is_found(self):
		for path in (
			f"{HERE}.add",
			"frappe.client.get_list",
			"huf.ai.tool_functions.create_document",
			"huf.ai.mail.tools.escalate",
		):
			with self.subTest(path):
				self.assertTrue(callable(custom_functions.find_offered_function(path)))
		offer = {"tool_name": "subtract", "function_path": f"{HERE}.subtract"}
		with mock.patch.object(frappe, "get_hooks", return_value=[offer]):
			self.assertIs(custom_functions.find_offered_function(f"{HERE}.subtract"), subtract)

	def test_what_an_app_does_not_offer_is_refused_with_the_way_to_offer_it(self):
		for path in (
			"frappe.get_all",
			"frappe.set_user",
			"frappe.db.sql",
			"frappe.utils.password.get_decrypted_password",
			"huf.ai.storage.rows.insert_row",
			"huf.ai.tools.custom_functions.find_app_function",
			"huf.ai.agent_manager.run_agent_sync",
			"huf.api.draft.approve",
			"huf.api.agent.chat",
			"huf.permissions.has_permission",
			f"{HERE}.subtract",
		):
			with self.subTest(path), self.assertRaises(UsageError) as refused:
				custom_functions.find_offered_function(path)
			self.assertRegex(str(refused.exception), "@tool.*whitelist.*huf_tools|not a function|no function")

	def test_the_signature_gives_the_schema(self):
		schema = custom_functions.build_schema(add)
		self.assertEqual(schema["required"], ["a"])
		self.assertEqual(schema["properties"]["b"], {"type": "integer"})
		self.assertEqual(schema["properties"]["note"], {"type": ["string", "null"]})
		self.assertFalse(schema["additionalProperties"])

	def test_plain_keyword_arguments_are_passed(self):
		self.assertEqual(custom_functions.call_function(add, {"a": 2, "b": 3}), 5)
		with self.assertRaisesRegex(ToolError, "do not fit"):
			custom_functions.call_function(add, {"c": 2})

	def test_arguments_that_do_not_fit_are_told_behind_a_decorator_too_and_faults_within_are_not_taken_for_it(
		self,
	):
		@functools.wraps(add)
		def wrapped(*args, **kwargs):
			return add(*args, **kwargs)

		with self.assertRaisesRegex(ToolError, "do not fit"):
			custom_functions.call_function(wrapped, {"c": 2})
		with self.assertRaises(TypeError):
			custom_functions.call_function(add, {"a": "2", "b": 3})

	def test_an_async_tool_gets_its_arguments_and_who_asks(self):
		said = run_coroutine(custom_functions.call_function(sales_report, {"region": "EMEA"}))
		self.assertEqual((said["region"], said["user"]), ("EMEA", "Administrator"))

	def test_a_tool_record_takes_its_schema_from_the_function(self):
		name = make_tool("Custom Function", function_path=f"{HERE}.add")
		definition = frappe.parse_json(
			frappe.db.get_value("Agent Tool Function", name, "function_definition")
		)
		self.assertEqual(definition["parameters"]["required"], ["a"])

	def test_a_tool_record_with_a_wrong_path_says_so_when_it_is_saved(self):
		for path, reason in (("os.system", "installed app"), (f"{HERE}.subtract", "not offered to agents")):
			with self.assertRaisesRegex(frappe.ValidationError, reason):
				make_tool("Custom Function", function_path=path)

	def test_an_offered_tool_is_found_by_its_app_and_name(self):
		name = make_tool("App Provided", provider_app="huf", function_path="get_list")
		self.assertEqual(frappe.db.get_value("Agent Tool Function", name, "effect"), "read")
		with self.assertRaisesRegex(frappe.ValidationError, "does not offer"):
			make_tool("App Provided", provider_app="huf")
