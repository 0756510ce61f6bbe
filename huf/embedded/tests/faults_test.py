"""A full disk or a locked or closed database in the middle of a step loses nothing; the run resumes later."""

import sqlite3
import threading
import time
from datetime import timedelta
from unittest.mock import patch

import frappe
from frappe.database.turns import Turns, turns_of
from frappe.utils import now_datetime

from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import work_on
from huf.ai.tools.registry import tool
from huf.embedded.tests.sites import SiteTestCase
from huf.tests.base import enter
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, text, tool_call

HERE = "huf.embedded.tests.faults_test"
FAULTS: list = []


@tool()
def write_note_then_break():
	"""Writes a note, then breaks the database in the way the test wants."""
	frappe.get_doc({"doctype": "Note", "title": f"Written {frappe.generate_hash(length=6)}"}).insert()
	while FAULTS:
		FAULTS.pop()()
	return "written " * 100_000


class TestDatabaseFaults(SiteTestCase):
	def setUp(self):
		super().setUp()
		tool = make_tool("Custom Function", function_path=f"{HERE}.write_note_then_break", effect="write")
		self.server = enter(self, ModelServer(strict=False))
		self.agent = make_agent(make_model(self.server), (tool,))
		self.server.script(tool_call(tool), text("Done."))
		self.notes = frappe.db.count("Note")

	def test_full_disk_fails_the_run_and_rolls_back_its_write(self):
		def fill_disk():
			# Room for a row, but not for the result.
			pages = frappe.db.sql("pragma page_count")[0][0] + 20
			frappe.db._connection.execute(f"pragma max_page_count = {pages}")

		FAULTS.append(fill_disk)
		result = run_agent_sync(self.agent, "Write")
		self.assertEqual((result["status"], result["input_tokens"]), ("Failed", 100))
		self.assertIn("Error Log", result["error"])
		self.assertEqual(frappe.db.count("Note"), self.notes)
		frappe.db._connection.execute("pragma max_page_count = 1073741823")
		self.assertEqual(run_agent_sync(self.agent, "Go on")["status"], "Success")

	def test_locked_database_leaves_the_run_to_the_next_worker(self):
		"""The write times out, and the run resumes once the other connection has released its lock."""
		other = sqlite3.connect(
			self.sites_path + f"/{frappe.local.site}/site.db", isolation_level=None, check_same_thread=False
		)
		self.addCleanup(other.close)

		def lock():
			frappe.db.rollback()
			frappe.db._connection.execute("pragma busy_timeout = 50")
			other.execute("begin immediate")

		def unlock():
			other.execute("rollback")

		self.assert_resumes(lock, unlock)

	def test_closed_database_connection_leaves_the_run_to_the_next_worker(self):
		self.assert_resumes(lambda: frappe.db._connection.close())

	def assert_resumes(self, fault, repair=lambda: None):
		"""The caller gets an error, nothing partial is stored, and the next worker finishes the run."""
		FAULTS.append(fault)
		with self.assertRaises(Exception) as raised:
			result = run_agent_sync(self.agent, "Write")
			raise AssertionError(f"the fault went unnoticed: {result}")
		self.assertNotIsInstance(raised.exception, AssertionError)
		repair()
		frappe.init(frappe.local.site, sites_path=self.sites_path, force=True)
		frappe.connect()
		run = frappe.get_last_doc("Agent Run", {"agent": self.agent})
		self.assertEqual((run.status, frappe.db.count("Note")), ("Started", self.notes))
		self.server.script(text("Done."))
		result = work_on(run.name, now_datetime() + timedelta(hours=1))
		self.assertEqual((result.status.value, frappe.db.count("Note")), ("Success", self.notes + 1))


class TestTurns(SiteTestCase):
	def test_turn_of_a_vanished_writer_does_not_block_other_writers(self):
		frappe.db.commit()
		turns_of(frappe.db.path).take("somebody who is gone")
		before = frappe.db.count("Note")
		for _ in range(2):
			frappe.get_doc({"doctype": "Note", "title": frappe.generate_hash()}).insert()
			frappe.db.commit()
		self.assertEqual(frappe.db.count("Note"), before + 2)

	def test_commit_and_rollback_release_the_write_turn(self):
		turns = turns_of(frappe.db.path)
		for end in (frappe.db.commit, frappe.db.rollback):
			frappe.db.begin()
			end()
			self.assertTrue(turns.take("another"))
			turns.give("another")

	def test_write_turns_are_granted_in_request_order(self):
		turns, granted = Turns(), []
		turns.take("the first")

		def write(number: int) -> None:
			turns.take(number)
			granted.append(number)
			turns.give(number)

		writers = [threading.Thread(target=write, args=(number,)) for number in range(20)]
		for number, writer in enumerate(writers):
			writer.start()
			while len(turns.waiting) <= number:
				time.sleep(0.001)
		turns.give("the first")
		for writer in writers:
			writer.join()
		self.assertEqual(granted, list(range(20)))

	def test_interrupted_writer_leaves_the_queue_for_the_write_turn(self):
		turns = Turns()
		turns.take("the holder")
		for is_granted in (False, True):
			place = ("interrupted", threading.Lock())
			place[1].acquire()
			turns.waiting.append(place)
			if is_granted:
				turns.give("the holder")
			turns.leave(place)
			self.assertNotIn(place, turns.waiting)
		self.assertTrue(turns.take("the next"))

	def test_only_the_first_waiting_writer_times_out(self):
		turns, has_turn = Turns(), []
		turns.take("the holder")
		first = threading.Lock()
		first.acquire()
		turns.waiting.append(("the first", first))
		with patch("frappe.database.turns.PATIENCE", 0.02):
			second = threading.Thread(target=lambda: has_turn.append(turns.take("the second")))
			second.start()
			second.join(0.3)
			self.assertEqual(has_turn, [])
			turns.give("the holder")
			turns.give("the first")
			second.join()
		self.assertEqual(has_turn, [True])
