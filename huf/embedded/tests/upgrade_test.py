"""A site of version 0.1.0 migrates with its queued jobs, stored function paths and installed pack.

The fixture holds a site with the demo agent, the pack sales_report, two custom functions, a queued run and a
queued trigger event; it was stopped before any worker ran.
"""

import contextvars
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import frappe
from frappe.model import sync
from frappe.utils.job_worker import Worker

from huf.embedded import site

FIXTURE = Path(__file__).parent / "fixtures" / "site_0_1_0.tar.xz"


class TestUpgrade(unittest.TestCase):
	def setUp(self):
		self.home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
		with tarfile.open(FIXTURE) as archive:
			archive.extractall(self.home)

	def test_migrated_site_finishes_queued_runs_and_resolves_stored_function_paths(self):
		contextvars.copy_context().run(self.migrate_and_work)

	def test_interrupted_migration_is_completed_by_the_next_one(self):
		contextvars.copy_context().run(self.migrate_twice)

	def test_two_migrations_at_once_follow_one_another(self):
		command = [sys.executable, "-m", "huf.embedded", "--home", str(self.home), "migrate"]
		both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
		for process in both:
			self.assertIn("is up to date", process.communicate(timeout=120)[0])

	def migrate_twice(self):
		with site.opened(self.home):
			before = set(frappe.db.get_table_columns("Agent Run"))
		sync_table = sync.sync_table

		def fail_at(meta):
			if meta.name == "Agent Run":
				raise KeyboardInterrupt
			sync_table(meta)

		with mock.patch.object(sync, "sync_table", fail_at), self.assertRaises(KeyboardInterrupt):
			site.migrate(self.home)
		site.migrate(self.home)
		with site.opened(self.home):
			after = set(frappe.db.get_table_columns("Agent Run"))
			self.assertLessEqual(set(frappe.get_meta("Agent Run").valid_columns), after)
			self.assertNotEqual(before, after)

	def migrate_and_work(self):
		site.migrate(self.home)
		worker = Worker(site.SITE, str(self.home / "sites"), threads=1)
		while row := worker.claim(("short", "default", "long")):
			contextvars.copy_context().run(worker.run, row)
		with site.opened(self.home):
			runs = frappe.get_all("Agent Run", fields=["status", "response"], order_by="creation asc")
			self.assertEqual([run.status for run in runs], ["Success", "Success"])
			self.assertIn("User", runs[0].response)
			events = frappe.get_all("Agent Trigger Event", pluck="status", order_by="creation asc")
			self.assertEqual(events, ["Fired"])
			paths = frappe.get_all(
				"Agent Tool Function",
				{"types": "Custom Function"},
				pluck="function_path",
				order_by="tool_name asc",
			)
			self.assertEqual(paths, ["huf.ai.mail.tools.escalate", "huf.ai.tool_functions.get_list"])
			for path in paths:
				self.assertTrue(callable(frappe.get_attr(path)))
			self.assertEqual(
				list_indexed("Agent Run") & {"status", "lease_until", "modified", "creation", "conversation"},
				{"creation", "conversation"},
			)
			self.assertLessEqual({"modified", "session_id"}, list_indexed("Agent Conversation"))
			tool = frappe.get_doc("Agent Tool Function", "sales_report_tool")
			tool.save()
			self.assertEqual((tool.effect, tool.untrusted_result), ("read", 0))
			undeclared = frappe.get_all(
				"Agent Tool Function",
				{"types": "Custom Function"},
				["untrusted_result", "sensitive_parameters"],
				order_by="tool_name asc",
			)
			self.assertEqual(
				[(row.untrusted_result, row.sensitive_parameters) for row in undeclared], [(1, None)] * 2
			)


def list_indexed(doctype: str) -> set[str]:
	"""Columns with an index of their own, of which version 0.1.0 had more."""
	names = [row[1] for row in frappe.db.sql(f"PRAGMA index_list(`tab{doctype}`)")]
	return {name.removeprefix(f"tab{doctype}_").removesuffix("_index") for name in names}
