"""A site's second SQLite file, `jobs.db`: queued jobs, last runs of the schedule, events for browsers.

Separate from the site's database, because a job must be visible to workers as soon as it is enqueued, whether
or not the caller commits, and must not wait for the caller's write transaction. Every statement commits.
"""

import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

import frappe

SCHEMA = """
CREATE TABLE IF NOT EXISTS job (
	id INTEGER PRIMARY KEY, job_id TEXT, queue TEXT NOT NULL, method TEXT NOT NULL, call BLOB NOT NULL,
	user TEXT NOT NULL, timeout REAL NOT NULL, status TEXT NOT NULL, worker TEXT, created REAL NOT NULL,
	started REAL, ended REAL, error TEXT, at_front INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS job_by_job_id ON job (job_id);
CREATE TABLE IF NOT EXISTS schedule (event TEXT PRIMARY KEY, last_run TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY, event TEXT, message TEXT, room TEXT);
"""
INDEXES = """
DROP INDEX IF EXISTS job_by_status;
CREATE INDEX IF NOT EXISTS job_by_turn ON job (status, at_front, queue, user);
CREATE INDEX IF NOT EXISTS job_by_user ON job (user, started);
"""
ADD_AT_FRONT = "ALTER TABLE job ADD COLUMN at_front INTEGER NOT NULL DEFAULT 0"
MAX_FILES = 8
"""Open files of a process, which usually has one."""


class SharedConnection:
	"""A connection that threads use in turn, for one statement each: if each of hundreds of threads had one,
	their cached pages and statements would fill slowly, for hours.
	"""

	def __init__(self, file: str):
		self.turn = threading.Lock()
		self.db = sqlite3.connect(file, timeout=30, isolation_level=None, check_same_thread=False)
		self.db.row_factory = sqlite3.Row
		self.db.execute("PRAGMA journal_mode = WAL")
		self.db.execute("PRAGMA synchronous = NORMAL")
		if not self.db.execute("SELECT 1 FROM sqlite_master WHERE name = 'job_by_turn'").fetchone():
			make_tables(self.db)

	def execute(self, query: str, values: Sequence | Mapping = ()) -> list[sqlite3.Row]:
		with self.turn:
			return self.db.execute(query, values).fetchall()

	def change(self, query: str, values: Sequence | Mapping = ()) -> int:
		"""The number of rows that a statement changed."""
		with self.turn:
			return self.db.execute(query, values).rowcount


def path() -> str:
	return frappe.get_site_path("jobs.db")


def connect(file: str | None = None) -> SharedConnection:
	"""This process's connection to `jobs.db` of the current site, or to `file`. Opened on first use."""
	# A connection must not cross a fork.
	return _open(os.path.abspath(file or path()), os.getpid())


@lru_cache(maxsize=MAX_FILES)
def _open(file: str, process: int) -> SharedConnection:
	return SharedConnection(file)


def make_tables(db: sqlite3.Connection) -> None:
	"""Create or migrate the tables. Safe if two processes do it at once."""
	db.executescript(SCHEMA)
	if not db.execute("SELECT 1 FROM pragma_table_info('job') WHERE name = 'at_front'").fetchone():
		try:
			db.execute(ADD_AT_FRONT)
		except sqlite3.OperationalError as error:
			if "duplicate column" not in str(error):
				raise
	db.executescript(INDEXES)
