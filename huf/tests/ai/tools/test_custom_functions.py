"""App functions as tools: which are found, how they are described, how they are called."""

import functools
from datetime import date
from typing import Literal
from unittest import mock

import frappe

from huf.ai.agents.tool_factory import create_tool
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.tools import custom_functions
from huf.ai.tools.registry import tool
from huf.ai.tools.signatures import build_schema
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_tool

HERE = __name__


@tool()
def add(a: int, b: int = 1, note: str | None = None) -> int:
	return a + b


@tool(effect="external")
def schedule(tool: str, day: date | None = None, row: str = "") -> dict:
	return {"tool": tool, "day": day}


def book(action: Literal["create", "cancel"], seats: Literal[1, 2] = 1, mixed: Literal["a", 1] = "a") -> None:
	pass


def subtract(a: int, b: int) -> int:
	return a - b


async def sales_report(args, user_context):
	return {"region": args["region"], "user": user_context["user_id"], "roles": user_context["user_role"]}


class TestCustomFunctions(SiteTestCase):
	def test_a_path_outside_the_installed_apps_is_refused(self):
		for path in ("os.system", "subprocess.run", "builtins.eval", "", "nonsense"):
			with self.subTest(path), self.assertRaisesRegex(UsageError, "installed app"):
				custom_functions.find_app_function(path)

	def test_names_that_an_app_module_only_imports_are_refused(self):
		for path in (
			"huf.ai.tools.custom_functions.inspect.getsource",
			"huf.ai.storage.rows.now",
			"huf.ai.chat.messages.AgentRequest",
		):
			with self.subTest(path), self.assertRaises(UsageError):
				custom_functions.find_app_function(path)

	def test_marked_whitelisted_and_hooked_functions_are_found(self):
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

	def test_functions_not_offered_to_agents_are_refused_with_a_hint(self):
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

	def test_json_schema_is_built_from_the_signature(self):
		schema = build_schema(add)
		self.assertEqual(schema["required"], ["a"])
		self.assertEqual(schema["properties"]["b"], {"type": "integer", "default": 1})
		self.assertEqual(schema["properties"]["note"], {"type": ["string", "null"]})
		self.assertFalse(schema["additionalProperties"])

	def test_literal_choices_have_a_type(self):
		properties = build_schema(book)["properties"]
		self.assertEqual(properties["action"], {"type": "string", "enum": ["create", "cancel"]})
		self.assertEqual(properties["seats"], {"type": "integer", "enum": [1, 2], "default": 1})
		self.assertEqual(properties["mixed"], {"enum": ["a", 1], "default": "a"})

	def test_plain_keyword_arguments_are_passed(self):
		self.assertEqual(custom_functions.call_function(add, {"a": 2, "b": 3}), 5)
		with self.assertRaisesRegex(ToolError, "do not fit"):
			custom_functions.call_function(add, {"c": 2})

	def test_argument_mismatch_is_reported_but_a_type_error_in_the_body_is_raised(
		self,
	):
		@functools.wraps(add)
		def wrapped(*args, **kwargs):
			return add(*args, **kwargs)

		with self.assertRaisesRegex(ToolError, "do not fit"):
			custom_functions.call_function(wrapped, {"c": 2})
		with self.assertRaises(TypeError):
			custom_functions.call_function(add, {"a": "2", "b": 3})

	def test_async_tool_receives_arguments_and_user_context(self):
		result = run_coroutine(custom_functions.call_function(sales_report, {"region": "EMEA"}))
		self.assertEqual((result["region"], result["user"]), ("EMEA", "Administrator"))

	def test_a_tool_record_takes_its_schema_from_the_function(self):
		name = make_tool("Custom Function", function_path=f"{HERE}.add")
		definition = frappe.parse_json(
			frappe.db.get_value("Agent Tool Function", name, "function_definition")
		)
		self.assertEqual(definition["parameters"]["required"], ["a"])

	def test_tool_record_with_an_invalid_function_path_cannot_be_saved(self):
		for path, reason in (("os.system", "installed app"), (f"{HERE}.subtract", "not offered to agents")):
			with self.assertRaisesRegex(frappe.ValidationError, reason):
				make_tool("Custom Function", function_path=path)

	def test_app_provided_tool_is_resolved_by_app_and_function_name(self):
		name = make_tool("App Provided", provider_app="huf", function_path="get_list")
		self.assertEqual(frappe.db.get_value("Agent Tool Function", name, "effect"), "read")
		with self.assertRaisesRegex(frappe.ValidationError, "does not offer"):
			make_tool("App Provided", provider_app="huf")

	def test_parameters_may_be_named_like_those_of_huf(self):
		row = frappe.get_doc(
			"Agent Tool Function", make_tool("Custom Function", function_path=f"{HERE}.schedule")
		)
		result = run_coroutine(create_tool(row).on_invoke_tool(None, '{"tool": "saw", "day": "2026-01-02"}'))
		self.assertEqual(frappe.parse_json(result), {"tool": "saw", "day": "2026-01-02"})

	def test_call_that_does_not_fit_is_refused_before_anybody_is_asked(self):
		row = frappe.get_doc(
			"Agent Tool Function", make_tool("Custom Function", function_path=f"{HERE}.schedule")
		)
		found = create_tool(row)
		self.assertEqual(
			found.describe({"tool": "saw"}),
			{"tool": row.name, "function": row.function_path, "arguments": {"tool": "saw"}},
		)
		with self.assertRaisesRegex(ToolError, "day: .*valid date"):
			found.describe({"tool": "saw", "day": "soon"})
		row.function_path = f"{HERE}.removed"
		with self.assertRaisesRegex(ToolError, "There is no function at"):
			create_tool(row).describe({"tool": "saw"})
