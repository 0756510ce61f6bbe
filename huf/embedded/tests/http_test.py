"""Sessions, tokens, keys, pages and streams over the WSGI application."""

import re
import unittest
from pathlib import Path
from unittest.mock import patch

import frappe
import frappe.app
from frappe import sessions
from frappe.www.login import get_safe_path

import huf
from huf.ai.storage.users import has_open_session
from huf.embedded.tests.sites import PASSWORD, Browser, SiteTestCase

HUF_PAGE = Path(huf.__file__).parent / "www" / "huf.html"
LOGGED_USER = "/api/method/frappe.auth.get_logged_user"
SAMPLES = "/api/method/huf.embedded.tests.samples"


def cookie(browser, name):
	found = browser.client.get_cookie(name)
	return found.value if found else None


class TestBodies(SiteTestCase):
	def test_request_body_limit_is_lower_for_guests_than_for_users(self):
		body = {"json": {"text": "x" * 3_000_000}}
		self.assertEqual(Browser().post("/api/method/ping", **body).status_code, 413)
		self.assertEqual(self.admin().post("/api/method/ping", **body).status_code, 200)

	def test_invalid_authorization_header_does_not_raise_the_body_limit(self):
		user = frappe.get_doc("User", self.make_user("large@example.com"))
		user.update({"api_key": "large", "api_secret": "secret-of-large"})
		user.save()
		frappe.db.commit()
		body = {"json": {"text": "x" * 3_000_000, "cmd": "frappe.auth.get_logged_user"}}
		for header, status in (("x", 413), ("Bearer x", 401), ("token large:x", 401)):
			with self.subTest(header):
				answer = Browser().post("/api/method/ping", headers={"Authorization": header}, **body)
				self.assertEqual(answer.status_code, status)
		headers = {"Authorization": "token large:secret-of-large"}
		self.assertEqual(Browser().post("/api/method/ping", headers=headers, **body).json["message"], "pong")


class TestSessions(SiteTestCase):
	def test_session_cookie_is_http_only_and_same_site_lax(self):
		answer = Browser().login()
		header = next(line for line in answer.headers.getlist("Set-Cookie") if line.startswith("sid="))
		self.assertIn("HttpOnly", header)
		self.assertIn("SameSite=Lax", header)

	def test_guests_read_pages_and_errors_in_the_language_of_their_browser(self):
		for wanted, language, words in (
			("de-AT,de;q=0.9,en;q=0.5", "de", "Passwort vergessen?"),
			("fr, es;q=0.8", "es", "¿Olvidó su contraseña?"),
			("en-GB, de;q=0.5", "en", "Forgot password?"),
			("fr", "en", "Forgot password?"),
			("../../x", "en", "Forgot password?"),
		):
			with self.subTest(wanted):
				page = Browser().open("/login", headers={"Accept-Language": wanted}).text
				self.assertIn(f'<html lang="{language}">', page)
				self.assertIn(words, page)
		data = {"usr": "Administrator", "pwd": "wrong"}
		answer = Browser().post("/api/method/login", data=data, headers={"Accept-Language": "de"})
		self.assertIn("Benutzername oder Passwort ist falsch", answer.json["message"])
		headers = {"Accept-Language": "de", "Accept": "text/html"}
		page = self.admin().open("/nothing-here", headers=headers).text
		self.assertIn('<html lang="en">', page)

	def test_login_ignores_a_session_id_chosen_by_the_client(self):
		browser = Browser()
		browser.client.set_cookie("sid", "chosen-by-an-attacker")
		browser.login()
		self.assertNotEqual(cookie(browser, "sid"), "chosen-by-an-attacker")
		thief = Browser()
		thief.client.set_cookie("sid", "chosen-by-an-attacker")
		self.assertEqual(thief.open(LOGGED_USER).status_code, 403)

	def test_a_second_login_ends_the_session_before(self):
		browser = self.admin()
		old = cookie(browser, "sid")
		browser.login()
		thief = Browser()
		thief.client.set_cookie("sid", old)
		self.assertEqual(thief.open(LOGGED_USER).status_code, 403)

	def test_session_id_in_the_url_is_ignored(self):
		sid = cookie(self.admin(), "sid")
		self.assertEqual(Browser().open(f"{LOGGED_USER}?sid={sid}").status_code, 403)

	def test_the_database_holds_no_usable_session_id(self):
		sid = cookie(self.admin(), "sid")
		self.assertEqual(frappe.db.sql("SELECT count(*) FROM `tabSessions` WHERE sid = %s", sid)[0][0], 0)

	def test_an_unused_session_expires(self):
		browser = self.admin()
		frappe.db.sql("UPDATE `tabSessions` SET lastupdate = '2020-01-01 00:00:00'")
		frappe.db.commit()
		answer = browser.open(LOGGED_USER)
		self.assertEqual((answer.status_code, answer.json["session_expired"]), (403, 1))

	def test_concurrent_requests_extend_their_session_once(self):
		sid, long_ago = cookie(self.admin(), "sid"), "2020-01-01 00:00:00"
		digest = sessions.digest(sid)
		frappe.db.sql("UPDATE `tabSessions` SET lastupdate = %s WHERE sid = %s", (long_ago, digest))
		frappe.db.commit()
		own = frappe.session.copy()
		self.addCleanup(frappe.session.update, own)
		written = []
		for _request in range(3):
			frappe.session.update(user="Administrator", sid=sid, data=frappe._dict(last_updated=long_ago))
			sessions.touch()
			written += frappe.db.sql("SELECT lastupdate FROM `tabSessions` WHERE sid = %s", digest)
		self.assertNotEqual(written[0], (long_ago,))
		self.assertEqual(len({row[0] for row in written}), 1)

	def test_a_request_does_not_wait_for_another_that_extends_its_session(self):
		sid = cookie(self.admin(), "sid")
		frappe.db.sql("UPDATE `tabSessions` SET lastupdate = '2020-01-01 00:00:00'")
		frappe.db.commit()
		own = frappe.session.copy()
		self.addCleanup(frappe.session.update, own)
		data = frappe._dict(last_updated="2020-01-01 00:00:00")
		frappe.session.update(user="Administrator", sid=sid, data=data)
		with patch.object(sessions, "_extending", {sid}), patch.object(sessions, "_save") as save:
			sessions.touch()
		save.assert_not_called()

	def test_a_login_and_the_extension_of_a_session_say_when_a_person_was_active(self):
		email = self.make_user("active@example.com")
		browser = Browser()
		browser.login(email)
		self.assertTrue(frappe.db.get_value("User", email, "last_active"))
		long_ago = frappe.utils.get_datetime("2020-01-01 00:00:00")
		frappe.db.set_value("User", email, "last_active", long_ago)
		own = frappe.session.copy()
		self.addCleanup(frappe.session.update, own)
		data = frappe._dict(last_updated=str(long_ago))
		frappe.db.sql("UPDATE `tabSessions` SET lastupdate = %s WHERE user = %s", (str(long_ago), email))
		frappe.db.commit()
		frappe.session.update(user=email, sid=cookie(browser, "sid"), data=data)
		sessions.touch()
		self.assertGreater(frappe.db.get_value("User", email, "last_active"), long_ago)

	def test_after_logout_the_session_is_gone_on_the_server(self):
		browser = self.admin()
		sid = cookie(browser, "sid")
		self.assertTrue(has_open_session("Administrator", sid))
		browser.post("/api/method/logout")
		self.assertFalse(has_open_session("Administrator", sid))
		thief = Browser()
		thief.client.set_cookie("sid", sid)
		self.assertEqual(thief.open(LOGGED_USER).status_code, 403)

	def test_disabling_a_user_ends_their_sessions_at_once(self):
		email = self.make_user("gone@example.com")
		browser = Browser()
		browser.login(email)
		frappe.db.set_value("User", email, "enabled", 0)
		frappe.db.commit()
		self.assertEqual(browser.open(LOGGED_USER).status_code, 403)

	def test_sessions_of_an_account_that_was_disabled_or_deleted_stay_ended(self):
		for number, end in enumerate((self.disable_and_enable, self.delete_and_create)):
			email = self.make_user(f"back{number}@example.com")
			browser = Browser()
			browser.login(email)
			end(email)
			frappe.db.commit()
			self.assertEqual(browser.open(LOGGED_USER).status_code, 403)

	def disable_and_enable(self, email):
		for enabled in (0, 1):
			frappe.get_doc("User", email).update({"enabled": enabled}).save()

	def delete_and_create(self, email):
		frappe.delete_doc("User", email)
		frappe.get_doc({"doctype": "User", "email": email, "first_name": "New"}).insert()

	def test_password_of_any_length_can_be_set(self):
		email = self.make_user("long@example.com")
		browser = Browser()
		browser.login(email)
		for old, new in ((PASSWORD, "a good passphrase " * 20), ("a good passphrase " * 20, "x" * 100)):
			values = {"old_password": old, "new_password": new}
			answer = browser.post("/api/method/huf.api.profile.change_password", json=values)
			self.assertEqual(answer.status_code, 417 if new.startswith("x") else 200, answer.text)

	def test_login_respects_allowed_ips_and_hours_of_the_user(self):
		user, hour = self.make_user("shift@example.com"), frappe.utils.now_datetime().hour
		for values, status in (
			({"restrict_ip": "10.0.0., 10.1."}, 401),
			({"restrict_ip": "10.0.0.\n127.0.0."}, 200),
			({"restrict_ip": "", "login_after": hour + 1}, 401),
			({"login_after": hour}, 200),
			({"login_before": hour}, 200 if hour == 0 else 401),
			({"login_before": hour + 1}, 200),
		):
			with self.subTest(values):
				frappe.db.set_value("User", user, values)
				frappe.db.commit()
				self.assertEqual(Browser().login(user).status_code, status)

	def test_a_wrong_password_and_an_unknown_user_look_the_same(self):
		wrong, unknown = Browser().login(password="no"), Browser().login(user="nobody@example.com")
		self.assertEqual((wrong.status_code, wrong.json["message"]), (401, unknown.json["message"]))

	def test_after_ten_wrong_passwords_even_the_right_one_must_wait(self):
		email = self.make_user("locked@example.com")
		statuses = [Browser().login(email, "wrong").status_code for _ in range(10)]
		self.assertEqual(statuses, [401] * 10)
		self.assertEqual(Browser().login(email).status_code, 429)
		self.assertEqual(Browser().login().status_code, 200, "others are not locked out")

	def test_a_password_in_the_url_is_not_accepted(self):
		answer = Browser().open(f"/api/method/login?usr=Administrator&pwd={PASSWORD}")
		self.assertEqual(answer.status_code, 403)


class TestTokensAndKeys(SiteTestCase):
	def test_changes_need_the_csrf_token_once_a_page_has_fetched_it(self):
		browser = self.admin()
		token = browser.take_token()
		self.assertEqual(browser.post("/api/resource/Note", json={"title": "with"}).status_code, 200)
		for wrong in ("", "x", token[:-1]):
			headers = {"X-Frappe-CSRF-Token": wrong}
			answer = browser.post("/api/resource/Note", json={"title": "without"}, headers=headers)
			self.assertEqual((answer.status_code, answer.json["exc_type"]), (400, "CSRFTokenError"))

	def test_csrf_token_is_stable_within_a_session_and_new_after_login(self):
		browser = self.admin()
		first = browser.take_token()
		self.assertEqual(browser.take_token(), first)
		del browser.headers["X-Frappe-CSRF-Token"]
		browser.login()
		self.assertNotEqual(browser.take_token(), first)

	def test_an_api_key_needs_its_secret_and_no_token(self):
		email = self.make_user("robot@example.com", api_key="key-of-robot", api_secret="secret-of-robot")
		good = Browser().open(LOGGED_USER, headers={"Authorization": "token key-of-robot:secret-of-robot"})
		self.assertEqual(good.json["message"], email)
		for pair in ("key-of-robot:wrong", "key-of-robot:", "unknown:secret-of-robot", ":", "nonsense"):
			answer = Browser().open(LOGGED_USER, headers={"Authorization": f"token {pair}"})
			self.assertEqual(answer.status_code, 401, pair)

	def test_api_key_of_a_disabled_user_is_refused(self):
		self.make_user("off@example.com", api_key="key-off", api_secret="secret-off", enabled=0)
		answer = Browser().open(LOGGED_USER, headers={"Authorization": "token key-off:secret-off"})
		self.assertEqual(answer.status_code, 401)


class TestArguments(SiteTestCase):
	def test_arguments_are_converted_by_their_annotations(self):
		answer = self.admin().open(f"{SAMPLES}.add?a=3&flag=1")
		self.assertEqual(answer.json["message"], {"sum": 4, "flag": 1})

	def test_argument_of_the_wrong_type_is_refused_with_its_name(self):
		answer = self.admin().open(f"{SAMPLES}.add?a=three")
		self.assertEqual((answer.status_code, answer.json["exc_type"]), (417, "FrappeTypeError"))
		self.assertIn("'a'", answer.json["exception"])

	def test_json_text_nested_too_deeply_is_refused(self):
		deep, admin = "[" * 100_000, self.admin()
		for path, name in (
			("/api/resource/Note", "filters"),
			("/api/method/frappe.client.get_list", "filters"),
			("/api/method/frappe.client.get_count", "filters"),
			("/api/method/frappe.client.insert", "doc"),
		):
			with self.subTest(path):
				body = {"doctype": "Note", name: deep}
				method = "POST" if path.endswith("insert") else "GET"
				answer = admin.open(path, method=method, json=body)
				self.assertEqual(answer.status_code, 417, answer.get_data(as_text=True)[:300])

	def test_a_missing_method_is_417_and_an_unknown_path_404(self):
		admin = self.admin()
		self.assertEqual(admin.open(f"{SAMPLES}.nothing").status_code, 417)
		self.assertEqual(admin.open("/api/nothing").status_code, 404)

	def test_doctype_in_the_body_does_not_override_the_url(self):
		note = {"title": "flags", "flags": {"ignore_permissions": True}, "doctype": "User"}
		answer = self.admin().post("/api/resource/Note", json=note)
		self.assertEqual(answer.json["data"]["doctype"], "Note")


class TestStreams(SiteTestCase):
	def test_a_stream_reads_the_database_in_its_last_event(self):
		answer = self.admin().open(f"{SAMPLES}.stream")
		self.assertEqual(answer.content_type, "text/event-stream; charset=utf-8")
		self.assertEqual(answer.text.split("\n\n")[2], "data: Administrator Administrator")


class TestPages(SiteTestCase):
	HTML = {"Accept": "text/html"}

	def test_root_redirects_users_to_the_app_and_guests_to_the_login(self):
		self.assertTrue(self.admin().open("/").location.endswith("/huf"))
		self.assertTrue(Browser().open("/").location.endswith("/login?redirect-to=/huf"))

	def test_login_redirects_only_to_paths_of_this_site(self):
		good = ("/huf", "/huf/chat?embed=1", "/app#x")
		bad = (
			"https://evil.example",
			"//evil.example",
			"/\\evil.example",
			"javascript:alert(1)",
			"/\t/evil.example",
			"huf",
			"",
		)
		self.assertEqual([get_safe_path(path) for path in good], list(good))
		self.assertEqual([get_safe_path(path) for path in bad], [None] * len(bad))

	def test_the_login_page_is_shown_to_guests_and_skipped_by_users(self):
		page = Browser().open("/login?redirect-to=%22%3E%3Cscript%3E", headers=self.HTML)
		self.assertEqual(page.status_code, 200)
		self.assertNotIn('"><script>', page.text)
		answer = self.admin().open("/login?redirect-to=/huf/chat", headers=self.HTML)
		self.assertTrue(answer.location.endswith("/huf/chat"))

	@unittest.skipUnless(HUF_PAGE.exists(), "the interface is not built")
	def test_deep_links_serve_the_app_and_redirect_guests_to_the_login(self):
		page = self.admin().open("/huf/chat/some-conversation", headers=self.HTML)
		self.assertEqual(page.status_code, 200)
		self.assertIn('"csrf_token"', page.text)
		guest = Browser().open("/huf/chat/some-conversation", headers=self.HTML)
		self.assertIn("/login?redirect-to=/huf", guest.location)

	def test_only_asset_names_with_a_content_hash_count_as_hashed(self):
		hashed = ("index-B1a2C3d4.js", "geist-wght-normal-DjL33-gN.woff2", "huf.bundle.ABC12345.css")
		plain = ("huf.svg", "socket-io-client.js", "login-page.html", "index.js")
		is_hashed = [bool(re.search(frappe.app.HASHED_NAME, name)) for name in (*hashed, *plain)]
		self.assertEqual(is_hashed, [True] * len(hashed) + [False] * len(plain))

	def test_missing_page_is_404_in_html_and_json(self):
		page = Browser().open("/nothing/here", headers=self.HTML)
		self.assertEqual((page.status_code, page.mimetype), (404, "text/html"))
		self.assertEqual(Browser().open("/nothing/here").json["exc_type"], "NotFound")

	def test_pages_are_not_cached_nor_framed_by_others(self):
		headers = Browser().open("/login", headers=self.HTML).headers
		self.assertIn("no-store", headers["Cache-Control"])
		self.assertEqual(headers["X-Frame-Options"], "SAMEORIGIN")
