"""The attacks of `attacks.py` on this site, through its WSGI application."""

import json

from huf.tests.base import SiteTestCase
from huf.tests.factories import remove_stops
from huf.tests.http import send
from huf.tests.security.attacks import ATTEMPTS, Attacks
from huf.tests.security.clients import Client


class TestAttacks(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.is_bench = self.allow_many_users()

	def allow_many_users(self) -> bool:
		"""A bench reads the limit of new users from the site's configuration with each request.

		Returns whether this is one.
		"""
		try:
			from frappe.installer import update_site_config
		except ImportError:
			return False
		update_site_config("throttle_user_limit", 100_000)
		self.addCleanup(update_site_config, "throttle_user_limit", "None")
		return True

	def test_no_attack_succeeds(self):
		# A user of its own: the key of Administrator stays as it is.
		admin = Client("System Manager", "Huf Manager", "Huf User")
		key = admin.headers["Authorization"].partition(" ")[2]
		attacks = Attacks(self.send, key, allows_faults_of_frappe=self.is_bench)
		# A manager who calls every endpoint stops all agents.
		self.addCleanup(remove_stops)
		attacks.run()
		print(json.dumps(dict(sorted(attacks.counts.items()))))
		self.assertFalse(attacks.failures, "\n".join(attacks.failures))
		self.assertGreaterEqual(sum(attacks.counts.values()), ATTEMPTS + 500)

	@staticmethod
	def send(method: str, path: str, person: str | None, body) -> tuple[int, str]:
		headers = {"Accept": "application/json"}
		if person:
			headers["Authorization"] = f"token {person}"
		options = {} if body is None else {"json": body}
		answer = send(path, method=method, headers=headers, **options)
		return answer.status_code, answer.get_data().decode("utf-8", "replace")
