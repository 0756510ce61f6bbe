"""Limits the requests per minute of each user and guest address, and the requests at once of each user.

Guests and Administrator may have any number at once: what guests may call answers quickly, and Administrator
is the operator.
"""

import time
from collections import Counter
from threading import Lock

import frappe

REQUESTS_PER_MINUTE = 6_000
REQUESTS_AT_ONCE = 210
"""All of them may be streams. With the 40 open pages of a user they leave some of the server's 256 streams to
others.
"""
UNLIMITED_AT_ONCE = ("Guest", "Administrator")
CALLER = "huf.caller"
"""Key of the counted caller in a request's environment."""
MAX_CALLERS = 10_000
counts: dict[str, int] = {}
"""{caller: requests in this minute}"""
at_once: Counter[str] = Counter()
"""{caller: requests that are being answered}"""
_state = {"minute": 0}
_lock = Lock()


def count_request() -> None:
	"""Raises TooManyRequestsError above `requests_per_minute` or `requests_at_once` of the site's
	configuration; 0 for no limit. `end_request` follows.
	"""
	limit = frappe.conf.get("requests_per_minute", REQUESTS_PER_MINUTE)
	user = frappe.session.user
	max_at_once = 0 if user in UNLIMITED_AT_ONCE else frappe.conf.get("requests_at_once", REQUESTS_AT_ONCE)
	caller = f"address {frappe.local.request_ip}" if user == "Guest" else f"user {user}"
	minute = int(time.time() // 60)
	with _lock:
		if _state["minute"] != minute or len(counts) > MAX_CALLERS:
			_state["minute"] = minute
			counts.clear()
		counts[caller] = counts.get(caller, 0) + 1
		exceeds = (limit and counts[caller] > limit) or (max_at_once and at_once[caller] >= max_at_once)
		if not exceeds:
			at_once[caller] += 1
			frappe.local.request.environ[CALLER] = caller
	if exceeds:
		frappe.throw(frappe._("Too many requests. Try again in a minute."), frappe.TooManyRequestsError)


def end_request(environ: dict) -> None:
	"""The request has been answered. Does nothing for one that was not counted."""
	caller = environ.pop(CALLER, None)
	with _lock:
		if caller and at_once[caller] > 1:
			at_once[caller] -= 1
		elif caller:
			del at_once[caller]
