"""Logins of the embedded runtime in the audit log, and the command `huf audit`."""

import json

import frappe
from click.testing import CliRunner

from huf.ai.queries.audit import read_audit
from huf.embedded.cli import cli
from huf.embedded.tests.sites import PASSWORD, Browser, SiteTestCase, isolated


class TestLogins(SiteTestCase):
	def test_logins_failures_and_logouts_are_recorded_without_what_was_typed(self):
		user = self.make_user("audited@example.com")
		frappe.db.commit()
		browser = Browser()
		browser.login(user, "a wrong phrase 41")
		browser.login("my password in the wrong field", "a wrong phrase 41")
		self.assertEqual(browser.login(user, PASSWORD).status_code, 200)
		browser.post("/api/method/logout")
		frappe.db.rollback()
		entries = read_audit(None, None, is_system_manager=True)
		logins = [entry for entry in entries if entry["action"] in ("login", "logout")]
		of_user = [
			(each["action"], each.get("status"), each["ip"]) for each in logins if each["user"] == user
		]
		address = "127.0.0.1"
		expected = [("login", "failed", address), ("login", "success", address), ("logout", None, address)]
		self.assertEqual(of_user, expected)
		self.assertIn("Unknown User", {each["user"] for each in logins})
		for typed in ("wrong phrase", "wrong field", PASSWORD):
			self.assertNotIn(typed, json.dumps(entries, default=str))
		self.assertFalse([each for each in read_audit(None, None, False) if each["action"] == "login"])

	def test_huf_audit_prints_json_lines_up_to_a_date(self):
		user = self.make_user("printed@example.com")
		Browser().login(user)
		printed = isolated(CliRunner().invoke, cli, ["--home", str(self.home), "audit"])
		self.assertEqual(printed.exit_code, 0, printed.output)
		lines = [json.loads(line) for line in printed.output.splitlines()]
		logins = [line["user"] for line in lines if line["action"] == "login"]
		self.assertIn(user, logins)
		before = isolated(
			CliRunner().invoke, cli, ["--home", str(self.home), "audit", "--until", "2020-01-01"]
		)
		self.assertEqual((before.exit_code, before.output), (0, ""))

	def test_a_user_with_logins_can_be_deleted(self):
		user = self.make_user("left@example.com")
		frappe.db.commit()
		Browser().login(user, PASSWORD)
		frappe.db.rollback()
		frappe.delete_doc("User", user)
		self.assertFalse(frappe.db.exists("User", user))
