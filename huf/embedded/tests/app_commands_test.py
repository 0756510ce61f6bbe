"""`huf new-app` creates an app whose Python tools agents can call."""

import sys

import frappe
from click.testing import CliRunner

from huf.ai.runs.entry import run_agent_sync
from huf.ai.tools import registry
from huf.embedded.app_commands import write_app
from huf.embedded.cli import cli
from huf.embedded.tests.sites import SiteTestCase, isolated
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call


class TestNewApp(SiteTestCase):
	def run_huf(self, *arguments: str):
		return isolated(CliRunner().invoke, cli, ["--home", str(self.home), *arguments])

	def make_app(self) -> str:
		name = f"tools_{frappe.generate_hash(length=6)}"
		result = self.run_huf("new-app", name)
		self.assertEqual(result.exit_code, 0, result.output)
		self.assertIn(f"{name}.huf_tools.example.add_vat", result.output)
		project = (self.home / "apps" / name / "pyproject.toml").read_text()
		self.assertIn(f'name = "{name}"', project, "pip and a bench install it")
		frappe.init(frappe.local.site, sites_path=self.sites_path, force=True)
		frappe.connect()
		return name

	def test_agent_calls_a_python_tool_of_a_new_app(self):
		name = self.make_app()
		self.assertEqual(frappe.db.get_value("Agent Tool Function", "add_vat", "provider_app"), name)
		path = f"{name}.huf_tools.example.add_vat"
		custom_tool = make_tool("Custom Function", function_path=path, effect="read")
		with ModelServer() as server:
			agent = make_agent(make_model(server), ("add_vat", custom_tool))
			server.script(tool_call("add_vat", {"net": 10}), tool_call(custom_tool, {"net": 10}), text("12."))
			result = run_agent_sync(agent, unique("What is 10 with tax?"))
		self.assertEqual(result["response"], "12.", result)
		tool_results = [each["content"] for each in server.requests[-1]["messages"] if each["role"] == "tool"]
		self.assertEqual(tool_results, ['{"gross": 12.0}'] * 2)

	def test_app_that_another_site_made_is_installed_from_its_folder(self):
		name = f"tools_{frappe.generate_hash(length=6)}"
		write_app(self.home / "apps" / name, name)
		refused = self.run_huf("new-app", name)
		self.assertIn(f"install it with `huf install-app {name}`", refused.output)
		result = self.run_huf("install-app", name)
		self.assertEqual(result.exit_code, 0, result.output)
		frappe.init(frappe.local.site, sites_path=self.sites_path, force=True)
		frappe.connect()
		self.assertIn(name, frappe.get_installed_apps())
		self.assertTrue(registry.find_code_tool(name, "add_vat"))
		self.assertIn(f"The app {name} is installed", self.run_huf("install-app", name).output)

	def test_what_is_no_app_is_not_installed(self):
		for name, reason in (
			("nowhere_at_all", "There is no app"),
			("json", "it has no hooks.py"),
			("../up", "no app"),
		):
			result = self.run_huf("install-app", name)
			self.assertEqual(result.exit_code, 1, result.output)
			self.assertIn(reason, result.output)

	def test_execute_awaits_a_tool_and_prints_its_error_in_one_sentence(self):
		name = self.make_app()
		tool = "async def double(n):\n\tif n < 0:\n\t\traise ToolError('Not below 0.')\n\treturn 2 * n\n"
		file = self.home / "apps" / name / name / "huf_tools" / "more.py"
		file.write_text(f"from huf.ai.core.errors import ToolError\n\n\n{tool}")
		words = ("execute", f"{name}.huf_tools.more.double", "--kwargs")
		self.assertEqual(self.run_huf(*words, '{"n": 4}').output, "8\n")
		dated = "from datetime import date\n\nfrom huf.ai.tools.registry import tool\n\n\n@tool\n"
		file.with_name("dated.py").write_text(f"{dated}def get_year(day: date):\n\treturn day.year\n")
		year = ("execute", f"{name}.huf_tools.dated.get_year", "--kwargs")
		self.assertEqual(self.run_huf(*year, '{"day": "2026-01-02"}').output, "2026\n")
		self.assertIn("should be a valid date", self.run_huf(*year, '{"day": "soon"}').output)
		self.assertEqual(self.run_huf(*words, '{"n": -4}').output, "Error: Not below 0.\n")

	def test_example_test_of_a_new_app_passes_on_a_site_of_its_own(self):
		name = self.make_app()
		before = frappe.get_all("Agent", pluck="name", order_by="name asc")
		result = self.run_huf("test", name)
		self.assertEqual(result.exit_code, 0, result.output)
		self.assertRegex(result.output, r"test_agent_adds_vat .*ok")
		self.assertEqual(frappe.get_all("Agent", pluck="name", order_by="name asc"), before)

	def test_failing_and_missing_tests_exit_with_an_error(self):
		name = self.make_app()
		folder = self.home / "apps" / name / name / "tests"
		(folder / "test_example.py").unlink()
		self.assertIn("has no tests", self.run_huf("test", name).output)
		body = (
			"from unittest import TestCase\n\n"
			"class TestX(TestCase):\n\tdef test_x(self):\n\t\tself.fail('Not yet')\n"
		)
		(folder / "test_other.py").write_text(body)
		result = self.run_huf("test", name, f"{name}.tests.test_other")
		self.assertEqual(result.exit_code, 1, result.output)
		self.assertIn("Not yet", result.output)
		self.assertIn("is not installed here", self.run_huf("test", "nowhere").output)
		refused = self.run_huf("test", name, "test_other")
		self.assertIn(f"Error: test_other is not a test of {name}. Write the whole name", refused.output)

	def test_errors_prints_the_latest_tracebacks(self):
		for word in ("first", "second", "third"):
			frappe.get_doc(
				{"doctype": "Error Log", "method": f"The {word}", "error": f"{word} trace"}
			).insert()
		frappe.db.commit()
		printed = self.run_huf("errors", "--last", "2").output
		self.assertNotIn("first trace", printed)
		self.assertRegex(printed, r"(?s)\d\d:\d\d  The second\nsecond trace\n.*The third\nthird trace")

	def test_doctor_names_a_renamed_tool_with_its_agents(self):
		name, tool = self.make_app(), f"look_{frappe.generate_hash(length=8)}"
		file = self.home / "apps" / name / name / "huf_tools" / "more.py"
		text = "from huf.ai.tools.registry import tool\n\n\n@tool(effect='read')\ndef {}(): ...\n"
		file.write_text(text.format(tool))
		self.run_huf("migrate")
		agent = make_agent(tools=(tool,))
		file.write_text(text.format(f"{tool}_up"))
		sys.modules.pop(f"{name}.huf_tools.more", None)
		reason = f"The app '{name}' does not offer '{tool}' (similar: {tool}_up)."
		line = next(line for line in self.run_huf("doctor").output.splitlines() if " tools " in line)
		self.assertIn("WRONG", line)
		self.assertIn(f"The tool {tool} (agents: {agent}) cannot be called: {reason}", line)

	def test_packs_says_why_a_pack_of_an_app_cannot_be_read(self):
		name = self.make_app()
		folder = self.home / "apps" / name / name / "huf_packs" / "broken"
		folder.mkdir(parents=True)
		(folder / "pack.yaml").write_text("pack: broken\n")
		line = next(line for line in self.run_huf("packs").output.splitlines() if line.startswith("broken "))
		self.assertIn("pack.yaml: Line 1: a pack needs title.", line)

	def test_migrate_names_the_file_of_an_app_that_cannot_be_imported(self):
		name = self.make_app()
		package = self.home / "apps" / name / name
		for path in (f"{name}/doctype/order/order.json", "fixtures/role.json"):
			with self.subTest(path):
				file = package / path
				file.parent.mkdir(parents=True)
				file.write_text("{broken")
				result = self.run_huf("migrate")
				self.assertIn(f"{file} cannot be imported", result.stderr)
				self.assertIsInstance(result.exception, ValueError)
				file.unlink()

	def test_taken_or_invalid_app_names_are_refused_without_creating_an_app(self):
		for name in ("json", "huf", "My App", "../up"):
			result = self.run_huf("new-app", name)
			self.assertEqual(result.exit_code, 1, result.output)
		self.assertFalse((self.home / "apps" / "json").exists())
