"""Invalidates cached documents across threads and processes.

Each DocType has a counter in the site's database, raised by every transaction that changed one of its rows. A
cached value carries the counter's value at the time it was read. Checking costs one row, the counter of all
DocTypes, while nothing has changed, and nothing within a write transaction or shortly after the last check.
The threads of a process share the cache and see each other's changes at once; changes of other processes
become visible after MOMENT.
"""

from threading import Lock
from time import monotonic
from weakref import proxy

MOMENT = 0.001
"""Seconds for which changes of other processes may go unnoticed."""

ALL = ""
"""Stands for all DocTypes: the counter of all changes."""

MAX_ENTRIES = 10_000
LISTED = {"DocType", "DocField", "DocPerm", "User", "Has Role", "Role", "User Permission"}
"""DocTypes whose lists are cached; of others only documents are."""

_shared: dict[str, dict] = {}
"""By database path: {(doctype, key): (version, value)}, shared by all connections of the process."""

_changes: dict[str, dict] = {}
"""By database path: {doctype: number of its last change by this process, None: number of the last change of
any}.
"""

_lock = Lock()


class Versions:
	def __init__(self, connection):
		# A weak reference: the connection owns this object, and a cycle would keep both until a garbage
		# collection.
		self._connection = proxy(connection)
		self._entries = _shared.setdefault(connection.path, {})
		self._known: dict[str, int] = {}
		self._total: int | None = None
		self._looked_up_in: float | None = None
		self._changes = _changes.setdefault(connection.path, {None: 0})
		self._looked_at, self._seen = float("-inf"), 0
		self._uncommitted: dict[str, dict] = {}

	def cached(self, doctype: str, key, make):
		"""The cached result of `make()`, which is called again after rows of the DocType have changed.

		The value is shared between threads: never change it.
		"""
		if doctype in self._uncommitted:
			own = self._uncommitted[doctype]
			if key not in own:
				own[key] = make()
			return own[key]
		version = self.version(doctype)
		entry = self._entries.get((doctype, key))
		if entry is None or entry[0] != version:
			entry = version, make()
			self._store((doctype, key), entry)
		return entry[1]

	def version(self, doctype: str) -> int:
		transaction = self._connection.write_began()
		if transaction and transaction == self._looked_up_in:
			return self._known.get(doctype, 0)
		is_seen = self._changes.get(doctype, 0) <= self._seen
		if not is_seen or monotonic() - self._looked_at > MOMENT:
			self._looked_up_in = transaction
			self._look()
		return self._known.get(doctype, 0)

	def _look(self):
		self._seen = self._changes[None]
		query = "SELECT version FROM `__DocTypeVersion` WHERE doctype = ?"
		(total,) = self._connection.execute(query, (ALL,)).fetchone() or (0,)
		if total != self._total:
			self._known = dict(
				self._connection.execute("SELECT doctype, version FROM `__DocTypeVersion`").fetchall()
			)
			self._total = total
		self._looked_at = monotonic()

	def is_changing(self, *doctypes: str) -> bool:
		"""Whether the open transaction has changed rows of one of these DocTypes."""
		return any(doctype in self._uncommitted for doctype in doctypes)

	def changed(self, doctype: str):
		"""Note that the open transaction changes rows of this DocType."""
		self._uncommitted[doctype] = {}

	def inserted(self, doctype: str):
		"""Note that rows were inserted directly: cached documents stay valid."""
		if doctype in LISTED:
			self.changed(doctype)

	def write(self):
		"""Increment the counters. Must be the last statement before a commit."""
		if self._uncommitted:
			self._connection.executemany(
				"INSERT INTO `__DocTypeVersion` VALUES (?, 1)"
				" ON CONFLICT DO UPDATE SET version = version + 1",
				[(doctype,) for doctype in (ALL, *self._uncommitted)],
			)

	def forget(self):
		"""After a transaction: read its rows and the counters again."""
		if self._uncommitted:
			with _lock:
				number = self._changes[None] + 1
				self._changes.update(dict.fromkeys(self._uncommitted, number))
				self._changes[None] = number
			self._uncommitted = {}
			self._total = None

	def forget_own_reads(self):
		"""After a partial rollback: discard what the transaction read of its own changes."""
		self._uncommitted = {doctype: {} for doctype in self._uncommitted}

	def _store(self, key, entry):
		with _lock:
			if len(self._entries) >= MAX_ENTRIES:
				self._entries.clear()
			self._entries[key] = entry


def clear(path: str):
	"""Clear the cache of a database."""
	_shared.get(str(path), {}).clear()
