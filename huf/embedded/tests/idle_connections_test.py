"""Closed database connections are cached for the next request, without any of their former state."""

import os
import shutil
import sqlite3
import tempfile
import time
import unittest
from pathlib import Path
from threading import Thread

from frappe.database import idle
from frappe.database.connection import BUSY_TIMEOUT, Connection


class TestIdleConnections(unittest.TestCase):
	def setUp(self):
		folder = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, folder)
		self.path = folder / "site.db"
		first = Connection(self.path)
		first.define("PRAGMA journal_mode = WAL")
		first.define("CREATE TABLE note (name TEXT)")
		first.execute("PRAGMA wal_checkpoint(TRUNCATE)")
		first.close()

	def open(self) -> Connection:
		connection = Connection(self.path)
		self.addCleanup(connection.close)
		return connection

	def count(self, connection: Connection) -> int:
		return connection.execute("SELECT count(*) FROM note").fetchone()[0]

	def test_closed_connection_is_reused_without_uncommitted_writes(self):
		first = Connection(self.path)
		first.execute("INSERT INTO note VALUES ('lost')")
		sqlite_connection = first._connection
		first.close()
		second = self.open()
		self.assertIs(second._connection, sqlite_connection)
		self.assertEqual((self.count(second), second.transaction_writes), (0, 0))

	def test_commit_and_rollback_release_the_connection_to_others(self):
		waiting, other = self.open(), self.open()
		for end in (waiting.commit, waiting.rollback):
			waiting.execute("INSERT INTO note VALUES ('one')")
			used = waiting._connection
			end()
			self.assertEqual(self.count(other), 1)
			self.assertIs(other._connection, used)
			other.rollback()

	def test_busy_timeout_is_restored_before_reuse(self):
		first = self.open()
		with first.without_waiting():
			first.execute("INSERT INTO note VALUES ('one')")
			first.commit()
		first.rollback()
		self.assertEqual(self.open().execute("PRAGMA busy_timeout").fetchone()[0], BUSY_TIMEOUT * 1000)

	def test_readers_share_a_connection_and_a_waiting_writer_holds_none(self):
		writer, waiting = self.open(), self.open()
		readers = [self.open() for _ in range(5)]
		writer.begin()
		thread = Thread(target=waiting.begin)
		thread.start()
		while not writer._turns.waiting:
			time.sleep(0.001)
		self.assertEqual([self.count(each) for each in readers], [0] * 5)
		self.assertEqual([each._borrowed for each in (waiting, *readers)], [None] * 6)
		self.assertEqual(len(idle._idle[idle.identify(self.path)]), 1)
		writer.commit()
		thread.join()
		self.assertTrue(waiting._is_in_transaction)

	def test_page_cache_of_a_connection_is_500_kb(self):
		self.assertEqual(self.open().execute("PRAGMA cache_size").fetchone()[0], -500)

	def test_closed_connection_cannot_be_used(self):
		first = Connection(self.path)
		first.close()
		self.open()
		for use in (lambda: self.count(first), lambda: first.execute("INSERT INTO note VALUES ('x')")):
			with self.assertRaises(sqlite3.ProgrammingError):
				use()
		first.close()

	def test_reused_connection_sees_rows_and_tables_committed_by_others(self):
		Connection(self.path).close()
		with sqlite3.connect(self.path) as other:
			other.execute("INSERT INTO note VALUES ('one')")
			other.execute("CREATE TABLE later (name TEXT)")
		other.close()
		connection = self.open()
		self.assertEqual(self.count(connection), 1)
		self.assertEqual(connection.execute("SELECT count(*) FROM later").fetchone()[0], 0)

	def test_replaced_database_file_gets_a_new_connection(self):
		with sqlite3.connect(restored := self.path.with_name("restored.db")) as other:
			other.execute("CREATE TABLE note (name TEXT)")
			other.execute("INSERT INTO note VALUES ('restored')")
		other.close()
		os.replace(restored, self.path)
		self.assertEqual(self.count(self.open()), 1)

	def test_number_of_idle_connections_is_limited(self):
		connections = [Connection(self.path) for _ in range(idle.MAX_IDLE + 5)]
		for use in (lambda each: each._connection, Connection.close):
			for connection in connections:
				use(connection)
		self.assertEqual(len(idle._idle[idle.identify(self.path)]), idle.MAX_IDLE)

	@unittest.skipUnless(hasattr(os, "fork"), "This system does not fork.")
	def test_forked_process_does_not_reuse_connections_of_its_parent(self):
		parent = self.open()
		self.count(parent)
		parent.close()
		child = os.fork()
		if child == 0:
			os._exit(0 if idle.take(idle.identify(self.path)) is None else 1)
		self.assertEqual(os.waitpid(child, 0)[1], 0)
		self.assertIsNotNone(idle.take(idle.identify(self.path)))
