"""Values in the cache server that other processes can replace at any time."""

from typing import Any

import frappe


def share_value(key: str, value: Any, lifetime_s: float) -> None:
	"""Cache a value for all processes; read it with `frappe.cache.get_value(key, expires=True)`."""
	frappe.cache.set_value(key, value, expires_in_sec=lifetime_s)
	# Since version 16, Frappe would otherwise keep returning the value set by this request, even after others
	# have replaced it.
	if make_key := getattr(frappe.cache, "make_key", None):
		getattr(frappe.local, "cache", {}).pop(make_key(key), None)
