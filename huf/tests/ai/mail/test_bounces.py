"""A sent mail whose delivery report says that it did not arrive is Failed, for the recipients named there."""

import frappe

from huf.ai.mail import store
from huf.ai.mail.delivery import follow_queue
from huf.ai.mail.outbox import send_approved_mail
from huf.api import mail as api
from huf.tests.ai.mail.test_drafts import ANNA, DraftingTestCase
from huf.tests.mail import outgoing, row, send_all

BOB = "bob@customer.example"
REPORT = """\
Return-Path: <>
From: Mail Delivery System <MAILER-DAEMON@mx.example>
To: {to}
Subject: Undelivered Mail Returned to Sender
Message-ID: <{report_id}@mx.example>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b1"

--b1
Content-Type: text/plain; charset=us-ascii

Your message could not be delivered.

--b1
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example

Original-Recipient: rfc822; {recipient}
Final-Recipient: rfc822; elsewhere@forwarded.example
Action: {action}
Diagnostic-Code: smtp; 550 5.1.1
 No such user

--b1
Content-Type: {returned}

From: {to}
Message-ID: <{message_id}>

--b1--
"""


class TestBounces(DraftingTestCase):
	def setUp(self):
		super().setUp()
		self.reply()
		self.name = outgoing(self.mail)[0].name
		store.update_mail(self.name, recipients=f"{ANNA}, {BOB}")
		send_all(self.mail)
		self.deliver()

	def deliver(self):
		"""Do what Frappe's mail queue does when the mail server has taken a mail."""
		queue = row(self.name).email_queue
		frappe.db.set_value("Email Queue", queue, "status", "Sent")
		frappe.db.set_value("Email Queue Recipient", {"parent": queue}, "status", "Sent")
		follow_queue()

	def report(self, recipient=ANNA, action="failed", returned="message/rfc822", message_id=None) -> str:
		"""Receive a delivery report about the sent mail; returns the report's row."""
		values = {
			"to": self.address,
			"report_id": frappe.generate_hash(length=10),
			"message_id": message_id or row(self.name).message_id,
		}
		raw = REPORT.format(recipient=recipient, action=action, returned=returned, **values)
		return self.take(raw.encode())

	def test_a_reported_mail_is_failed_with_the_words_of_the_server(self):
		for returned in ("message/rfc822", "text/rfc822-headers"):
			with self.subTest(returned):
				store.update_mail(self.name, status="Sent")
				self.report(returned=returned)
				self.assertEqual(row(self.name).status, "Failed")
				self.assertIn(f"Only {BOB} got it.", row(self.name).reason)
				self.assertIn(f"{ANNA}: smtp; 550 5.1.1 No such user", row(self.name).reason)

	def test_each_recipient_may_have_a_report_of_its_own(self):
		self.report()
		self.report(recipient=BOB)
		self.assertIn("It did not arrive.", row(self.name).reason)

	def test_a_mail_sent_again_goes_only_to_those_who_have_not_got_it(self):
		self.report()
		api.approve_draft(self.name)
		frappe.db.commit()
		self.assertTrue(send_approved_mail(self.name))
		to = frappe.get_all(
			"Email Queue Recipient",
			{"parent": row(self.name).email_queue},
			pluck="recipient",
			order_by="name",
		)
		self.assertEqual(to, [ANNA])

	def test_a_report_that_arrives_before_the_queue_is_read_counts(self):
		store.update_mail(self.name, status="Queued")
		self.report()
		self.assertEqual(follow_queue(), [])
		self.assertEqual(row(self.name).status, "Failed")

	def test_a_report_is_not_worked_on_and_does_not_join_the_thread(self):
		report = row(self.report())
		self.assertEqual((report.status, report.reason), ("Skipped", "It reports that a mail did not arrive"))
		self.assertNotEqual(report.thread, row(self.name).thread)

	def test_reports_of_other_things_change_nothing(self):
		for values in (
			{"action": "delayed"},
			{"action": "delivered"},
			{"recipient": "somebody@else.example"},
			{"message_id": "unknown@office.example"},
			{"message_id": row(self.mail).message_id},
			{"returned": "text/plain"},
		):
			with self.subTest(values):
				self.report(**values)
				self.assertEqual(row(self.name).status, "Sent")
