"""Which cached documents are still true.  Holds no documents itself.

Each DocType has a counter in the site's database, raised by every transaction that changed one of its
rows. What is cached carries the counter's value of when it was read.  Looking the counters up costs one
row, that of all of them together, as long as none was raised, and nothing within a write transaction or
within a moment of the last look. So a cache may be shared by the threads of a process, which see each
other's changes at once, and is right a moment later when another process has written to the same file.
"""

from threading import Lock
from time import monotonic
from weakref import proxy

MOMENT = 0.001
"""Seconds for which what other processes change may go unseen."""

ALL = ""
"""In the place of a DocType: how often any of them was changed."""

MAX_ENTRIES = 10_000
LISTED = {"DocType", "DocField", "DocPerm", "User", "Has Role", "Role", "User Permission"}
"""DocTypes of which lists are cached; of all others only single documents are."""

_shared: dict[str, dict] = {}
"""Per database path: {(doctype, key): (version, value)}, common to all connections of the process."""

_changes: dict[str, dict] = {}
"""Per database path: {doctype: number of its last change by this process, None: number of the last one of
all}.
"""

_lock = Lock()


class Versions:
	def __init__(self, connection):
		# The connection has this object: in a cycle, both would stay until a collection.
		self._connection = proxy(connection)
		self._entries = _shared.setdefault(connection.path, {})
		self._known: dict[str, int] = {}
		self._total: int | None = None
		self._looked_up_in: float | None = None
		self._changes = _changes.setdefault(connection.path, {None: 0})
		self._looked_at, self._seen = float("-inf"), 0
		self._uncommitted: dict[str, dict] = {}

	def cached(self, doctype: str, key, make):
		"""The value `make()` gives, made again only after rows of the DocType have changed.

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
		"""Whether the running transaction has changed rows of one of these."""
		return any(doctype in self._uncommitted for doctype in doctypes)

	def changed(self, doctype: str):
		"""Rows of this DocType are being changed by the running transaction."""
		self._uncommitted[doctype] = {}

	def inserted(self, doctype: str):
		"""Rows were added past the document's life cycle: what is cached of single documents stays true."""
		if doctype in LISTED:
			self.changed(doctype)

	def write(self):
		"""Raise the counters; the last statement before a commit."""
		if self._uncommitted:
			self._connection.executemany(
				"INSERT INTO `__DocTypeVersion` VALUES (?, 1) ON CONFLICT DO UPDATE SET version = version + 1",  # noqa: E501
				[(doctype,) for doctype in (ALL, *self._uncommitted)],
			)

	def forget(self):
		"""The transaction has ended: its own rows are read again, and the counters with them."""
		if self._uncommitted:
			with _lock:
				number = self._changes[None] + 1
				self._changes.update(dict.fromkeys(self._uncommitted, number))
				self._changes[None] = number
			self._uncommitted = {}
			self._total = None

	def forget_own_reads(self):
		"""Part of the transaction was undone: what it read of its own changes may not be true any more."""
		self._uncommitted = {doctype: {} for doctype in self._uncommitted}

	def _store(self, key, entry):
		with _lock:
			if len(self._entries) >= MAX_ENTRIES:
				self._entries.clear()
			self._entries[key] = entry


def clear(path: str):
	"""Forget all that is cached for a database."""
	_shared.get(str(path), {}).clear()
