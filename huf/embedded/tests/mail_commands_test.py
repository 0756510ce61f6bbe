"""`huf import` warns of mail rules that never match, and `huf mail` refuses files without headers."""

import frappe
from click.testing import CliRunner

from huf.embedded.cli import cli
from huf.embedded.tests.sites import SiteTestCase, isolated
from huf.tests.factories import unique
from huf.tests.mail import make_mailbox

RULES = """
routing:
  rules:
    - {name: everything, match: {all: true}}
    - {name: invoices, match: {subject_contains: invoice}}
"""


class TestImportRules(SiteTestCase):
	def test_import_warns_of_a_rule_behind_a_catch_all_rule(self):
		head, everything, invoices = RULES.rsplit("    - ", 2)
		self.assertEqual(
			self.import_text(RULES).splitlines(),
			[
				"Agents: none. Rules: everything, invoices.",
				"Warning: invoices never fires: everything takes its mail first.",
			],
		)
		self.assertNotIn("Warning", self.import_text(f"{head}    - {invoices}    - {everything}"))

	def import_text(self, rules: str) -> str:
		file = self.home / "rules.yaml"
		file.write_text(rules)
		result = isolated(CliRunner().invoke, cli, ["--home", str(self.home), "import", str(file)])
		self.assertEqual(result.exit_code, 0, result.output)
		return result.output


class TestImportMail(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.box, _address = make_mailbox("Administrator")
		frappe.db.commit()
		self.folder = self.home / unique("mails")
		self.folder.mkdir()

	def import_mail(self, path):
		words = ["--home", str(self.home), "mail", str(path), "--mailbox", self.box]
		return isolated(CliRunner().invoke, cli, words)

	def test_file_without_headers_is_refused_alone_and_in_a_folder(self):
		file = self.folder / "notes.eml"
		for content, path in (
			("not a mail", file),
			('{"openapi": "3.0.0"}', file),
			("", file),
			("x", self.folder),
		):
			file.write_text(content)
			result = self.import_mail(path)
			self.assertEqual(result.exit_code, 1, result.output)
			self.assertIn("notes.eml is not a mail: it has no header", result.output)

	def test_other_files_of_a_folder_are_imported(self):
		(self.folder / "a.eml").write_text("x")
		(self.folder / "b.eml").write_text(f"From: {unique('a')}@b.example\n\nHello")
		result = self.import_mail(self.folder)
		self.assertEqual(result.exit_code, 1, result.output)
		self.assertIn("a.eml is not a mail", result.output)
		self.assertIn("1 new in", result.output)
