"""`huf import-agent` reports what it would create, creates the agent and refuses invalid files."""

import json

import frappe
from click.testing import CliRunner

from huf.embedded.cli import cli
from huf.embedded.tests.sites import SiteTestCase, isolated
from huf.tests.agent_exports import make_workflow


class TestImportAgent(SiteTestCase):
	def run_huf(self, *words: str):
		return isolated(CliRunner().invoke, cli, ["--home", str(self.home), "import-agent", *words])

	def test_dry_run_reports_and_import_creates_the_agent(self):
		file = self.home / "workflow.json"
		file.write_text(json.dumps(make_workflow()))
		listed = self.run_huf(str(file), "--dry-run")
		self.assertIn("Would make Order Agent", listed.output)
		self.assertFalse(frappe.db.exists("Agent", "Order Agent"))
		imported = self.run_huf(str(file))
		self.assertIn("Made Order Agent (model: default)", imported.output)
		self.assertIn("not mapped: Look up (toolHttpRequest)", imported.output)
		frappe.db.rollback()
		self.assertTrue(frappe.db.exists("Agent", "Order Agent"))
		file.write_text("nothing")
		failed = self.run_huf(str(file))
		self.assertEqual(failed.exit_code, 1)
		self.assertIn("has 0 agents", failed.output)
