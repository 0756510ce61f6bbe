"""Lets a site install, update or remove one pack at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import frappe
from filelock import FileLock, Timeout

from huf.ai.core.errors import UsageError

LOCK_TIMEOUT_S = 30


@contextmanager
def changing_packs() -> Iterator[None]:
	"""Wait for the other one. Commits, because what this transaction has read may be outdated then.

	The operating system releases the lock of a process that ends. Raises UsageError after LOCK_TIMEOUT_S.
	"""
	file = Path(frappe.get_site_path("locks")) / "huf-packs.lock"
	file.parent.mkdir(exist_ok=True)
	lock = FileLock(file)
	try:
		lock.acquire(timeout=LOCK_TIMEOUT_S)
	except Timeout:
		raise UsageError("Another pack is being installed or removed. Try again in a minute.") from None
	try:
		frappe.db.commit()
		yield
	finally:
		lock.release()
