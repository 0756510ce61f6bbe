"""Limits failed attempts with passwords and API secrets.

Failures are counted per account and address, per address, and per account. The last limit does not apply to
the address of the account's last login, so attackers elsewhere cannot lock its owner out.
"""

from contextlib import contextmanager
from threading import Lock

import frappe
from frappe.utils.caching import Cache

FAILURES_PER_PAIR, FAILURES_PER_ADDRESS, FAILURES_PER_ACCOUNT = 10, 50, 100
WINDOW_S, ACCOUNT_WINDOW_S = 300, 3600
failures = Cache()
"""A separate cache, so that no other value can evict a count."""


class Attempts:
	"""Failures with one kind of secret. Attempts are serialized, so that parallel ones cannot exceed the
	limit.
	"""

	def __init__(self, kind: str):
		self.kind = kind
		self.lock = Lock()

	@contextmanager
	def attempt(self, account: str, known_address: str | None = None):
		"""Counts an AuthenticationError raised inside. Raises TooManyRequestsError if the limit is
		reached.
		"""
		limits = self.limits(account, known_address)
		self.refuse_if_exhausted(limits)
		with self.lock:
			self.refuse_if_exhausted(limits)
			try:
				yield
			except frappe.AuthenticationError:
				for key, (_failures, window) in limits.items():
					failures.set_value(key, failures_of(key) + 1, expires_in_sec=window)
				raise
			failures.delete_value(next(iter(limits)))

	def limits(self, account: str, known_address: str | None) -> dict[str, tuple[int, int]]:
		"""{cache key: (failures allowed, seconds)}, the pair first."""
		address, account = frappe.local.request_ip, account.lower()
		prefix = f"failed_{self.kind}"
		limits = {
			f"{prefix}:pair:{address}:{account}": (FAILURES_PER_PAIR, WINDOW_S),
			f"{prefix}:address:{address}": (FAILURES_PER_ADDRESS, WINDOW_S),
		}
		if address != known_address:
			limits[f"{prefix}:account:{account}"] = (FAILURES_PER_ACCOUNT, ACCOUNT_WINDOW_S)
		return limits

	def refuse_if_exhausted(self, limits: dict[str, tuple[int, int]]):
		for key, (allowed, window) in limits.items():
			if failures_of(key) >= allowed:
				message = frappe._("Too many failed logins. Try again in {0} minutes.").format(window // 60)
				frappe.local.response["message"] = message
				raise frappe.TooManyRequestsError(message)


def failures_of(key: str) -> int:
	return failures.get_value(key) or 0


logins, api_secrets = Attempts("login"), Attempts("api_secret")
