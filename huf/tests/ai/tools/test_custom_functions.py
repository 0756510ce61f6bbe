"""Functions that apps lend: which are found, how they are described, how they are called."""

import functools

import frappe

from huf.ai.concurrency.event_loops import run_coroutine
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.tools import custom_functions
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_tool

HERE = __name__


def add(a: int, b: int = 1, note: str | None = None) -> int:
	return a + b


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

	def test_of_frappe_only_whitelisted_functions_are_found(self):
		self.assertTrue(custom_functions.find_app_function("frappe.client.get_list"))
		with self.assertRaisesRegex(UsageError, "internal to Frappe"):
			custom_functions.find_app_function("frappe.get_all")

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
		with self.assertRaisesRegex(frappe.ValidationError, "installed app"):
			make_tool("Custom Function", function_path="os.system")

	def test_an_offered_tool_is_found_by_its_app_and_name(self):
		name = make_tool("App Provided", provider_app="huf", function_path="get_list")
		self.assertEqual(frappe.db.get_value("Agent Tool Function", name, "effect"), "read")
		with self.assertRaisesRegex(frappe.ValidationError, "does not offer"):
			make_tool("App Provided", provider_app="huf")
