"""A code tool is one file: found in an app's folder, described by its signature, added to an agent."""

import importlib
import io
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import frappe

from huf.ai.agents.tool_factory import create_tool
from huf.ai.core.errors import UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.types import Effect
from huf.ai.tools import registry
from huf.ai.tools.custom_functions import build_user_context
from huf.install import record_offered_tools, refresh_definitions
from huf.tests.base import SiteTestCase, enter

RATES = '''
from typing import Literal
from huf.ai.tools.registry import tool

@tool(effect="read")
def {name}(currency: Literal["EUR", "CZK"], days: list[int] | None = None, places: int = 2) -> dict:
	"""What a currency costs.

	Args:
		currency: The currency to look up:
			euros or crowns
		places: How many places after the point
	"""
	return {{"currency": currency, "places": places}}
'''
SALES = """
from huf.ai.tools.registry import register_tool

async def report(args, user_context):
	return {{"region": args["region"], "for": user_context["user_id"]}}

register_tool("{name}", report, "Sales of a region")
"""


REGISTRY = "huf.ai.tools.registry"


class TestToolFiles(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.app = f"huf_test_app_{frappe.generate_hash(length=8)}"
		self.rates, self.sales = f"rates_{self.app[-8:]}", f"sales_{self.app[-8:]}"
		self.root = Path(enter(self, tempfile.TemporaryDirectory(prefix="huf-test-")))
		self.write("__init__.py", "")
		self.write("hooks.py", f'huf_tools = ["{self.app}.elsewhere"]')
		self.write("elsewhere.py", SALES.format(name=self.sales))
		self.write("huf_tools/rates.py", RATES.format(name=self.rates))
		sys.path.insert(0, str(self.root))
		importlib.invalidate_caches()
		self.addCleanup(sys.path.remove, str(self.root))
		apps = patch("frappe.get_installed_apps", return_value=["frappe", "huf", self.app])
		apps.start()
		self.addCleanup(apps.stop)

	def write(self, path, text):
		file = self.root / self.app / path
		file.parent.mkdir(parents=True, exist_ok=True)
		file.write_text(text)

	def test_tools_are_loaded_from_the_folder_and_the_huf_tools_hook(self):
		names = {each.name for each in registry.list_code_tools() if each.app == self.app}
		self.assertEqual(names, {self.rates, self.sales})

	def test_an_unknown_effect_is_refused_with_the_known_ones(self):
		with self.assertRaisesRegex(ValueError, "'reads' is not an effect. Use read, write or external."):
			registry.declare("reads")

	def test_description_effect_and_schema_come_from_the_decorated_function(self):
		found = registry.find_code_tool(self.app, self.rates)
		self.assertEqual((found.description, found.effect), ("What a currency costs.", Effect.READ))
		self.assertEqual(found.parameters["required"], ["currency"])
		said = "The currency to look up: euros or crowns"
		choices = {"type": "string", "enum": ["EUR", "CZK"], "description": said}
		self.assertEqual(found.parameters["properties"]["currency"], choices)
		days = {"type": ["array", "null"], "items": {"type": "integer"}}
		self.assertEqual(found.parameters["properties"]["days"], days)
		places = {"type": "integer", "description": "How many places after the point", "default": 2}
		self.assertEqual(found.parameters["properties"]["places"], places)

	def test_decorator_without_parentheses_marks_a_function(self):
		bare = f"bare_{self.sales}"
		text = f'from huf.ai.tools.registry import tool\n\n@tool\ndef {bare}():\n\t"""Says nothing."""\n'
		self.write("huf_tools/bare.py", text)
		found = registry.find_code_tool(self.app, bare)
		self.assertEqual((found.description, found.effect), ("Says nothing.", Effect.EXTERNAL))

	def test_tool_of_an_app_that_has_been_installed_can_be_called(self):
		for hook in frappe.get_hooks("after_app_install"):
			frappe.get_attr(hook)(self.app)
		row = frappe.get_doc("Agent Tool Function", self.rates)
		self.assertEqual((row.types, row.provider_app, row.effect), ("App Provided", self.app, "read"))
		result = run_coroutine(create_tool(row).on_invoke_tool(None, '{"currency": "EUR"}'))
		self.assertEqual(frappe.parse_json(result), {"currency": "EUR", "places": 2})

	def test_args_and_context_tool_receives_the_user_context(self):
		found = registry.find_code_tool(self.app, self.sales)
		result = run_coroutine(found({"region": "EMEA"}, build_user_context()))
		self.assertEqual(result, {"region": "EMEA", "for": "Administrator"})

	def test_existing_tool_record_is_not_overwritten(self):
		record_offered_tools()
		frappe.db.set_value("Agent Tool Function", self.rates, "description", "Ours")
		record_offered_tools()
		self.assertEqual(frappe.db.get_value("Agent Tool Function", self.rates, "description"), "Ours")

	def rewrite(self, old: str, new: str):
		"""The tool's record after a change of its code and a migration."""
		self.write("huf_tools/rates.py", RATES.format(name=self.rates).replace(old, new))
		sys.modules.pop(f"{self.app}.huf_tools.rates", None)
		importlib.invalidate_caches()
		refresh_definitions()
		return frappe.get_doc("Agent Tool Function", self.rates)

	def test_effect_follows_the_code_until_somebody_chooses_another(self):
		record_offered_tools()
		self.assertEqual(self.rewrite('effect="read"', 'effect="write"').effect, "write")
		frappe.get_doc("Agent Tool Function", self.rates).update({"effect": "external"}).save()
		self.assertEqual(self.rewrite('effect="read"', 'effect="read", destructive=True').effect, "external")

	def test_description_follows_the_code_until_somebody_writes_another(self):
		record_offered_tools()

		def rewrite(description: str) -> str:
			tool = self.rewrite("What a currency costs.", description)
			self.assertEqual(frappe.parse_json(tool.function_definition)["description"], tool.description)
			return tool.description

		self.assertEqual(rewrite("The rate of a currency."), "The rate of a currency.")
		frappe.get_doc("Agent Tool Function", self.rates).update({"description": "Ours."}).save()
		self.assertEqual(rewrite("Another text in the code."), "Ours.")

	def test_broken_tool_file_is_reported_and_other_tools_still_load(self):
		self.write("huf_tools/broken.py", "import no_such_module_at_all")
		fault = next(fault for fault in registry.list_tool_faults() if self.app in fault)
		self.assertIn("huf_tools.broken could not be loaded: ModuleNotFoundError", fault)
		self.assertTrue(registry.find_code_tool(self.app, self.rates))
		with self.assertRaisesRegex(UsageError, "does not offer 'lost'.*no_such_module_at_all"):
			registry.find_code_tool(self.app, "lost")

	def test_file_that_fails_after_registering_a_tool_registers_none(self):
		text = SALES.format(name=f"half_{self.sales}") + "\n1 / 0"
		self.write("huf_tools/half.py", text)
		names = {each.name for each in registry.list_code_tools() if each.app == self.app}
		self.assertEqual(names, {self.rates, self.sales})

	def test_invalid_tool_name_is_reported(self):
		self.write("huf_tools/odd.py", SALES.format(name="sales of a region"))
		self.assertIn(
			"'sales of a region' is not a name for a tool", registry.load_app_tools(self.app).faults[0]
		)

	def test_tool_name_registered_by_another_file_is_refused(self):
		self.write("huf_tools/second.py", RATES.format(name=self.sales))
		self.assertIn("already registered", registry.load_app_tools(self.app).faults[0])
		self.assertEqual(registry.find_code_tool(self.app, self.sales).module, f"{self.app}.elsewhere")

	def test_tool_name_used_twice_in_one_file_is_refused(self):
		twice = SALES.format(name=f"twice_{self.sales}") + "\nreport_2 = lambda: None\n"
		self.write("huf_tools/twice.py", twice + f'register_tool("twice_{self.sales}", report_2)')
		self.assertIn("ValueError: Tool 'twice_", registry.load_app_tools(self.app).faults[0])

	def test_function_keeps_all_names_and_duplicates_are_refused(self):
		other = f"other_{self.sales}"
		text = SALES.format(name=f"twice_{self.sales}") + f'\nregister_tool("{other}", report, "The same")\n'
		self.write("huf_tools/names.py", text)
		found = registry.load_app_tools(self.app)
		self.assertLessEqual({f"twice_{self.sales}", other}, set(found.tools))
		self.assertEqual(found.faults, [])

		async def report(args, user_context):
			return {}

		registry.register_tool(other, report)
		with self.assertRaisesRegex(ValueError, f"^Tool '{other}' is already registered"):
			registry.register_tool(other, report)

	def test_fault_names_the_line_of_the_file(self):
		self.write("huf_tools/typo.py", f'from {REGISTRY} import tool\n\ndef f(): ...\ntool(efect="read")(f)')
		self.assertRegex(registry.load_app_tools(self.app).faults[0], r"'efect'.* \(typo.py, line 4\)")

	def test_functions_of_other_modules_methods_and_loops_are_registered(self):
		self.write(
			"service.py", "class Service:\n\tdef rate(self, day: str): ...\n\ndef total(day: str): ...\n"
		)
		lines = (
			f"from {self.app}.service import Service, total",
			f"from {REGISTRY} import register_tool, tool",
			f'register_tool("total_{self.sales}", total)',
			f'register_tool("rate_{self.sales}", Service().rate)',
			"for each in ('a', 'b'):",
			f'\tregister_tool(f"{{each}}_{self.sales}", lambda day: day)',
			"def hide(function):\n\treturn lambda *args: function(*args)",
			f"@hide\n@tool\ndef hidden_{self.sales}(day: str): ...",
			f"class Group:\n\t@staticmethod\n\t@tool\n\tdef static_{self.sales}(day: str): ...",
		)
		self.write("huf_tools/wide.py", "\n".join(lines))
		found = registry.load_app_tools(self.app)
		self.assertEqual(found.faults, [])
		for word in ("total", "rate", "a", "b", "hidden", "static"):
			tool = found.tools[f"{word}_{self.sales}"]
			self.assertEqual((tool.app, list(tool.parameters["properties"])), (self.app, ["day"]), word)

	def test_what_is_no_function_is_refused_with_advice(self):
		lines = f"from functools import partial\nfrom {REGISTRY} import register_tool, tool\n"
		for number, (text, advice) in enumerate(
			(
				(
					"class A:\n\t@tool\n\tdef f(self, day): ...",
					r"A.f is a method.*register_tool\('f', some_object.f",
				),
				("register_tool('p', partial(print, 1))", "partial is no function. Write a function"),
				("class A:\n\t@tool\n\t@staticmethod\n\tdef f(day): ...", "put @tool below @staticmethod"),
			)
		):
			with self.subTest(text):
				self.write(f"huf_tools/odd_{number}.py", lines + text)
				self.assertRegex(registry.load_app_tools(self.app).faults[number], advice)

	def test_a_file_instead_of_the_folder_offers_tools(self):
		(self.root / self.app / "huf_tools/rates.py").unlink()
		(self.root / self.app / "huf_tools").rmdir()
		self.write("huf_tools.py", RATES.format(name=self.rates))
		importlib.invalidate_caches()
		self.assertIn(self.rates, registry.load_app_tools(self.app).tools)

	def test_a_similar_name_is_suggested_for_a_lost_tool(self):
		with self.assertRaisesRegex(UsageError, rf"does not offer '{self.rates}s' \(similar: {self.rates}"):
			registry.find_code_tool(self.app, f"{self.rates}s")

	def test_refresh_keeps_the_definition_of_a_tool_whose_file_is_missing(self):
		record_offered_tools()
		before = frappe.db.get_value("Agent Tool Function", self.rates, "function_definition")
		(self.root / self.app / "huf_tools/rates.py").unlink()
		refresh_definitions()
		after = frappe.db.get_value("Agent Tool Function", self.rates, "function_definition")
		self.assertEqual(after, before)

	def test_refresh_does_not_repeat_the_fault_of_a_file_for_each_of_its_tools(self):
		record_offered_tools()
		self.write("huf_tools/rates.py", "import no_such_module_at_all")
		sys.modules.pop(f"{self.app}.huf_tools.rates", None)
		printed = io.StringIO()
		with redirect_stdout(printed):
			refresh_definitions()
		lost = f"The tool {self.rates} cannot be used: The app '{self.app}' does not offer '{self.rates}'"
		self.assertIn(lost, printed.getvalue())
		self.assertNotIn("no_such_module_at_all", printed.getvalue())

	def test_available_tools_description_lists_names_descriptions_and_schemas(self):
		description = registry.get_available_tools_description()
		self.assertIn(f"- {self.sales}: Sales of a region. Arguments: {{", description)
		self.assertIn('"enum": ["EUR", "CZK"]', description)
		with patch("frappe.get_installed_apps", return_value=[]):
			self.assertEqual(registry.get_available_tools_description(), "No tools are currently available.")
