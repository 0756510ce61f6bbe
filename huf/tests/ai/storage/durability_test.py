"""How often a run writes, and which of its commits reach the disk before it continues."""

import os
import shutil
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch

import frappe
from frappe.database import durability
from frappe.database.connection import PAGE_BYTES
from frappe.database.database import Database

from huf.ai.runs.entry import run_agent_sync
from huf.ai.tools.registry import tool
from huf.tests.base import SiteTestCase, enter
from huf.tests.benchmarks.run_cost import count_statements, is_bracket, is_commit
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call

READS = 5


@tool()
def look_up(n: int) -> str:
	return f"found {n}"


class Receiver(BaseHTTPRequestHandler):
	"""An external service that records how often the log had been synced before each request."""

	def do_POST(self):
		self.rfile.read(int(self.headers["Content-Length"]))
		self.server.syncs.append(self.server.count())
		self.send_response(200)
		self.send_header("Content-Length", "0")
		self.end_headers()

	def log_message(self, *args):
		pass


class TestWritesOfARun(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer(strict=False))

	def test_five_reads_take_few_statements_and_commits(self):
		look = make_tool("Custom Function", function_path=f"{__name__}.look_up", effect="read")
		agent = make_agent(make_model(self.server), (look,))

		def run() -> None:
			self.server.script(*(tool_call(look, {"n": n}) for n in range(READS)), text("Done."))
			run_agent_sync(agent, "Look", external_id=unique("look"))

		run()
		seen = count_statements(run)
		self.assertLessEqual(sum(not is_bracket(sql) for sql in seen), 60)
		self.assertLessEqual(sum(map(is_commit, seen)), 8)

	def test_external_call_is_synced_to_disk_before_it_is_sent(self):
		with patch.object(durability, "sync_log_file", wraps=durability.sync_log_file) as sync:
			self.run_with_call(sync)
			self.assertEqual((self.shop.syncs, sync.call_count), ([1], 1))
			self.assertEqual(sync.call_args.args[0], f"{frappe.db.path}-wal")

	def test_durability_level_process_syncs_nothing(self):
		frappe.db.durability = "process"
		self.addCleanup(setattr, frappe.db, "durability", durability.DEFAULT)
		with patch.object(durability, "sync_log_file", wraps=durability.sync_log_file) as sync:
			self.run_with_call(sync)
			self.assertEqual((self.shop.syncs, sync.call_count), ([0], 0))

	def run_with_call(self, sync) -> None:
		self.shop = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
		self.shop.syncs, self.shop.count = [], lambda: sync.call_count
		threading.Thread(target=self.shop.serve_forever, args=(0.02,), daemon=True).start()
		self.addCleanup(self.shop.server_close)
		self.addCleanup(self.shop.shutdown)
		address = f"http://127.0.0.1:{self.shop.server_address[1]}"
		order = make_tool("POST", base_url=address, allow_private_hosts=1)
		self.server.script(tool_call(order, {"url": "/orders", "body": {"item": 1}}), text("Done."))
		run_agent_sync(
			make_agent(make_model(self.server), (order,)), "Order one", external_id=unique("order")
		)


class TestLevels(unittest.TestCase):
	def setUp(self):
		folder = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, folder)
		self.path = str(folder / "site.db")
		self.syncs = enter(self, patch.object(durability, "sync_log_file", wraps=durability.sync_log_file))

	def open(self, level: str | None) -> Database:
		with patch.dict(frappe.local.conf, {"durability": level}):
			database = Database(self.path)
		self.addCleanup(database.close)
		database.define("PRAGMA journal_mode = WAL")
		database.define("CREATE TABLE IF NOT EXISTS note (name TEXT)")
		self.syncs.reset_mock()
		return database

	def write(self, database: Database) -> None:
		database.execute("INSERT INTO note VALUES ('one')")
		database.commit()

	def test_durability_level_machine_syncs_every_commit_with_writes(self):
		database = self.open("machine")
		self.write(database)
		database.execute("SELECT * FROM note")
		database.commit()
		self.assertEqual(self.syncs.call_count, 1)

	def test_commits_that_wait_together_share_a_sync(self):
		self.open("machine").close()
		begun, proceed, synced = threading.Event(), threading.Event(), []

		def sync(path):
			synced.append(path)
			begun.set()
			proceed.wait(10)

		self.syncs.side_effect = sync
		log = durability.LogSync(self.path)
		threads = [threading.Thread(target=log.wait) for _ in range(9)]
		threads[0].start()
		begun.wait(10)
		for each in threads[1:]:
			each.start()
		until = time.monotonic() + 10
		while log.asked < len(threads):
			self.assertLess(time.monotonic(), until)
		proceed.set()
		for each in threads:
			each.join(10)
		# The first sync began before the others committed, so they need a second one.
		self.assertEqual(len(synced), 2)

	def test_failed_sync_does_not_block_later_syncs(self):
		log = durability.LogSync(self.path)
		self.syncs.side_effect = [OSError("the disk is gone"), None]
		with self.assertRaises(OSError):
			log.wait()
		log.wait()
		self.assertEqual(self.syncs.call_count, 2)

	def test_durability_level_step_sets_sqlite_synchronous_full(self):
		self.assertEqual(self.open("step").execute("PRAGMA synchronous").fetchone()[0], 2)

	def test_default_durability_level_does_not_sync_ordinary_commits(self):
		database = self.open(None)
		self.write(database)
		self.assertEqual(self.syncs.call_count, 0)
		self.assertEqual(database.execute("PRAGMA synchronous").fetchone()[0], 1)

	def test_unknown_durability_level_is_refused_with_the_known_levels(self):
		with self.assertRaisesRegex(ValueError, "process, effects, machine, step"):
			self.open("always")

	def test_a_new_file_has_small_pages(self):
		self.assertEqual(self.open(None).execute("PRAGMA page_size").fetchone()[0], PAGE_BYTES)
		self.assertTrue(os.path.exists(self.path))
