"""`frappe.cache`: values shared by the threads of this process, with expiry.  Another process does not see
them.

Replaces the Redis of real Frappe. Values are pickled, so that readers cannot change each other's.
"""

import pickle
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

import frappe

MAX_BYTES = 8 * 1024 * 1024
ENTRY_BYTES = 300
"""Overhead of an entry besides its key and value."""


class Cache:
	"""Holds at most MAX_BYTES for all sites of the process; the oldest values are evicted."""

	def __init__(self):
		self._lock = Lock()
		self._values: OrderedDict[tuple[str, str], tuple[float, bytes]] = OrderedDict()
		"""{(path of the site, key): (expiry, value)}, the oldest first."""
		self._bytes = 0

	def __call__(self) -> "Cache":
		return self

	def set_value(self, key: str, val, *, expires_in_sec: float | None = None):
		expiry = time.monotonic() + (float("inf") if expires_in_sec is None else expires_in_sec)
		place, value = self._place(key), pickle.dumps(val)
		with self._lock:
			self._remove(place)
			self._values[place] = expiry, value
			self._bytes += len(value) + len(key) + ENTRY_BYTES
			while self._bytes > MAX_BYTES:
				self._remove(next(iter(self._values)))

	def _remove(self, place: tuple[str, str]):
		if place in self._values:
			self._bytes -= len(self._values.pop(place)[1]) + len(place[1]) + ENTRY_BYTES

	def get_value(self, key: str, generator: Callable | None = None, *, expires: bool = False):
		"""The cached value, else the result of `generator()`, which is then stored, else None."""
		expiry, stored = self._values.get(self._place(key), (0, b""))
		if expiry > time.monotonic():
			return pickle.loads(stored)  # noqa: S301 (of this process)
		value = generator() if generator else None
		if value is not None:
			self.set_value(key, value)
		return value

	def delete_value(self, keys: str | list[str]):
		with self._lock:
			for key in [keys] if isinstance(keys, str) else keys:
				self._remove(self._place(key))

	def flushall(self):
		site = self._place("")[0]
		with self._lock:
			for place in [each for each in self._values if each[0] == site]:
				self._remove(place)

	@staticmethod
	def _place(key: str) -> tuple[str, str]:
		return getattr(frappe.local, "site_path", ""), key


cache = Cache()


def clear_cache(user: str | None = None, doctype: str | None = None):
	"""Clear cached values: of a user, of a DocType, or all."""
	from frappe import apps, translate
	from frappe.database import versions
	from frappe.site_local import clear_request_cache

	db = frappe.local.db
	if user or doctype:
		for name in (doctype,) if doctype else ("User", "User Permission"):
			if db:
				db.versions.changed(name)
	else:
		if db:
			versions.clear(db.path)
		cache.flushall()
		apps.clear_hooks_cache()
		translate.clear_cache()
	clear_request_cache()
