"""A pool of idle SQLite connections: opening one and reading the schema takes longer than most requests use
the database.
"""

import os
import sqlite3
from collections import defaultdict
from threading import Semaphore

MAX_READS = 4
"""Concurrent reads of a process. Without a limit, hundreds of threads would each hold a connection while they
wait for Python's global lock.
"""

MAX_IDLE = MAX_READS + 1
"""Idle connections per file: as many as are in use at a time, with the one that writes. Each grows to one or
two megabytes by its schema, cached pages and statements.
"""

reads = Semaphore(MAX_READS)
_idle: dict[tuple, list[sqlite3.Connection]] = defaultdict(list)
_inherited: list[dict] = []


def identify(path: str) -> tuple | None:
	"""Identify the file at a path, if there is one: after a restore it is another file."""
	try:
		found = os.stat(path)
	except OSError:
		return None
	return found.st_dev, found.st_ino


def take(file: tuple | None) -> sqlite3.Connection | None:
	try:
		return _idle[file].pop()
	except IndexError:
		return None


def give(file: tuple | None, connection: sqlite3.Connection) -> None:
	"""Return a connection without an open transaction to the pool, or close it."""
	if file is None or len(_idle[file]) >= MAX_IDLE:
		connection.close()
	else:
		_idle[file].append(connection)


def forget() -> None:
	"""A forked process must neither use nor close its parent's connections, nor wait for its reads."""
	global _idle, reads
	_inherited.append(_idle)
	_idle, reads = defaultdict(list), Semaphore(MAX_READS)


if hasattr(os, "register_at_fork"):
	os.register_at_fork(after_in_child=forget)
