"""Password reset by a mailed link: over HTTP with a real SMTP server, and in the browser."""

import json
import re
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import frappe
from frappe import password_reset
from frappe.email.queue import flush
from frappe.utils.job_worker import Worker
from frappe.utils.password import check_password, update_password

from huf.ai.core.session import acting_as
from huf.ai.queries.audit import read_audit
from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.mail_test import Postman
from huf.embedded.tests.pages import PASSWORD as PAGE_PASSWORD
from huf.embedded.tests.pages import PageTestCase
from huf.embedded.tests.sites import PASSWORD, Browser, SiteTestCase
from huf.tests.base import enter

METHOD = "/api/method/frappe.core.doctype.user.user."
LOGGED_USER = "/api/method/frappe.auth.get_logged_user"
NEW_PASSWORD = "violet <b>kettle</b> 93 & moss"
SITE_URL = "https://huf.office.example"
LINK = re.compile(r'href="([^"]*?)/update-password\?key=(\w+)"')


class MailingTestCase(SiteTestCase):
	"""A site with outgoing mail, a host name and a worker."""

	def setUp(self):
		super().setUp()
		password_reset.requests.flushall()
		self.postman = enter(self, Postman())
		self.add_account()
		self.configure(host_name=SITE_URL)
		self.user = self.make_user("anna@example.com")
		self.clear_link()

	def add_account(self) -> None:
		frappe.db.delete("Email Account")
		server = {
			"smtp_server": "127.0.0.1",
			"smtp_port": str(self.postman.port),
			"no_smtp_authentication": 1,
		}
		account = {"email_account_name": "Site", "email_id": "site@office.example", **server}
		flags = {"enable_outgoing": 1, "default_outgoing": 1}
		frappe.get_doc({"doctype": "Email Account", **account, **flags}).insert()
		frappe.db.commit()

	def configure(self, **values) -> None:
		file = self.home / "sites" / "huf.localhost" / "site_config.json"
		before = file.read_text()
		self.addCleanup(file.write_text, before)
		file.write_text(json.dumps({**json.loads(before), **values}))
		frappe.local.conf.update(values)

	def clear_link(self) -> None:
		empty = {"reset_password_key": None, "last_reset_password_key_generated_on": None}
		frappe.db.set_value("User", self.user, empty)
		frappe.db.commit()

	def request_link(self, user: str, address="10.0.0.1", **options):
		environment = {"REMOTE_ADDR": address}
		return Browser().post(
			METHOD + "reset_password", data={"user": user}, environ_base=environment, **options
		)

	def work(self) -> None:
		"""Run the queued jobs and the jobs that they queue."""
		worker = Worker(frappe.local.site, self.sites_path, threads=2).start()
		end = time.monotonic() + 60
		while self.count_jobs() and time.monotonic() < end:
			time.sleep(0.05)
		worker.stop()
		frappe.db.rollback()
		flush()

	def count_jobs(self) -> int:
		from frappe.utils import jobs_db

		query = "SELECT count(*) FROM job WHERE status IN ('queued', 'started')"
		return jobs_db.connect().execute(query)[0][0]

	def mailed_key(self) -> str:
		self.assertEqual(self.request_link(self.user).status_code, 200)
		self.work()
		return LINK.search(self.postman.mails[-1][1].get_content()).group(2)

	def set_password(self, key: str, password=NEW_PASSWORD, browser: Browser | None = None):
		data = {"key": key, "new_password": password}
		return (browser or Browser()).post(METHOD + "update_password", data=data)


class TestReset(MailingTestCase):
	def test_a_mailed_link_sets_a_password_once_and_ends_other_sessions(self):
		other_browser = Browser()
		update_password(self.user, PASSWORD)
		frappe.db.commit()
		self.assertEqual(other_browser.login(self.user).status_code, 200)
		key, browser = self.mailed_key(), Browser()
		((recipients, mail),) = self.postman.mails
		self.assertEqual((recipients, mail["Subject"]), ([self.user], "Password Reset"))
		self.assertEqual(LINK.search(mail.get_content()).group(1), SITE_URL)
		page = browser.open(f"/update-password?key={key}", headers={"Accept": "text/html"})
		self.assertIn(f'value="{key}"', page.text)
		weak = self.set_password(key, "anna")
		self.assertEqual(weak.status_code, 417)
		self.assertIn("too easy to guess", weak.text)
		answer = self.set_password(key, browser=browser)
		self.assertEqual((answer.status_code, answer.json["message"]), (200, "/huf"), answer.text)
		self.assertEqual(browser.open(LOGGED_USER).json["message"], self.user)
		self.assertEqual(other_browser.open(LOGGED_USER).status_code, 403)
		self.assertEqual(check_password(self.user, NEW_PASSWORD), self.user)
		self.assertEqual(self.set_password(key, "another phrase 55 of words").status_code, 410)
		frappe.db.rollback()
		entries = [each for each in read_audit(None, None, True) if each["action"] == "reset_password"]
		self.assertEqual([(each["user"], each["ip"]) for each in entries], [(self.user, "127.0.0.1")])

	def test_links_are_not_sent_by_the_server_of_a_managers_mailbox(self):
		manager = self.make_user("manager@example.com", roles=[{"role": "Huf Manager"}])
		values = {"mailbox_name": "Site", "email": "Site@office.example", "run_as": manager}
		with Postman() as foreign:
			with acting_as(manager), suppress(frappe.PermissionError):
				frappe.get_doc({"doctype": "Agent Mailbox", **values, **foreign.settings}).insert()
			frappe.db.commit()
			self.request_link(self.user)
			self.work()
		self.assertEqual((len(foreign.mails), len(self.postman.mails)), (0, 1))

	def test_one_of_several_concurrent_uses_of_a_link_succeeds(self):
		key = self.mailed_key()
		with ThreadPoolExecutor(6) as pool:
			answers = list(pool.map(lambda n: self.set_password(key, f"violet kettle {n} moss"), range(6)))
		self.assertEqual(sorted(each.status_code for each in answers), [200, *[410] * 5])

	def test_a_reset_link_expires_after_an_hour(self):
		key = self.mailed_key()
		for minutes, status in ((61, 410), (59, 200)):
			sent = frappe.utils.add_to_date(frappe.utils.now_datetime(), minutes=-minutes)
			frappe.db.set_value("User", self.user, "last_reset_password_key_generated_on", sent)
			frappe.db.commit()
			self.assertEqual(self.set_password(key).status_code, status)

	def test_disabling_the_user_or_a_new_password_invalidates_the_link(self):
		key = self.mailed_key()
		frappe.db.set_value("User", self.user, "enabled", 0)
		frappe.db.commit()
		self.assertEqual(self.set_password(key).status_code, 410)
		doc = frappe.get_doc("User", self.user)
		doc.update({"enabled": 1, "new_password": PASSWORD}).save()
		doc.save()
		frappe.db.commit()
		self.assertEqual(self.set_password(key).status_code, 410)

	def test_only_a_digest_is_stored(self):
		key = self.mailed_key()
		stored = frappe.db.get_value("User", self.user, "reset_password_key")
		self.assertEqual(stored, password_reset.digest(key))
		for wrong in (stored, "", key.upper(), key[:-1]):
			self.assertEqual(self.set_password(wrong).status_code, 410, wrong)
		self.assertEqual(self.set_password(key).status_code, 200)

	def test_the_response_does_not_reveal_existing_accounts(self):
		frappe.db.set_value("User", self.user, "username", "anna")
		self.make_user("left@example.com", enabled=0)
		frappe.db.commit()
		names = ("anna@example.com", "anna", "ANNA@example.com", "nobody@example.com", "left@example.com")
		answers, counts = [], []
		for name in (*names, "Administrator", "Guest", "' or 1=1 --"):
			before = self.count_jobs()
			answers.append(self.request_link(name))
			counts.append(self.count_jobs() - before)
		self.assertEqual({(each.status_code, each.text) for each in answers}, {(200, answers[0].text)})
		self.assertEqual(set(counts), {1})
		frappe.db.rollback()
		self.assertFalse(frappe.db.get_value("User", self.user, "reset_password_key"))
		self.work()
		self.assertEqual([recipients for recipients, _mail in self.postman.mails], [[self.user]])

	def test_the_typed_user_name_is_not_stored(self):
		self.request_link("my password in the wrong field")
		for file in (self.home / "sites").rglob("*.db*"):
			self.assertNotIn(b"wrong field", file.read_bytes(), file)

	def test_requests_per_address_and_links_per_account_are_limited(self):
		limit = password_reset.REQUESTS_PER_ADDRESS
		statuses = [
			self.request_link(f"nobody{number}@example.com").status_code for number in range(limit + 2)
		]
		self.assertEqual(statuses, [200] * limit + [429] * 2)
		for number in range(3):
			self.assertEqual(self.request_link(self.user, f"10.0.1.{number}").status_code, 200)
			self.work()
		self.assertEqual(len(self.postman.mails), 1)

	def test_parallel_requests_do_not_outrun_the_limit(self):
		with ThreadPoolExecutor(20) as pool:
			answers = list(
				pool.map(lambda _n: self.request_link("nobody@example.com").status_code, range(40))
			)
		self.assertEqual(answers.count(200), password_reset.REQUESTS_PER_ADDRESS)

	def test_the_link_ignores_the_host_header_of_the_request(self):
		self.request_link(self.user, base_url="https://evil.example")
		self.work()
		self.assertEqual(LINK.search(self.postman.mails[-1][1].get_content()).group(1), SITE_URL)

	def test_the_login_page_names_the_cli_command_if_mail_is_not_set_up(self):
		before = self.count_jobs()
		for missing in ("mail", "address"):
			if missing == "mail":
				frappe.db.set_value("Email Account", {"default_outgoing": 1}, "enable_outgoing", 0)
			else:
				self.add_account()
				self.configure(host_name=None)
			frappe.db.commit()
			page = Browser().open("/login", headers={"Accept": "text/html"}).text
			self.assertIn("huf set-password USER", page, missing)
			self.assertNotIn('data-method="reset_password"', page)
			answers = [self.request_link(name) for name in (self.user, "nobody@example.com")]
			self.assertEqual([each.status_code for each in answers], [417, 417])
			self.assertEqual(answers[0].json["exception"], answers[1].json["exception"])
		self.assertEqual(self.count_jobs(), before)

	def test_cross_site_links_and_forms_change_no_password(self):
		for method in ("reset_password?user=anna@example.com", "update_password?key=x&new_password=y"):
			self.assertEqual(Browser().open(METHOD + method).status_code, 403)
		key, browser = self.mailed_key(), self.admin()
		browser.headers.pop("X-Frappe-CSRF-Token")
		self.assertEqual(self.set_password(key, browser=browser).status_code, 400)

	def test_pages_use_the_site_language_and_mails_the_user_language(self):
		frappe.db.set_value("User", self.user, "language", "de")
		self.configure(lang="cs")
		frappe.db.commit()
		self.mailed_key()
		self.assertEqual(self.postman.mails[-1][1]["Subject"], "Neues Passwort")
		for path in ("/login", "/update-password?key=x"):
			page = Browser().open(path, headers={"Accept": "text/html"}).text
			self.assertIn('<html lang="cs">', page)
			self.assertIn("hesl", page)


@needs_browser
class TestResetInTheBrowser(PageTestCase):
	def test_a_user_resets_a_forgotten_password(self):
		user = f"{frappe.generate_hash(length=8)}@office.example"
		self.add_user(user, "Huf User")
		with Postman() as postman, self.open_guest_page() as page:
			page.goto("/login")
			page.get_by_role("link", name="Forgot password?").click()
			page.get_by_text("huf set-password USER").wait_for()
			server = {"smtp_server": "127.0.0.1", "smtp_port": str(postman.port), "no_smtp_authentication": 1}
			account = {"email_account_name": "Site", "email_id": "site@office.example", **server}
			for each in self.call("/api/resource/Email%20Account")["data"]:
				self.call(f"/api/resource/Email%20Account/{each['name']}", method="DELETE")
			self.make("Email Account", enable_outgoing=1, default_outgoing=1, **account)
			file = self.home / "sites" / "huf.localhost" / "site_config.json"
			file.write_text(json.dumps({**json.loads(file.read_text()), "host_name": self.server.url}))
			page.goto("/login")
			page.get_by_role("link", name="Forgot password?").click()
			page.locator("#user").fill(user)
			page.get_by_role("button", name="Send link").click()
			page.get_by_text("a mail is on its way").wait_for()
			end = time.monotonic() + 60
			while not postman.mails and time.monotonic() < end:
				time.sleep(0.1)
			link = LINK.search(postman.mails[0][1].get_content())
			address = f"/update-password?key={link.group(2)}"
			self.assertEqual(link.group(1), self.server.url)
			page.goto(address)
			page.get_by_label("New Password").fill("anna")
			page.get_by_role("button", name="Set password").click()
			page.get_by_text("too easy to guess").wait_for()
			page.get_by_label("New Password").fill(NEW_PASSWORD)
			page.get_by_role("button", name="Set password").click()
			page.wait_for_url("**/huf**")
			page.goto(address)
			page.get_by_label("New Password").fill(NEW_PASSWORD)
			page.get_by_role("button", name="Set password").click()
			page.get_by_text("used before or is invalid").wait_for()
		self.assertTrue(self.server.login(NEW_PASSWORD, user))
		self.assertRaises(urllib.error.HTTPError, self.server.login, PAGE_PASSWORD, user)
