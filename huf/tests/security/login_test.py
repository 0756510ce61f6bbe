"""Logins: guesses are limited without locking out the owner, and sessions resist cross-site requests."""

from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import frappe
import frappe.auth
from frappe import login_attempts
from frappe.login_attempts import failures
from frappe.utils.password import check_password

from huf.embedded.tests.sites import PASSWORD, Browser, SiteTestCase
from huf.tests.measuring import measure

LOGGED_USER = "/api/method/frappe.auth.get_logged_user"
LOGIN = "/api/method/login"


class TestAttempts(SiteTestCase):
	def setUp(self):
		super().setUp()
		failures.flushall()
		self.user = self.make_user("anna@example.com")

	def guess(self, address: str, password="wrong", user=None) -> int:
		body = {"usr": user or self.user, "pwd": password}
		environment = {"REMOTE_ADDR": address}
		return Browser().open(LOGIN, "POST", data=body, environ_base=environment).status_code

	def test_parallel_guesses_do_not_outrun_the_limit(self):
		checked = []

		def counted(*arguments):
			checked.append(arguments)
			return check_password(*arguments)

		with mock.patch.object(frappe.auth, "check_password", counted), ThreadPoolExecutor(40) as pool:
			answers = list(pool.map(lambda _n: self.guess("10.0.0.1"), range(120)))
		self.assertEqual(len(checked), login_attempts.FAILURES_PER_PAIR)
		self.assertEqual(answers.count(401), login_attempts.FAILURES_PER_PAIR)
		self.assertEqual(answers.count(429), 120 - login_attempts.FAILURES_PER_PAIR)

	def test_a_blocked_address_does_not_lock_the_account_elsewhere(self):
		for _attempt in range(login_attempts.FAILURES_PER_PAIR + 1):
			self.guess("10.0.0.1")
		self.assertEqual(self.guess("10.0.0.1", PASSWORD), 429)
		self.assertEqual(self.guess("10.0.0.2", PASSWORD), 200)

	def test_a_distributed_attack_is_limited_without_locking_out_a_known_address(self):
		self.assertEqual(self.guess("192.168.1.5", PASSWORD), 200)
		with mock.patch.object(login_attempts, "FAILURES_PER_ACCOUNT", 5):
			answers = [self.guess(f"10.0.1.{number}") for number in range(8)]
			self.assertEqual(answers, [401] * 5 + [429] * 3)
			self.assertEqual(self.guess("192.168.1.5", PASSWORD), 200)

	def test_failures_of_one_address_over_many_accounts_are_limited(self):
		with mock.patch.object(login_attempts, "FAILURES_PER_ADDRESS", 5):
			answers = [self.guess("10.0.0.1", user=f"nobody{number}") for number in range(8)]
		self.assertEqual(answers, [401] * 5 + [429] * 3)

	def test_guesses_by_username_and_email_share_one_limit(self):
		frappe.db.set_value("User", self.user, "username", "anna")
		frappe.db.commit()
		answers = [self.guess("10.0.0.1", user=name) for name in ("anna", self.user, "ANNA@example.com") * 5]
		self.assertEqual(answers.count(401), login_attempts.FAILURES_PER_PAIR)

	def test_long_names_and_passwords_are_refused_before_any_work(self):
		def refuse(*_arguments):
			self.fail("a hash was computed")

		with mock.patch.object(frappe.auth, "check_password", refuse):
			self.assertEqual(self.guess("10.0.0.1", user="x" * 141), 401)
			self.assertEqual(self.guess("10.0.0.1", password="x" * 513), 401)
			_seconds, peak = measure(
				lambda: self.assertEqual(self.guess("10.0.0.1", user="x" * 5_000_000), 413)
			)
		# The test itself holds a few copies of the name.
		self.assertLess(peak, 40_000_000)

	def test_guesses_of_api_secrets_are_limited(self):
		self.make_user("robot@example.com", api_key="key-of-robot", api_secret="secret-of-robot")

		def call(secret: str, address: str) -> int:
			headers = {"Authorization": f"token key-of-robot:{secret}"}
			environment = {"REMOTE_ADDR": address}
			return Browser().open(LOGGED_USER, headers=headers, environ_base=environment).status_code

		with ThreadPoolExecutor(20) as pool:
			answers = list(pool.map(lambda _n: call("wrong", "10.0.0.1"), range(60)))
		self.assertEqual(answers.count(401), login_attempts.FAILURES_PER_PAIR)
		self.assertEqual(call("secret-of-robot", "10.0.0.1"), 429)
		self.assertEqual(call("secret-of-robot", "10.0.0.2"), 200)


class TestSessions(SiteTestCase):
	def logged_in(self) -> Browser:
		"""A logged-in browser that sends no CSRF token."""
		browser = self.admin()
		browser.headers.pop("X-Frappe-CSRF-Token")
		return browser

	def test_the_first_write_of_a_session_needs_a_csrf_token(self):
		browser = Browser()
		browser.post(LOGIN, data={"usr": "Administrator", "pwd": PASSWORD})
		answer = browser.post("/api/resource/Note", json={"title": "forged"})
		self.assertEqual((answer.status_code, answer.json["exc_type"]), (400, "CSRFTokenError"))
		browser.take_token()
		self.assertEqual(browser.post("/api/resource/Note", json={"title": "mine"}).status_code, 200)

	def test_a_missing_csrf_token_is_an_error_in_the_protocol_of_the_endpoint(self):
		browser = self.logged_in()
		for path in ("/v1/responses", "/a2a/Agent", "/mcp", "/copilotkit/stream", "/agent/chat"):
			for accept in ("*/*", "text/event-stream", "application/json"):
				with self.subTest(path, accept=accept):
					answer = browser.post(path, json={"x": 1}, headers={"Accept": accept})
					self.assertEqual(answer.status_code, 400)
					error = answer.json["error"]
					self.assertIn(
						"X-Frappe-CSRF-Token", error if isinstance(error, str) else error["message"]
					)
		self.assertEqual(
			browser.post("/mcp-oauth/consent", headers={"Accept": "text/html"}).mimetype, "text/html"
		)

	def test_get_requests_do_not_log_out(self):
		browser = self.logged_in()
		for path in ("/api/method/logout", "/?cmd=logout", "/api/v2/method/logout"):
			self.assertEqual(browser.open(path).status_code, 400, path)
			self.assertEqual(browser.open(LOGGED_USER).json["message"], "Administrator")
		browser.take_token()
		self.assertEqual(browser.post("/api/method/logout").status_code, 200)
		self.assertEqual(browser.open(LOGGED_USER).status_code, 403)

	def test_forms_of_other_sites_sign_nobody_in(self):
		body = {"usr": self.make_user("anna@example.com"), "pwd": PASSWORD}
		for site, status in (("cross-site", 400), ("same-origin", 200), ("none", 200)):
			browser = Browser()
			answer = browser.open(LOGIN, "POST", data=body, headers={"Sec-Fetch-Site": site})
			self.assertEqual(answer.status_code, status)
			signed_in = browser.open(LOGGED_USER).status_code
			self.assertEqual(signed_in, 200 if status == 200 else 403)

	def test_requests_with_an_api_key_need_no_csrf_token(self):
		self.make_user(
			"tool@example.com", "System Manager", api_key="key-of-tool", api_secret="secret-of-tool"
		)
		headers = {"Authorization": "token key-of-tool:secret-of-tool"}
		answer = Browser().post("/api/resource/Note", json={"title": "by key"}, headers=headers)
		self.assertEqual(answer.status_code, 200, answer.text)

	def test_easily_guessed_passwords_are_refused(self):
		admin = self.admin()
		for number, password in enumerate(("password", "12345678", "Berta2024", "qwertyuiop")):
			person = {"email": f"weak{number}@example.com", "first_name": "Berta"}
			answer = admin.post("/api/resource/User", json={**person, "new_password": password})
			self.assertEqual(answer.status_code, 417, password)
			self.assertIn("too easy to guess", answer.text)
			self.assertFalse(frappe.db.exists("User", person["email"]))
		person = {
			"email": "strong@example.com",
			"first_name": "Berta",
			"new_password": "violet kettle 93 moss",
		}
		self.assertEqual(admin.post("/api/resource/User", json=person).status_code, 200)


class TestAnswers(SiteTestCase):
	PATHS = (
		"/login",
		"/huf",
		"/no-such-page",
		"/api/method/ping",
		"/api/method/no.such",
		"/assets/frappe/login.js",
	)

	def test_responses_have_a_content_security_policy_and_nosniff(self):
		for browser in (Browser(), self.admin()):
			for path in self.PATHS:
				answer = browser.open(path, headers={"Accept": "text/html"})
				policy = answer.headers["Content-Security-Policy"]
				rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
				self.assertEqual(rules["script-src"], "'self'", path)
				self.assertEqual(rules["object-src"], "'none'")
				self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff", path)

	def test_hsts_is_sent_over_https_only(self):
		self.assertNotIn("Strict-Transport-Security", Browser().open("/login").headers)
		answer = Browser().open("/login", base_url="https://huf.example")
		self.assertIn("max-age=", answer.headers["Strict-Transport-Security"])

	def test_error_responses_contain_no_traceback(self):
		admin = self.admin()
		path = "/api/method/huf.embedded.tests.samples.fail"
		for version in (path, path.replace("/api/", "/api/v2/")):
			answer = admin.open(version)
			self.assertEqual(answer.status_code, 500)
			self.assertNotIn("Traceback", answer.text)
			self.assertNotIn("samples.py", answer.text)
		wrong = admin.post("/api/resource/Note", json={})
		self.assertEqual(wrong.status_code, 417)
		self.assertNotIn("Traceback", wrong.text)
		self.assertIn("MandatoryError", wrong.json["exception"])

	def test_a_missing_argument_returns_a_client_error(self):
		admin = self.admin()
		for path in ("frappe.client.get_list", "frappe.client.get_value?doctype=Note", "huf.api.agent.chat"):
			answer = admin.open(f"/api/method/{path}", "GET")
			self.assertIn(answer.status_code, (403, 417), answer.text)
		answer = admin.open("/api/method/frappe.client.get_list")
		self.assertEqual((answer.status_code, answer.json["exc_type"]), (417, "FrappeTypeError"))
		self.assertIn("doctype", answer.text)


class TestOwnSessions(SiteTestCase):
	def test_users_can_end_one_or_all_of_their_other_sessions(self):
		user = self.make_user("roaming@example.com")
		here, there = Browser(), Browser()
		for browser in (here, there):
			browser.login(user)
		sessions = here.open("/api/method/huf.api.profile.get_sessions").json["message"]
		self.assertEqual(sorted(each["is_current"] for each in sessions), [False, True])
		self.assertEqual({each["address"] for each in sessions}, {"127.0.0.1"})
		third = Browser()
		third.login(user)
		path = "/api/method/huf.api.profile.end_session"
		known = {each["id"] for each in sessions}
		now = here.open("/api/method/huf.api.profile.get_sessions").json["message"]
		(name,) = {each["id"] for each in now} - known
		self.assertEqual(len(here.post(path, json={"session": name}).json["message"]), 2)
		self.assertEqual(third.open("/api/method/frappe.auth.get_logged_user").status_code, 403)
		left = here.post("/api/method/huf.api.profile.end_other_sessions").json["message"]
		self.assertEqual([each["is_current"] for each in left], [True])
		who = "/api/method/frappe.auth.get_logged_user"
		self.assertEqual((here.open(who).status_code, there.open(who).status_code), (200, 403))
