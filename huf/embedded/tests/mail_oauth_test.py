"""A mailbox signs in by OAuth, renews its tokens, and reads and sends mail."""

from urllib.parse import parse_qs, urlencode, urlsplit

import frappe
import requests
from frappe.email.queue import flush

from huf.ai.mail.intake import read_mailbox_once
from huf.api.mail import make_sign_in_app
from huf.embedded.tests.mail_test import Postman
from huf.embedded.tests.sites import Browser, SiteTestCase
from huf.tests.authorization_server import SECRET, AuthorizationServer
from huf.tests.base import enter
from huf.tests.factories import make, make_user
from huf.tests.imap_server import ImapServer, needs_dovecot
from huf.tests.mail import make_mail

ADDRESS = "office@office.example"


@needs_dovecot
class TestMailOAuth(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.provider = enter(self, AuthorizationServer(ADDRESS))
		self.inbox = enter(self, ImapServer(f"{self.provider.url}/introspect"))
		self.postman = enter(self, Postman(is_valid=self.provider.grants.is_valid))
		self.browser = self.admin()
		self.app = make("Connected App", provider_name="Office", **self.provider.settings)
		self.mailbox = self.make_mailbox()
		frappe.db.commit()

	def test_mailbox_reads_and_sends_mail_by_oauth_without_a_password(self):
		self.assertIn("Sign in", self.call("test_mailbox")[0]["error"])
		address = self.sign_in()
		self.assertEqual(parse_qs(urlsplit(address).query)["signed_in"], [self.mailbox])
		self.assertEqual([each["error"] for each in self.call("finish_sign_in")], [None, None])
		self.inbox.deliver(make_mail(ADDRESS))
		frappe.db.rollback()
		self.assertEqual(len(read_mailbox_once(self.mailbox)), 1)
		frappe.sendmail("anna@customer.example", sender=ADDRESS, subject="Yes", message="On Friday.")
		frappe.db.commit()
		self.assertEqual(flush(), 1)
		((to, mail),) = self.postman.mails
		self.assertEqual((to, mail["Subject"]), (["anna@customer.example"], "Yes"))

	def test_an_expired_token_is_renewed_before_it_is_used(self):
		self.sign_in()
		self.expire_tokens()
		self.assertEqual([each["error"] for each in self.call("finish_sign_in")], [None, None])
		self.assertEqual(self.provider.grants.refreshed, 1)

	def test_revoked_sign_in_is_reported_as_the_last_error_of_the_mailbox(self):
		self.sign_in()
		self.expire_tokens()
		self.provider.grants.refresh_tokens.clear()
		self.assertEqual(read_mailbox_once(self.mailbox), [])
		self.assertIn("Sign in", frappe.db.get_value("Agent Mailbox", self.mailbox, "last_error"))

	def test_token_that_the_server_refuses_before_it_expires_asks_for_a_new_sign_in(self):
		self.sign_in()
		self.provider.expire_tokens()
		self.assertEqual(read_mailbox_once(self.mailbox), [])
		self.assertIn("Sign in", frappe.db.get_value("Agent Mailbox", self.mailbox, "last_error"))

	def test_server_change_by_another_user_disconnects_the_signed_in_user(self):
		self.sign_in()
		frappe.set_user(make_user("Huf Manager"))
		doc = frappe.get_doc("Agent Mailbox", self.mailbox).update({"sender_name": "Office"})
		self.assertEqual(doc.save().connected_user, "Administrator")
		for values in (
			{"imap_host": "localhost"},
			{"imap_user": "boss@office.example"},
			{"folder": "Private"},
		):
			frappe.db.set_value("Agent Mailbox", self.mailbox, "connected_user", "Administrator")
			doc = frappe.get_doc("Agent Mailbox", self.mailbox).update(values)
			self.assertIsNone(doc.save().connected_user, values)
		self.assertIsNone(doc.update({"connected_user": "Administrator"}).save().connected_user)

	def test_tokens_and_secrets_are_stored_encrypted_only(self):
		self.sign_in()
		self.call("finish_sign_in")
		frappe.db.rollback()
		secrets = [SECRET, *self.provider.grants.tokens, *self.provider.grants.refresh_tokens]
		for doctype in (
			"Connected App",
			"Token Cache",
			"Agent Mailbox",
			"Email Account",
			"Version",
			"Error Log",
		):
			rows = str(frappe.db.sql(f"select * from `tab{doctype}`"))
			self.assertEqual([secret for secret in secrets if secret in rows], [], doctype)

	def test_callback_with_a_wrong_state_is_refused_and_guests_must_log_in(self):
		callback = self.allow(self.call("begin_sign_in"))
		forged = callback.replace("state=", "state=x")
		self.assertEqual(self.browser.open(forged).status_code, 417)
		self.assertEqual(self.browser.open(callback.partition("?")[0] + "?code=x").status_code, 417)
		guest = Browser().open(callback)
		self.assertEqual(guest.status_code, 302)
		asked = parse_qs(urlsplit(guest.headers["Location"]).query)
		path, _, query = callback.partition("?")
		self.assertEqual(asked, {"redirect-to": [f"{urlsplit(path).path}?{query}"]})
		self.assertFalse(frappe.db.get_value("Token Cache", {"user": "Administrator"}, "access_token"))

	def test_sign_in_that_the_provider_refuses_is_reported_with_its_reason(self):
		path, _, query = self.allow(self.call("begin_sign_in")).partition("?")
		refused = {"state": parse_qs(query)["state"][0], "error": "access_denied"}
		answer = self.browser.open(f"{path}?{urlencode(refused)}")
		self.assertEqual(answer.status_code, 417)
		self.assertIn("refused the sign-in. access_denied", answer.get_data(as_text=True))

	def test_connected_app_is_created_once_and_only_with_permission(self):
		created = self.call("make_sign_in_app", provider="Microsoft 365")
		self.assertTrue(created["redirect_uri"].endswith(f"connected_app.callback/{created['name']}"))
		self.assertEqual(self.call("make_sign_in_app", provider="Microsoft 365")["name"], created["name"])
		app = frappe.get_doc("Connected App", created["name"])
		self.assertIn("offline_access", app.get_scopes())
		frappe.set_user(make_user("Huf Manager"))
		with self.assertRaises(frappe.PermissionError):
			make_sign_in_app("Gmail")

	def make_mailbox(self) -> str:
		frappe.db.delete("Agent Mailbox")
		servers = {key: value for key, value in self.inbox.settings.items() if key != "imap_password"}
		servers |= {**self.postman.settings, "imap_user": ADDRESS}
		sign_in = {"auth_method": "OAuth", "connected_app": self.app.name}
		values = {"email": ADDRESS, "run_as": "Administrator", "take": "All of the inbox"}
		return make("Agent Mailbox", mailbox_name="Office", **values, **servers, **sign_in).name

	def call(self, endpoint: str, **values):
		frappe.db.rollback()
		data = values or {"mailbox": self.mailbox}
		answer = self.browser.post(f"/api/method/huf.api.mail.{endpoint}", data=data)
		self.assertEqual(answer.status_code, 200, answer.data)
		frappe.db.rollback()
		return answer.json["message"]

	def sign_in(self) -> str:
		"""Sign in as a browser would; returns the final address."""
		answer = self.browser.open(self.allow(self.call("begin_sign_in")))
		self.assertEqual(answer.status_code, 302, answer.data)
		frappe.db.rollback()
		return answer.headers["Location"]

	def allow(self, address: str) -> str:
		"""Allow access on the provider's page; returns the path of the redirect."""
		answer = requests.post(address, allow_redirects=False, timeout=10)
		found = urlsplit(answer.headers["Location"])
		return f"{found.path}?{found.query}"

	def expire_tokens(self) -> None:
		self.provider.expire_tokens()
		frappe.db.sql("update `tabToken Cache` set modified = '2026-01-01 00:00:00'")
		frappe.db.commit()
