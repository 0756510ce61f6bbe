"""The commands `huf packs`, `import`, `export`, `eval` and `remove`."""

import frappe
from click.testing import CliRunner

from huf.embedded.cli import cli
from huf.embedded.tests.sites import SiteTestCase, isolated
from huf.tests.factories import make


class TestCommands(SiteTestCase):
	def run_huf(self, *words: str):
		return isolated(CliRunner().invoke, cli, ["--home", str(self.home), *words])

	def test_pack_is_imported_evaluated_and_removed(self):
		self.assertIn("not installed", self.run_huf("packs").output)
		self.assertIn("New: Agent pharmacy", self.run_huf("import", "pharmacy").output)
		self.assertIn("nothing to change", self.run_huf("import", "pharmacy").output)
		result = self.run_huf("eval", "pharmacy", "--model", "Recorded", "--times", "2")
		self.assertEqual(result.exit_code, 0, result.output)
		self.assertIn("2 times each, by Recorded\npass^1 1.00  pass^2 1.00", result.output)
		self.assertIn("Removed: Agent pharmacy", self.run_huf("remove", "pharmacy").output)

	def test_pack_passes_its_eval_cases_on_a_site_with_existing_records(self):
		self.run_huf("import", "pharmacy")
		for drug in ("Paralen 500", "Ibuprofen 400"):
			for patient in ("jana@patient.example", "petr@patient.example", "jane@patient.example"):
				branch = frappe.db.get_value("Pharmacy Branch", {}, order_by="name asc")
				values = {"drug": drug, "branch": branch, "patient_email": patient, "status": "Open"}
				make("Pharmacy Reservation", **values)
		frappe.db.commit()
		result = self.run_huf("eval", "pharmacy", "--model", "Recorded")
		self.assertEqual(result.exit_code, 0, result.output)

	def test_an_eval_with_another_model_says_why_pending_changes_stay_pending(self):
		self.run_huf("import", "pharmacy")
		agent = frappe.get_doc("Agent", "pharmacy")
		agent.hold_changes = 1
		agent.save()
		agent.instructions = "Help."
		agent.save()
		frappe.db.commit()
		result = self.run_huf("eval", "pharmacy", "--model", "Recorded")
		self.assertIn("were not applied: they are tested only without --model.", result.output)

	def test_exported_pack_is_imported_from_its_folder(self):
		self.run_huf("import", "pharmacy")
		folder = self.home / "my_pharmacy"
		result = self.run_huf("export", str(folder), "--agent", "Office Assistant")
		self.assertEqual(result.exit_code, 0, result.output)
		self.assertIn("pack: my_pharmacy", (folder / "pack.yaml").read_text())
		self.assertIn("Left alone: Agent Office Assistant", self.run_huf("import", str(folder)).output)
		self.assertIn("is as it was", self.run_huf("import", str(folder)).output)
		moved = folder.rename(self.home / "moved")
		refused = self.run_huf("import", str(moved))
		self.assertEqual(refused.exit_code, 1)
		self.assertIn("--moved", refused.output)
		self.assertIn("is as it was", self.run_huf("import", str(moved), "--moved").output)
		for name in ("my_pharmacy", "pharmacy"):
			self.assertEqual(self.run_huf("remove", name).exit_code, 0)

	def test_pack_with_user_records_is_removed_only_by_with_records_option(self):
		self.run_huf("import", "pharmacy")
		make("Pharmacy Branch", branch_name="Mine")
		frappe.db.commit()
		result = self.run_huf("remove", "pharmacy")
		self.assertEqual(result.exit_code, 1)
		self.assertIn(
			"1 Pharmacy Branch. Confirm if these are to be deleted too.\nWith --with-records", result.output
		)
		self.assertEqual(self.run_huf("remove", "pharmacy", "--with-records").exit_code, 0)

	def test_pack_and_eval_errors_exit_with_1_and_no_traceback(self):
		for words in (("import", "nothing"), ("remove", "nothing"), ("eval", "Nobody")):
			result = self.run_huf(*words)
			self.assertEqual((result.exit_code, "Traceback" in result.output), (1, False), words)

	def test_unknown_agent_or_run_is_reported_in_one_line(self):
		for command in (("ask", "Nobody", "Hello"), ("replay", "no-such-run"), ("diff", "one", "two")):
			result = self.run_huf(*command)
			self.assertEqual(result.exit_code, 1, command)
			self.assertIsInstance(result.exception, SystemExit, command)
			self.assertRegex(result.output, r"^Error: .+\n$", command)
