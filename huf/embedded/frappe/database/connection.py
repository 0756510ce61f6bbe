"""Connections to a site's SQLite file with Frappe's transaction rules. Independent of DocTypes.

Reads take no lock and see what is committed at that moment: each borrows one of SQLite's connections for as
long as it takes. `BEGIN IMMEDIATE` precedes the first write, so that a transaction never upgrades its lock;
from there to its end a transaction keeps one connection. So hundreds of threads share a few of them.
"""

import contextlib
import datetime
import logging
import re
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from frappe.database import idle
from frappe.database.turns import turns_of
from frappe.exceptions import DataError, ImplicitCommitError, QueryTimeoutError

BUSY_TIMEOUT = 30.0
CACHE_KB = 500
"""Page cache of a connection. The operating system caches the file as well, and SQLite's default of 2 MB
would fill in each of dozens of connections.
"""
CACHED_STATEMENTS = 80
"""How many prepared statements a connection keeps. A run uses 65; each takes some 17 KB, so that Python's
default of 128 would keep growing for an hour under load.
"""
PAGE_BYTES = 1024
"""Page size of new files. A commit writes whole pages, and each row touches a page per index."""
LOG_BYTES = 4_096_000
"""Size of the log at which SQLite checkpoints it."""
SLOW_TRANSACTION = 2.0
"""Seconds. SQLite has one writer, so longer write transactions block others."""

READS = re.compile(
	r"\s*(?:--[^\n]*\n\s*)*(?:(?:select|pragma|explain|values)\b|with\b(?!.*\b(?:insert|update|delete|replace)\b))",
	re.IGNORECASE | re.DOTALL,
)
DEFINITIONS = re.compile(r"\s*(?:create|alter|drop|truncate|begin|start)\b", re.IGNORECASE)

logger = logging.getLogger("frappe.database")


class CallbackManager:
	"""Functions to run once, in order, when a transaction ends."""

	def __init__(self):
		self._functions = deque()

	def add(self, function):
		self._functions.append(function)

	def run(self):
		while self._functions:
			self._functions.popleft()()

	def run_all(self):
		"""Run each, also after one that failed; raise the first error at the end."""
		errors = []
		while self._functions:
			try:
				self._functions.popleft()()
			except Exception as error:  # the first is raised below
				errors.append(error)
		if errors:
			raise errors[0]

	def reset(self):
		self._functions.clear()


def register_converter(kind: str, parse: Callable[[str], object]):
	"""Have columns of a type parsed; text that cannot be parsed is returned as it is."""

	def convert(stored: bytes):
		text = stored.decode()
		try:
			return parse(text)
		except ValueError:
			return text

	sqlite3.register_converter(kind, convert)


def parse_time(text: str) -> datetime.timedelta:
	hours, minutes, seconds = text.split(":")
	return datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))


register_converter("DATETIME", datetime.datetime.fromisoformat)
register_converter("DATE", lambda text: datetime.date.fromisoformat(text[:10]))
register_converter("TIME", parse_time)

PLAIN = frozenset((type(None), int, float, str, bytes))


def to_column(value):
	"""Convert a Python value to one that SQLite stores."""
	if type(value) in PLAIN:
		return value
	if isinstance(value, datetime.datetime):
		return value.isoformat(sep=" ", timespec="microseconds")
	if isinstance(value, datetime.date):
		return value.isoformat()
	if isinstance(value, (datetime.timedelta, datetime.time)):
		return str(value)
	if isinstance(value, (bool, int)):
		return int(value)
	if isinstance(value, (float, Decimal)):
		return float(value)
	if isinstance(value, str):
		return str.__str__(value)
	if isinstance(value, dict):
		raise TypeError("dict can not be used as parameter")
	raise sqlite3.ProgrammingError(
		f"A {type(value).__name__} cannot be stored or compared: pass text or a number."
	)


CLOSED = sqlite3.connect(":memory:", check_same_thread=False)
"""Stands in for a closed connection, so that using it raises ProgrammingError."""
CLOSED.close()


class FetchedRows:
	"""The whole result of a read, used like a cursor."""

	def __init__(self, cursor: sqlite3.Cursor):
		self.description = cursor.description
		self._rows = iter(cursor.fetchall())

	def __iter__(self):
		return self._rows

	def fetchone(self) -> tuple | None:
		return next(self._rows, None)

	def fetchall(self) -> list[tuple]:
		return list(self._rows)


class Connection:
	"""`transaction_writes` counts the writes since the last commit or rollback; 0 means no lock is held."""

	OperationalError = sqlite3.OperationalError
	ProgrammingError = sqlite3.ProgrammingError
	IntegrityError = sqlite3.IntegrityError
	DataError = sqlite3.DataError
	InternalError = sqlite3.InternalError
	DatabaseError = sqlite3.DatabaseError
	db_type = "sqlite"
	synchronous = "NORMAL"

	def __init__(self, path: str | Path):
		self.path = str(path)
		self._file: tuple | None = None
		self._borrowed: sqlite3.Connection | None = None
		self._is_pinned = False
		self.transaction_writes = 0
		self._disable_transaction_control = 0
		self._began = 0.0
		self.is_alone = False  # no other connection waits for its transactions
		self._turns, self._me = turns_of(self.path), object()
		self.before_commit, self.after_commit = CallbackManager(), CallbackManager()
		self.before_rollback, self.after_rollback = CallbackManager(), CallbackManager()

	@property
	def _connection(self) -> sqlite3.Connection:
		if self._borrowed is None:
			self._file = idle.identify(self.path)
			self._borrowed = idle.take(self._file) or connect(self.path, self.synchronous)
		return self._borrowed

	@property
	def _is_in_transaction(self) -> bool:
		return self._borrowed is not None and self._borrowed.in_transaction

	def _give_back(self):
		if self._borrowed is not None and not self._is_pinned:
			used, self._borrowed = self._borrowed, None
			idle.give(self._file, used)

	def execute(self, query: str, parameters=()) -> "sqlite3.Cursor | FetchedRows":
		"""Run SQL with `?` parameters.  A write begins the transaction if none is open."""
		if READS.match(query):
			return self._run(query, parameters) if self._is_in_transaction else self._read(query, parameters)
		self._check_implicit_commit(query)
		self.begin()
		self.transaction_writes += 1
		return self._run(query, parameters)

	def _read(self, query: str, parameters) -> FetchedRows:
		with idle.reads:
			try:
				return FetchedRows(self._run(query, parameters))
			finally:
				self._give_back()

	def define(self, query: str):
		"""Change the schema. Commits earlier writes, as MariaDB does."""
		self.commit()
		self._run(query)

	def alter(self, query: str):
		"""Change the schema as part of the transaction."""
		self.begin()
		self._run(query)

	def executemany(self, query: str, rows):
		self.begin()
		self.transaction_writes += 1
		return self._connection.executemany(query, rows)

	def begin(self):
		"""Take the write lock.  Raises QueryTimeoutError if another transaction held it for 30 seconds."""
		if not self._is_in_transaction:
			self._turns.take(self._me)
			try:
				self._run("BEGIN IMMEDIATE")
			except BaseException:  # re-raised: an interrupt, too, must free the write lock
				self._turns.give(self._me)
				raise
			self._turns.keep(self._me)
			self._began = time.monotonic()

	def _run(self, query, parameters=()):
		try:
			return self._connection.execute(query, parameters)
		except sqlite3.OperationalError as error:
			if "locked" in str(error):
				raise QueryTimeoutError(
					"Another transaction held the write lock for too long: commit before waiting for a "
					"model, a tool or the network."
				) from error
			raise
		except OverflowError as error:  # SQLite's integers have 64 bits
			raise DataError(str(error)) from error

	def _check_implicit_commit(self, query):
		if self.transaction_writes and DEFINITIONS.match(query):
			raise ImplicitCommitError("This statement can cause implicit commit", query)

	def commit(self):
		"""Make the writes durable, then run the `after_commit` callbacks.  Ignored inside doc_events."""
		if self._disable_transaction_control:
			logger.warning("commit() inside a document event is ignored")
			return
		self.before_commit.run()
		self._end("COMMIT")
		# Only after the commit, because one that fails, as on a full disk, is rolled back.
		self.before_rollback.reset()
		self.after_rollback.reset()
		self.after_commit.run_all()

	def rollback(self, *, save_point: str | None = None):
		"""Undo the writes since the transaction began, or since a savepoint."""
		if save_point:
			self._run(f"ROLLBACK TO `{save_point}`")
			return
		if self._disable_transaction_control:
			logger.warning("rollback() inside a document event is ignored")
			return
		self.before_commit.reset()
		self.after_commit.reset()
		self.before_rollback.run()
		self._end("ROLLBACK")
		self.after_rollback.run()

	def _end(self, statement):
		if self._is_in_transaction:
			self._run(statement)
			held = time.monotonic() - self._began
			if held > SLOW_TRANSACTION and not self.is_alone:
				logger.warning("A write transaction was open for %.1f s; all other writers waited", held)
		self._turns.give(self._me)
		self.transaction_writes = 0
		self._give_back()

	def savepoint(self, save_point: str):
		self.begin()
		self._run(f"SAVEPOINT `{save_point}`")

	def release_savepoint(self, save_point: str):
		self._run(f"RELEASE SAVEPOINT `{save_point}`")

	@contextlib.contextmanager
	def without_waiting(self):
		"""Fail at once, instead of after half a minute, if another process holds the write lock."""
		self._run("PRAGMA busy_timeout = 0")
		self._is_pinned = True
		try:
			yield
		finally:
			self._is_pinned = False
			self._run(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT * 1000)}")

	def write_began(self) -> float | None:
		"""When the running write transaction began; None if there is none.

		Until its end no other connection can commit.
		"""
		return self._began if self._is_in_transaction else None

	def close(self):
		"""Discard uncommitted writes. SQLite's connection is kept for the next caller that opens the file."""
		if self._borrowed is CLOSED:
			return
		used, self._borrowed = self._borrowed, CLOSED
		if used is None:
			return
		try:
			if used.in_transaction:
				used.rollback()
			idle.give(self._file, used)
		except sqlite3.Error:
			used.close()
			raise
		finally:
			self._turns.give(self._me)

	@staticmethod
	def is_primary_key_violation(error) -> bool:
		return isinstance(error, sqlite3.IntegrityError) and str(error).endswith(".name")

	@staticmethod
	def is_unique_key_violation(error) -> bool:
		return isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in str(error)

	@staticmethod
	def is_table_missing(error) -> bool:
		return isinstance(error, sqlite3.OperationalError) and "no such table" in str(error)

	@staticmethod
	def is_missing_column(error) -> bool:
		return isinstance(error, sqlite3.OperationalError) and "no such column" in str(error)


def connect(path: str, synchronous: str) -> sqlite3.Connection:
	connection = sqlite3.connect(
		path,
		isolation_level=None,
		timeout=BUSY_TIMEOUT,
		check_same_thread=False,
		detect_types=sqlite3.PARSE_DECLTYPES,
		cached_statements=CACHED_STATEMENTS,
	)
	connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
	connection.execute(f"PRAGMA synchronous = {synchronous}")
	connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
	(page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
	connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_BYTES // page_bytes}")
	add_functions(connection)
	return connection


def add_functions(connection: sqlite3.Connection):
	"""Add functions of MariaDB that Huf uses and SQLite lacks, or has for ASCII only."""
	connection.create_function("regexp", 2, matches, deterministic=True)
	connection.create_function("lower", 1, lower, deterministic=True)


def lower(value):
	"""SQLite's own lower() knows A–Z only."""
	return value if value is None else str(value).lower()


def matches(pattern, value) -> bool:
	return value is not None and re.search(pattern, str(value), re.IGNORECASE) is not None
