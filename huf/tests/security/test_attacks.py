"""The attacks of `attacks.py` on this site, through its WSGI application."""

import json
import unittest

from huf.tests.base import SiteTestCase
from huf.tests.http import send
from huf.tests.security.answers import Answers, compare
from huf.tests.security.attacks import ATTEMPTS, Attacks
from huf.tests.security.clients import give_api_key


class TestAnswers(unittest.TestCase):
	def test_effects_of_requests_that_a_bench_refuses_are_reported(self):
		answers = Answers()
		for doctype, status in (("Agent", 200), ("Agent", 403), ("Agent Run", 200)):
			actor = "other PUT" if doctype == "Agent" else "guest DELETE"
			answers.add("fields", doctype, actor, f"owner {status}", status, has_effect=True)
		self.assertEqual(
			compare(answers),
			[
				"fields Agent other PUT owner 200: allowed here, 4xx on a bench",
				"fields Agent Run guest DELETE owner 200: allowed here, 4xx on a bench",
			],
		)


class TestAttacks(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.is_bench = self.allow_many_users()

	def allow_many_users(self) -> bool:
		"""Raise the limit of new users, which a bench reads from the site's configuration with each request.

		Returns whether this is a bench.
		"""
		try:
			from frappe.installer import update_site_config
		except ImportError:
			return False
		update_site_config("throttle_user_limit", 100_000)
		self.addCleanup(update_site_config, "throttle_user_limit", "None")
		return True

	def test_no_attack_succeeds(self):
		attacks = Attacks(self.send, give_api_key("Administrator"), allows_faults_of_frappe=self.is_bench)
		attacks.run()
		counts = attacks.answers.counts
		print(json.dumps(dict(sorted(counts.items()))))
		failures = attacks.failures + ([] if self.is_bench else compare(attacks.answers))
		self.assertFalse(failures, "\n".join(failures))
		self.assertGreaterEqual(sum(counts.values()), ATTEMPTS + 2_000)

	@staticmethod
	def send(method: str, path: str, person: str | None, body) -> tuple[int, str]:
		headers = {"Accept": "application/json"}
		if person:
			headers["Authorization"] = f"token {person}"
		options = {} if body is None else {"json": body}
		answer = send(path, method=method, headers=headers, **options)
		return answer.status_code, answer.get_data().decode("utf-8", "replace")
