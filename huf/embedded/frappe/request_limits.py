"""Limits requests per minute for each user, and for each address that is not signed in."""

import time
from threading import Lock

import frappe

REQUESTS_PER_MINUTE = 6_000
MAX_CALLERS = 10_000
counts: dict[str, int] = {}
"""{caller: requests in this minute}"""
_state = {"minute": 0}
_lock = Lock()


def count_request() -> None:
	"""Raises TooManyRequestsError above `requests_per_minute` of the site's configuration; 0 for no limit."""
	limit = frappe.conf.get("requests_per_minute", REQUESTS_PER_MINUTE)
	user = frappe.session.user
	caller = f"address {frappe.local.request_ip}" if user == "Guest" else f"user {user}"
	minute = int(time.time() // 60)
	with _lock:
		if _state["minute"] != minute or len(counts) > MAX_CALLERS:
			_state["minute"] = minute
			counts.clear()
		counts[caller] = counts.get(caller, 0) + 1
		exceeds = limit and counts[caller] > limit
	if exceeds:
		frappe.throw(frappe._("Too many requests. Try again in a minute."), frappe.TooManyRequestsError)
