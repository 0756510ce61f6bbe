"""Approval links in mails: who receives one, what its page shows, and that it works only once."""

import re
from email import message_from_string, policy
from html import unescape
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

import frappe
from frappe.utils import add_to_date, now_datetime, today

from huf.ai.core import sealed_tokens
from huf.ai.core.session import acting_as
from huf.ai.mail.approval_links import send_link
from huf.ai.storage.drafts import pass_on_draft, read_draft
from huf.api.draft import approve
from huf.api.profile import save_profile
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.doctypes import CUSTOMER, EDITOR, ORDER, controller
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_user
from huf.tests.http import send
from huf.tests.mail import make_outgoing_account
from huf.tests.model_server import text


def set_sign_in(is_needed: bool) -> None:
	frappe.db.set_single_value("Huf Settings", "approval_links_without_sign_in", int(not is_needed))
	frappe.clear_document_cache("Huf Settings", "Huf Settings")
	frappe.db.commit()


class LinkTestCase(DraftTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		make_outgoing_account()

	def setUp(self):
		super().setUp()
		self.approver = make_user("Huf User", EDITOR)
		frappe.db.set_value("Agent", self.agent, {"approver": self.approver, "approval_mail": 1})
		frappe.clear_document_cache("Agent", self.agent)
		self.addCleanup(set_sign_in, True)
		set_sign_in(False)

	def mails(self, draft: str) -> list:
		rows = frappe.get_all(
			"Email Queue", {"reference_name": draft}, ["message"], order_by="creation asc, name asc"
		)
		return [message_from_string(row.message, policy=policy.default) for row in rows]

	def link(self, draft: str) -> str:
		"""Path and query of the link in the last mail about a draft."""
		send_link(draft)
		found = re.search(r"https?://\S+/agent/approval\?token=\S+", self.mails(draft)[-1].get_content())
		parts = urlsplit(found.group())
		return f"{parts.path}?{parts.query}"

	def make_draft(self, note: str = "new") -> tuple[str, str]:
		"""Start a run that waits for approval; returns the draft and its link."""
		name = self.start_change(note)["draft"]["draft"]
		return name, self.link(name)

	def status(self, draft: str) -> str:
		frappe.db.rollback()
		return frappe.db.get_value("Agent Draft", draft, "status")


class TestApprovalLink(LinkTestCase):
	def test_approver_is_mailed_once_and_the_link_works_once(self):
		name, link = self.make_draft("by mail")
		self.assertFalse(send_link(name))
		(mail,) = self.mails(name)
		self.assertEqual(mail["To"], self.approver)
		self.assertNotIn("by mail", mail.get_content())
		shown = send(link)
		self.assertEqual(shown.status_code, 200)
		page = unescape(shown.text)
		for part in ("<del>old</del>", "<ins>by mail</ins>", self.order.name, self.user, 'value="approve"'):
			self.assertIn(part, page)
		self.assertEqual(shown.headers["Cache-Control"], "no-store")
		self.assertEqual(self.status(name), "Pending")
		answered = send(link, method="POST", data={"decision": "approve"})
		self.assertIn("Your answer: Approved", answered.text)
		self.assertNotIn("<form", answered.text)
		row = frappe.db.get_value("Agent Draft", name, ["run", "answered_by"], as_dict=True)
		self.assertEqual(row.answered_by, self.approver)
		again = send(link, method="POST", data={"decision": "reject"})
		self.assertIn(f"answered before: Approved by {self.approver}", again.text)
		self.server.script(text("Done."))
		self.go_on(row.run)
		self.assertEqual(self.note(), "by mail")

	def test_page_is_in_the_language_of_the_user_to_whom_the_link_was_sent(self):
		_, link = self.make_draft()
		frappe.db.set_value("User", self.approver, "language", "de")
		frappe.db.commit()
		self.assertIn(frappe._("Approve", lang="de"), send(link).text)
		answered = send(link, method="POST", data={"decision": "approve"})
		for words in ("Your answer: {0}", "Open in Huf"):
			self.assertIn(frappe._(words, lang="de").format(frappe._("Approved", lang="de")), answered.text)

	def test_rejection_by_link_stores_the_reason(self):
		name, link = self.make_draft()
		send(link, method="POST", data={"decision": "reject", "reason": "Not <today>"})
		frappe.db.rollback()
		row = frappe.db.get_value("Agent Draft", name, ["status", "reason", "answered_by"])
		self.assertEqual(row, ("Rejected", "Not <today>", self.approver))

	def test_opening_the_link_leaves_the_draft_pending(self):
		name, link = self.make_draft()
		for method, query in (("GET", "&decision=approve"), ("HEAD", "&decision=approve"), ("POST", "")):
			with self.subTest(method):
				send(f"{link}{query}", method=method)
				self.assertEqual(self.status(name), "Pending")

	def test_link_page_shows_a_decision_made_elsewhere(self):
		name, link = self.make_draft()
		with acting_as(self.approver):
			approve(name, frappe.db.get_value("Agent Draft", name, "digest"))
		self.assertIn("answered before: Approved", send(link).text)

	def test_link_page_escapes_document_values(self):
		name, link = self.make_draft("<script>alert(1)</script>")
		shown = send(link)
		self.assertNotIn("<script>", shown.text)
		self.assertIn("default-src 'none'", shown.headers["Content-Security-Policy"])

	def test_change_that_is_too_long_to_show_is_rejected_but_not_approved_by_link(self):
		draft, path = self.make_draft("x" * 51_000)
		page = send(path).text
		self.assertIn("too long to show here", page)
		self.assertNotIn('value="approve"', page)
		self.assertEqual(send(path, method="POST", data={"decision": "approve"}).status_code, 409)
		self.assertEqual(self.status(draft), "Pending")
		self.assertEqual(send(path, method="POST", data={"decision": "reject"}).status_code, 200)
		self.assertEqual(self.status(draft), "Rejected")

	def test_approval_page_counts_hidden_changes(self):
		def on_update(doc):
			frappe.db.set_value(CUSTOMER, doc.customer, "discount", 5)

		with controller(ORDER, on_update=on_update):
			_, link = self.make_draft()
		self.assertIn("Changes in fields that cannot be shown: 1", send(link).text)

	def test_tampered_expired_or_forged_link_is_refused(self):
		name, link = self.make_draft()
		for broken in (f"{link[:-3]}abc", "/agent/approval?token=x", "/agent/approval"):
			answer = send(broken, method="POST", data={"decision": "approve"})
			self.assertEqual((answer.status_code, self.status(name)), (410, "Pending"))
		token = sealed_tokens.seal(
			"access", 60, draft=name, user=self.approver, digest="x", until="2099-01-01"
		)
		self.assertEqual(send(f"/agent/approval?token={token}").status_code, 410)
		later = sealed_tokens.time.time() + 73 * 3600
		with patch.object(sealed_tokens.time, "time", return_value=later):
			self.assertEqual(send(link).status_code, 410)
		frappe.db.set_value("Agent Draft", name, "expires_at", add_to_date(now_datetime(), hours=1))
		self.assertIn(
			"has changed since the mail", send(link, method="POST", data={"decision": "approve"}).text
		)
		self.assertEqual(self.status(name), "Pending")

	def test_document_change_before_the_approval_sends_a_new_link(self):
		name, link = self.make_draft()
		self.order.reload()
		self.order.note = "changed by a person"
		self.order.save()
		frappe.db.commit()
		with patch("frappe.enqueue") as enqueue:
			answer = self.approve_by(link)
		self.assertIn("Look at it again", answer)
		self.assertIn("huf.ai.mail.approval_links.send_link", str(enqueue.call_args_list))
		self.assertEqual(self.status(name), "Pending")
		new = self.link(name)
		self.assertNotEqual(new, link)
		self.assertIn("changed by a person", send(new).text)
		send(new, method="POST", data={"decision": "approve"})
		self.assertEqual(self.status(name), "Approved")

	def approve_by(self, link: str) -> str:
		return unescape(send(link, method="POST", data={"decision": "approve"}).text)

	def test_link_of_a_replaced_or_disabled_approver_is_refused(self):
		name, link = self.make_draft()
		frappe.db.set_value("Agent Draft", name, "approver", self.user)
		self.assertEqual(send(link, method="POST", data={"decision": "approve"}).status_code, 409)
		frappe.db.set_value("Agent Draft", name, "approver", self.approver)
		frappe.db.set_value("User", self.approver, "enabled", 0)
		frappe.clear_document_cache("User", self.approver)
		self.assertEqual(send(link, method="POST", data={"decision": "approve"}).status_code, 409)
		self.assertEqual(self.status(name), "Pending")

	def test_sign_in_setting_makes_the_link_require_the_session_of_the_approver(self):
		name, link = self.make_draft()
		set_sign_in(True)
		for method in ("GET", "POST"):
			sent = send(link, method=method, data={"decision": "approve"} if method == "POST" else None)
			self.assertEqual(sent.status_code, 302)
			target = unquote(sent.headers["Location"].partition("redirect-to=")[2])
			self.assertEqual(unquote(target), unquote(link))
		for user, status in ((self.user, 403), (self.approver, 200)):
			headers = {"Authorization": f"token {make_key(user)}:{SECRET}"}
			self.assertEqual(send(link, headers=headers).status_code, status)
			self.assertEqual(self.status(name), "Pending")
		send(link, method="POST", data={"decision": "approve"}, headers=headers)
		self.assertEqual(self.status(name), "Approved")

	def test_absent_approver_is_replaced_by_the_deputy_except_for_own_runs(self):
		deputy = make_user("Huf User", EDITOR)
		for name, days, expected in (
			(deputy, 0, deputy),
			(deputy, -1, self.approver),
			(self.user, 0, self.approver),
		):
			with acting_as(self.approver):
				save_profile("Anna", deputy=name, away_until=str(add_to_date(today(), days=days)))
			draft = self.start_change(f"note {name} {days}")["draft"]["draft"]
			self.assertEqual(frappe.db.get_value("Agent Draft", draft, "approver"), expected)
		self.link(draft)
		self.assertEqual(self.mails(draft)[-1]["To"], self.approver)

	def test_reassigned_draft_is_mailed_to_the_new_approver(self):
		name, _link = self.make_draft()
		other = make_user("Huf User", EDITOR)
		self.assertTrue(pass_on_draft(read_draft(name), other, now_datetime()))
		frappe.db.commit()
		self.assertTrue(send_link(name))
		self.assertFalse(send_link(name))
		self.assertEqual({mail["To"] for mail in self.mails(name)}, {self.approver, other})

	def test_an_approver_who_is_disabled_is_not_mailed(self):
		name = self.start_change("new")["draft"]["draft"]
		frappe.db.delete("Email Queue", {"reference_name": name})
		frappe.db.set_value("User", self.approver, "enabled", 0)
		frappe.db.commit()
		self.assertFalse(send_link(name))
		self.assertEqual(self.mails(name), [])

	def test_approval_mail_is_enqueued_only_if_the_agent_enables_it(self):
		for value, count in ((0, 0), (1, 1)):
			frappe.db.set_value("Agent", self.agent, "approval_mail", value)
			frappe.clear_document_cache("Agent", self.agent)
			with patch("huf.ai.runs.approvals.enqueue_job") as enqueue:
				self.start_change(f"note {value}")
			sent = [
				call for call in enqueue.call_args_list if call.args[0].endswith("approval_links.send_link")
			]
			self.assertEqual(len(sent), count)
