"""`frappe.cache`: values shared by the threads of this process, with expiry.  Another process does not see
them.

It stands where real Frappe has Redis.  Values are pickled, so that nobody changes what another one holds.
"""

import pickle
import time
from collections.abc import Callable
from threading import Lock

import frappe

SWEEP_AFTER = 5000
"""How many values are set until those that have expired are removed."""


class Cache:
	def __init__(self):
		self._lock = Lock()
		self._values: dict[tuple[str, str], tuple[float, bytes]] = {}
		"""{(path of the site, key): (expiry, value)}"""
		self._changes = 0

	def __call__(self) -> "Cache":
		return self

	def set_value(self, key: str, val, *, expires_in_sec: float | None = None):
		expiry = time.monotonic() + (float("inf") if expires_in_sec is None else expires_in_sec)
		with self._lock:
			self._values[self._place(key)] = expiry, pickle.dumps(val)
			self._changes += 1
			if self._changes % SWEEP_AFTER == 0:
				present = time.monotonic()
				self._values = {place: entry for place, entry in self._values.items() if entry[0] > present}

	def get_value(self, key: str, generator: Callable | None = None, *, expires: bool = False):
		"""The value, else what `generator()` returns, which is then stored; None without either."""
		expiry, stored = self._values.get(self._place(key), (0, b""))
		if expiry > time.monotonic():
			return pickle.loads(stored)
		value = generator() if generator else None
		if value is not None:
			self.set_value(key, value)
		return value

	def delete_value(self, keys: str | list[str]):
		with self._lock:
			for key in [keys] if isinstance(keys, str) else keys:
				self._values.pop(self._place(key), None)

	def flushall(self):
		site = self._place("")[0]
		with self._lock:
			self._values = {place: entry for place, entry in self._values.items() if place[0] != site}

	@staticmethod
	def _place(key: str) -> tuple[str, str]:
		return getattr(frappe.local, "site_path", ""), key


cache = Cache()


def clear_cache(user: str | None = None, doctype: str | None = None):
	"""Forget cached values: of a user, of a DocType, or all of them."""
	from frappe.database import versions

	if frappe.local.db:
		for name in (doctype,) if doctype else ("User", "User Permission") if user else ():
			frappe.local.db.versions.changed(name)
		if not user and not doctype:
			versions.clear(frappe.local.db.path)
	if not user and not doctype:
		cache.flushall()
		from frappe import apps, translate

		apps.clear_hooks_cache()
		translate.clear_cache()
	from frappe.site_local import clear_request_cache

	clear_request_cache()
