"""Proxy headers are accepted only from peers that the site's configuration trusts."""

import contextlib
import io
import json
from unittest import mock

import frappe

from huf.embedded.site import SITE
from huf.embedded.tests.sites import Browser, SiteTestCase

PROXY, CLIENT, OTHER = "10.1.2.3", "203.0.113.7", "198.51.100.9"
WHO = "/api/method/frappe.auth.get_logged_user"


class ProxyTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.user = self.make_user("proxied@example.com", "System Manager")
		frappe.db.commit()

	def configure(self, **values):
		file = self.home / "sites" / SITE / "site_config.json"
		before = file.read_text()
		self.addCleanup(file.write_text, before)
		file.write_text(json.dumps({**json.loads(before), **values}))

	def open(self, path: str, peer: str, browser: Browser | None = None, **headers):
		headers = {name.replace("_", "-"): value for name, value in headers.items()}
		return (browser or Browser()).open(path, headers=headers, environ_base={"REMOTE_ADDR": peer})

	def address(self, peer: str, **headers) -> str:
		browser = Browser()
		headers = {name.replace("_", "-"): value for name, value in headers.items()}
		data = {"usr": self.user, "pwd": "wrong"}
		browser.post("/api/method/login", data=data, headers=headers, environ_base={"REMOTE_ADDR": peer})
		frappe.db.rollback()
		return frappe.get_all("Activity Log", pluck="ip_address", order_by="creation desc", limit=1)[0]


class TestAddress(ProxyTestCase):
	def test_without_a_trusted_proxy_the_peer_is_the_client(self):
		self.assertEqual(self.address(PROXY, X_Forwarded_For=CLIENT), PROXY)
		self.configure(trusted_proxies=["10.0.0.0/8"])
		self.assertEqual(self.address(OTHER, X_Forwarded_For=CLIENT), OTHER)

	def test_a_trusted_proxy_sets_the_client_address_and_clients_cannot_forge_it(self):
		self.configure(trusted_proxies=["10.0.0.0/8"])
		self.assertEqual(self.address(PROXY, X_Forwarded_For=CLIENT), CLIENT)
		self.assertEqual(self.address(PROXY, X_Forwarded_For=f"{OTHER}, {CLIENT}"), CLIENT)
		self.assertEqual(self.address(PROXY, X_Forwarded_For=f"{CLIENT}, 10.9.9.9"), CLIENT)
		self.assertEqual(self.address(PROXY, X_Forwarded_For="<script>"), PROXY)
		self.assertEqual(self.address(PROXY), PROXY)

	def test_trusted_proxies_may_be_one_text(self):
		for number, text in enumerate((PROXY, f"192.0.2.1, {PROXY}", f", {PROXY}")):
			self.configure(trusted_proxies=text)
			client = f"198.51.100.{number}"
			self.assertEqual(self.address(PROXY, X_Forwarded_For=client), client)

	def test_an_invalid_proxy_is_named_in_the_output_of_the_server(self):
		self.configure(trusted_proxies=["10.0.0.0/99"])
		with contextlib.redirect_stderr(io.StringIO()) as output:
			self.assertEqual(self.open("/login", PROXY).status_code, 500)
		self.assertIn("10.0.0.0/99", output.getvalue())

	def test_only_a_trusted_proxy_can_set_the_forwarded_protocol(self):
		self.configure(trusted_proxies=[PROXY])
		for peer, expected in ((PROXY, True), (OTHER, False)):
			answer = self.open("/login", peer, X_Forwarded_Proto="https")
			self.assertEqual("Strict-Transport-Security" in answer.headers, expected)


class TestUser(ProxyTestCase):
	def who(self, peer: str, browser: Browser | None = None, **headers) -> str | int:
		answer = self.open(WHO, peer, browser, **headers)
		return answer.json["message"] if answer.status_code == 200 else answer.status_code

	def test_the_user_header_is_ignored_by_default_and_from_untrusted_peers(self):
		for peer in (PROXY, OTHER):
			self.assertEqual(self.who(peer, X_Remote_User=self.user), 403)
		self.configure(proxy_user_header="X-Remote-User")
		self.assertEqual(self.who(PROXY, X_Remote_User=self.user), 403)
		self.configure(trusted_proxies=[PROXY])
		self.assertEqual(self.who(OTHER, X_Remote_User=self.user), 403)
		self.assertEqual(self.who(OTHER, X_Remote_User=self.user, X_Forwarded_For=PROXY), 403)

	def test_a_trusted_proxy_signs_in_its_user_in_one_session(self):
		self.configure(proxy_user_header="X-Remote-User", trusted_proxies=[PROXY])
		browser = Browser()
		for _again in range(3):
			self.assertEqual(self.who(PROXY, browser, X_Remote_User=self.user), self.user)
		frappe.db.rollback()
		self.assertEqual(len(frappe.db.sql("SELECT 1 FROM `tabSessions` WHERE user = %s", self.user)), 1)
		other = self.make_user("second@example.com")
		frappe.db.commit()
		self.assertEqual(self.who(PROXY, browser, X_Remote_User=other), other)

	def test_the_user_header_cannot_name_administrator_or_unknown_users(self):
		self.configure(proxy_user_header="X-Remote-User", trusted_proxies=[PROXY])
		for name in ("Administrator", "Guest", "nobody@example.com"):
			self.assertEqual(self.who(PROXY, X_Remote_User=name), 401, name)
		frappe.db.set_value("User", self.user, "enabled", 0)
		frappe.db.commit()
		self.assertEqual(self.who(PROXY, X_Remote_User=self.user), 401)
		frappe.db.set_value("User", self.user, "enabled", 1)
		frappe.db.commit()

	def test_writes_need_the_csrf_token_as_in_every_session(self):
		self.configure(proxy_user_header="X-Remote-User", trusted_proxies=[PROXY])
		browser = Browser()
		options = {"headers": {"X-Remote-User": self.user}, "environ_base": {"REMOTE_ADDR": PROXY}}
		refused = browser.post("/api/resource/Note", json={"title": "forged"}, **options)
		self.assertEqual(refused.status_code, 400)


class TestRequests(ProxyTestCase):
	def test_requests_per_minute_are_limited_per_user(self):
		from frappe.request_limits import counts

		counts.clear()
		self.addCleanup(counts.clear)
		self.configure(requests_per_minute=20)
		eager, calm = Browser(), Browser()
		eager.login(self.user)
		calm.login()
		statuses = [eager.open(WHO).status_code for _request in range(25)]
		self.assertEqual(statuses[0], 200)
		self.assertEqual(statuses[-1], 429)
		self.assertEqual(calm.open(WHO).status_code, 200)

	def test_requests_at_once_are_limited_per_user(self):
		from frappe.request_limits import at_once

		self.configure(requests_at_once=2)
		self.addCleanup(at_once.clear)
		eager, calm = Browser(), Browser()
		eager.login(self.user)
		calm.login()
		self.assertEqual(eager.open(WHO).status_code, 200)
		self.assertFalse(at_once, "each request that has ended is taken off")
		at_once.update({f"user {self.user}": 2, "user Administrator": 2})
		self.assertEqual([each.open(WHO).status_code for each in (eager, calm)], [429, 200])
		refused = eager.open("/v1/models").json["error"]
		self.assertEqual(refused["code"], "rate_limit_exceeded")
		self.assertIn("in a moment", refused["message"])
		self.assertEqual(at_once[f"user {self.user}"], 2)

	def test_requests_whose_answer_fails_are_taken_off(self):
		from frappe.request_limits import at_once

		for end in ("dispatch", "finish"):
			with mock.patch(f"frappe.app.{end}", side_effect=SystemExit), self.assertRaises(SystemExit):
				Browser().open(WHO)
		self.assertFalse(at_once)
