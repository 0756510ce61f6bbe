"""`huf import-openapi` lists, imports and replaces tools, and reports errors."""

import json

import frappe
from click.testing import CliRunner

from huf.embedded.cli import cli
from huf.embedded.tests.sites import SiteTestCase, isolated
from huf.tests.ai.setup.test_openapi_import import make_document

SECRET = "sk-typed-at-the-prompt"
TOOL = "Agent Tool Function"


class TestImportOpenapi(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.file = self.home / "orders.json"
		self.file.write_text(json.dumps(make_document()))

	def run_huf(self, *words: str, typed: str = ""):
		command = ["--home", str(self.home), "import-openapi", str(self.file), *words]
		return isolated(CliRunner().invoke, cli, command, input=typed)

	def test_operations_are_listed_and_only_chosen_ones_imported(self):
		listed = self.run_huf("--base-url", "https://orders.example")
		self.assertIn("GET /orders/{orderId}  getOrder  read  needs X-Key", listed.output)
		self.assertRegex(listed.output, "POST /files +cannot: A required part cannot be sent: body")
		self.assertFalse(frappe.db.exists(TOOL, "getOrder"))
		words = (
			"--only",
			"GET /orders/{orderId}",
			"--base-url",
			"https://orders.example",
			"--header",
			"X-Key",
		)
		imported = self.run_huf(*words, typed=f"{SECRET}\n")
		self.assertIn("Made getOrder (GET /orders/{orderId})", imported.output)
		self.assertNotIn(SECRET, imported.output)
		frappe.db.rollback()
		self.assertEqual(frappe.get_doc(TOOL, "getOrder").headers[0].get_password("value"), SECRET)
		again = self.run_huf(*words[:4])
		self.assertEqual(again.exit_code, 1)
		self.assertIn("The tool getOrder exists. Add --replace getOrder", again.output)
		self.assertIn("Replaced getOrder", self.run_huf(*words[:4], "--replace", "getOrder").output)

	def test_unknown_operation_is_named_in_the_error(self):
		result = self.run_huf("--only", "GET /nothing", "--base-url", "https://orders.example")
		self.assertEqual(result.exit_code, 1)
		self.assertIn("cannot become tools: GET /nothing. Leave out --only", result.output)

	def test_missing_server_url_and_invalid_document_are_reported(self):
		self.assertIn("Enter a base URL", self.run_huf().output)
		self.file.write_text("nothing")
		result = self.run_huf()
		self.assertEqual(result.exit_code, 1)
		self.assertIn("not an OpenAPI document", result.output)
