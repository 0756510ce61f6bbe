"""`frappe.cache`: values shared by the threads of this process, with expiry.  Another process does not see them.

It stands where real Frappe has Redis.  Values are pickled, so that nobody changes what another one holds.
"""

import pickle
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from threading import RLock

import frappe

_stores: dict[str, dict] = {}
"""{path of the site: {name: (expiry, value)}}"""

SWEEP_AFTER = 5000
"""How many values are set until those that have expired are looked for."""


class Cache:
	"""Frappe's own methods (get_value, hget, ...) and those of Redis that Frappe's wrapper lets through."""

	def __init__(self):
		self._lock = RLock()
		self._changes = 0

	@property
	def _values(self) -> dict[str, tuple[float | None, bytes | dict | int]]:
		"""Those of the current site."""
		path = getattr(frappe.local, "site_path", "")
		return _stores.get(path) or _stores.setdefault(path, {})

	def __call__(self) -> "Cache":
		return self

	@staticmethod
	def make_key(key, user=None, shared=False) -> str:
		if user is True:
			user = frappe.session.user
		return f"user:{user}:{key}" if user else str(key)

	# --- Frappe's names ---

	def set_value(self, key, val, user=None, expires_in_sec=None, shared=False):
		self.set(self.make_key(key, user), pickle.dumps(val), ex=expires_in_sec)

	def get_value(self, key, generator: Callable | None = None, user=None, expires=False, shared=False):
		"""The value, or what `generator()` gives, which is then kept."""
		key = self.make_key(key, user) if user else str(key)
		stored = self._live(key)
		if stored is not None:
			return pickle.loads(stored) if isinstance(stored, bytes) else stored
		value = generator() if generator else None
		if value is not None:
			self.set_value(key, value)
		return value

	def delete_value(self, keys, user=None, make_keys=True, shared=False):
		keys = keys if isinstance(keys, (list, tuple)) else (keys,)
		self.delete(*(self.make_key(key, user) for key in keys))

	def delete_key(self, *args, **kwargs):
		self.delete_value(*args, **kwargs)

	def get_keys(self, key: str) -> list[str]:
		"""Keys that start with this text."""
		with self._lock:
			return [
				name for name in list(self._values) if name.startswith(key) and self._live(name) is not None
			]

	def get_all(self, key: str) -> dict:
		return {name: self.get_value(name) for name in self.get_keys(key)}

	def hset(self, name, key, value, shared=False):
		with self._lock:
			self._hash(name)[str(key)] = pickle.dumps(value)

	def hget(self, name, key, generator: Callable | None = None, shared=False):
		with self._lock:
			stored = (self._live(name) or {}).get(str(key))
		if stored is not None:
			return pickle.loads(stored)
		value = generator() if generator else None
		if value is not None:
			self.hset(name, key, value)
		return value

	def hdel(self, name, keys, shared=False, pipeline=None):
		with self._lock:
			for key in keys if isinstance(keys, (list, tuple)) else (keys,):
				(self._live(name) or {}).pop(str(key), None)

	# --- Redis' names ---

	def set(self, name, value, ex=None, px=None, nx=False, xx=False) -> bool | None:
		"""True if it was set; None if `nx` and it exists, or `xx` and it does not.  ex in seconds, px in ms."""
		with self._lock:
			exists = self._live(str(name)) is not None
			if (nx and exists) or (xx and not exists):
				return None
			seconds = ex if ex is not None else (px / 1000 if px is not None else None)
			if not isinstance(value, bytes):
				value = str(value).encode()
			self._values[str(name)] = (
				None if seconds is None else time.monotonic() + _seconds(seconds),
				value,
			)
			self._changes += 1
			if self._changes % SWEEP_AFTER == 0:
				for each in list(self._values):
					self._live(each)
			return True

	def get(self, name) -> bytes | None:
		return self._live(str(name))

	def delete(self, *names) -> int:
		with self._lock:
			return sum(self._values.pop(str(name), None) is not None for name in names)

	def exists(self, *names) -> int:
		with self._lock:
			return sum(self._live(self.make_key(name)) is not None for name in names)

	def incrby(self, name, amount: int = 1) -> int:
		with self._lock:
			number = int(self._live(str(name)) or 0) + amount
			expiry = self._values.get(str(name), (None,))[0]
			self._values[str(name)] = (expiry, str(number).encode())
			return number

	incr = incrby

	def expire(self, name, time_in_seconds) -> bool:
		with self._lock:
			value = self._live(str(name))
			if value is None:
				return False
			self._values[str(name)] = (time.monotonic() + _seconds(time_in_seconds), value)
			return True

	expire_key = expire

	def keys(self, pattern="*") -> list[bytes]:
		with self._lock:
			return [name.encode() for name in list(self._values) if fnmatchcase(name, pattern)]

	def flushall(self):
		with self._lock:
			self._values.clear()

	def ping(self) -> bool:
		return True

	def _live(self, name: str):
		"""The stored value, None once it has expired.  Reading takes no lock."""
		expiry, value = self._values.get(name, (None, None))
		if expiry is None or expiry > time.monotonic():
			return value
		with self._lock:
			if self._values.get(name, (None,))[0] == expiry:
				del self._values[name]
		return None

	def _hash(self, name) -> dict:
		if not isinstance(self._live(str(name)), dict):
			self._values[str(name)] = (None, {})
		return self._values[str(name)][1]


def _seconds(value) -> float:
	return value.total_seconds() if hasattr(value, "total_seconds") else float(value)


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
