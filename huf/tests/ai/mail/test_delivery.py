"""The shown status of outgoing mail is its real one: queued, sent, or failed with a reason."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.mail_types import MailStatus
from huf.ai.core.session import acting_as
from huf.ai.mail import store
from huf.ai.mail.delivery import follow_queue
from huf.ai.mail.jobs import process_mail, recover_mails
from huf.ai.mail.outbox import send_approved_mail
from huf.ai.storage.outgoing_mail import find_sending_problem
from huf.api import mail as api
from huf.tests.ai.mail.test_drafts import ANNA, DraftingTestCase
from huf.tests.factories import make, make_user, unique
from huf.tests.mail import answer_to, make_mailbox, make_outgoing_account, outgoing, queued, row, send_all


class TestDelivery(DraftingTestCase):
	def setUp(self):
		super().setUp()
		self.reply()
		self.name = outgoing(self.mail)[0].name

	def update_queue(self, **values) -> None:
		"""Write to Frappe's mail queue as Frappe does, without documents and their events."""
		frappe.db.set_value("Email Queue", row(self.name).email_queue, values, update_modified=False)
		frappe.db.commit()

	def list_shown_statuses(self) -> tuple:
		"""(status in the list, among the drafts of the answered mail, on its own page)"""
		listed = [each for each in api.get_mails(mailbox=self.mailbox) if each.name == self.name]
		drafts = [each for each in api.get_mail(self.mail)["drafts"] if each.name == self.name]
		page = api.get_mail(self.name)["mail"]
		return listed[0].status, drafts[0].status, page["status"]

	def test_a_mail_in_the_queue_is_not_called_sent(self):
		self.assertEqual(send_all(self.mail), [True])
		self.assertEqual((row(self.name).status, self.list_shown_statuses()), ("Queued", ("Queued",) * 3))
		self.assertNotIn("sent", self.kinds(self.name))

	def test_a_mail_is_sent_when_its_email_queue_entry_is_sent(self):
		send_all(self.mail)
		self.update_queue(status="Sent")
		self.assertEqual(self.list_shown_statuses(), ("Sent",) * 3, "before anything is stored")
		self.assertEqual(follow_queue(), [self.name])
		self.assertEqual(row(self.name).status, "Sent")
		self.assertEqual(follow_queue(), [])
		self.assertEqual(self.kinds(self.name), ["queued", "sent"])

	def test_a_mail_that_waits_for_a_retry_shows_the_error(self):
		send_all(self.mail)
		self.update_queue(status="Not Sent", error="Traceback\nConnectionRefusedError: refused")
		self.assertEqual(follow_queue(), [])
		self.assertEqual(row(self.name).status, "Queued")
		self.assertIn("ConnectionRefusedError: refused", row(self.name).reason)

	def test_a_failed_mail_shows_the_reason_and_can_be_sent_again(self):
		send_all(self.mail)
		self.update_queue(status="Error", error="Traceback\nSMTPDataError: mailbox full")
		follow_queue()
		self.assertEqual(row(self.name).status, "Failed")
		self.assertIn("Before you send it again, check the outgoing server", row(self.name).reason)
		self.assertIn("Details: SMTPDataError: mailbox full", row(self.name).reason)
		api.approve_draft(self.name)
		frappe.db.commit()
		self.assertTrue(send_approved_mail(self.name))
		self.assertEqual((row(self.name).status, row(self.name).reason), ("Queued", None))
		self.assertEqual(len(queued(self.name)), 2)

	def test_a_mail_that_only_some_recipients_got_says_who(self):
		store.update_mail(self.name, recipients=f"{ANNA}, bob@customer.example")
		send_all(self.mail)
		self.update_queue(status="Error", error="SMTPRecipientsRefused: no such user")
		place = {"parent": row(self.name).email_queue, "recipient": ANNA}
		frappe.db.set_value("Email Queue Recipient", place, "status", "Sent")
		follow_queue()
		self.assertIn(f"Only {ANNA} got it.", row(self.name).reason)

	def test_whom_the_answered_mail_had_in_cc_the_reply_has_in_cc(self):
		bob = "bob@customer.example"
		store.update_mail(self.mail, cc=bob)
		for recipients, to, cc in ((f"{bob}, {ANNA}", ANNA, bob), (bob, bob, None)):
			with self.subTest(recipients):
				store.update_mail(self.name, recipients=recipients, status="Approved")
				self.assertTrue(send_approved_mail(self.name))
				sent = queued(self.name)[-1]
				self.assertEqual((sent["To"], sent["Cc"]), (to, cc))
				reached = frappe.get_doc("Email Queue", row(self.name).email_queue).recipients
				self.assertEqual([each.recipient for each in reached], recipients.split(", "))

	def test_a_mail_that_its_page_calls_failed_can_be_sent_again_at_once(self):
		send_all(self.mail)
		self.update_queue(status="Error", error="mailbox full")
		self.assertEqual(self.list_shown_statuses(), ("Failed",) * 3)
		self.assertEqual([each.name for each in api.get_mail(self.name)["drafts"]], [self.name])
		self.assertEqual(api.approve_draft(self.name)["status"], "Approved")

	def test_an_unsent_mail_is_the_draft_on_its_own_page(self):
		store.change_status(self.name, MailStatus.APPROVED, MailStatus.HELD)
		self.assertEqual([each.name for each in api.get_mail(self.name)["drafts"]], [self.name])
		api.discard_draft(self.name)
		self.assertEqual(api.get_mail(self.name)["drafts"], [])

	def test_a_reply_in_the_lists_names_the_mail_that_it_answers_while_there_is_one(self):
		store.change_status(self.name, MailStatus.APPROVED, MailStatus.DRAFT)
		for answered in (self.mail, None):
			rows = [*api.get_mails(mailbox=self.mailbox), *api.get_waiting_replies()]
			named = [each.reply_to_mail for each in rows if each.name == self.name]
			self.assertEqual(named, [answered, answered])
			frappe.delete_doc("Agent Mail", self.mail, ignore_missing=True)

	def test_a_reply_to_a_deleted_mail_is_sent_only_if_a_person_has_approved_it(self):
		frappe.delete_doc("Agent Mail", self.mail)
		frappe.db.commit()
		self.assertFalse(send_approved_mail(self.name))
		self.assertEqual(row(self.name).reason, "The mail that it answers was deleted")
		api.approve_draft(self.name)
		frappe.db.commit()
		self.assertTrue(send_approved_mail(self.name))

	def test_a_reply_approved_before_a_newer_mail_does_not_count_as_its_answer(self):
		store.change_status(self.name, MailStatus.APPROVED, MailStatus.DRAFT)
		api.approve_draft(self.name)
		frappe.db.commit()
		self.assertTrue(send_approved_mail(self.name))
		later = self.take(answer_to(self.mail, to=self.address, text="One more question"))
		self.update_queue(status="Sent")
		follow_queue()
		self.reply(mail=later)
		self.assertEqual(send_all(later), [True])

	def test_a_reply_approved_after_a_newer_mail_counts_as_its_answer(self):
		later = self.take(answer_to(self.mail, to=self.address, text="One more question"))
		store.change_status(self.name, MailStatus.APPROVED, MailStatus.DRAFT)
		frappe.set_user(self.user)
		api.approve_draft(self.name)
		frappe.set_user("Administrator")
		frappe.db.commit()
		self.assertTrue(send_approved_mail(self.name))
		self.reply(mail=later)
		self.assertEqual(send_all(later), [False])
		self.assertEqual(outgoing(later)[0].reason, f"{self.user} has already answered")

	def test_mails_of_a_deleted_mailbox_are_neither_processed_nor_answered(self):
		waiting = self.take()
		frappe.delete_doc("Agent Mailbox", self.mailbox)
		frappe.db.commit()
		self.assertEqual(send_all(self.mail), [False])
		reason = f"The mailbox {self.mailbox} was deleted"
		self.assertEqual((row(self.name).status, row(self.name).reason), ("Held", reason))
		self.assertEqual((self.work(waiting).status, row(waiting).reason), ("Failed", reason))

	def test_a_mail_whose_worker_was_lost_while_it_sent_is_failed_after_an_hour(self):
		send_all(self.mail)
		self.update_queue(status="Sending")
		self.assertEqual(follow_queue(), [])
		long_ago = frappe.utils.add_to_date(frappe.utils.now_datetime(), hours=-2, as_datetime=True)
		self.update_queue(modified=long_ago)
		self.assertEqual(follow_queue(), [self.name])
		self.assertEqual(row(self.name).status, "Failed")
		self.assertIn("has not confirmed", row(self.name).reason)

	def test_a_mail_whose_email_queue_entry_is_deleted_is_failed(self):
		send_all(self.mail)
		frappe.db.delete("Email Queue", {"name": row(self.name).email_queue})
		follow_queue()
		self.assertEqual(row(self.name).status, "Failed")

	def test_a_queued_mail_is_neither_processed_nor_recovered(self):
		send_all(self.mail)
		before = "Queued", row(self.name).run
		process_mail(self.name)
		later = frappe.utils.add_to_date(frappe.utils.now_datetime(), minutes=10, as_datetime=True)
		self.assertNotIn(self.name, recover_mails(later))
		self.assertEqual((row(self.name).status, row(self.name).run), before)

	def test_only_a_system_manager_replaces_the_server_of_an_email_account(self):
		make_outgoing_account()
		settings = {"smtp_host": "127.0.0.1", "smtp_port": 9, "smtp_security": "None"}
		manager = make_user("Huf Manager")
		address = frappe.db.get_value("Email Account", {"default_outgoing": 1}, "email_id")
		values = {"mailbox_name": unique("Site"), "email": address, "run_as": manager, **settings}
		with acting_as(manager):
			with self.assertRaisesRegex(frappe.PermissionError, "Email Account"):
				make("Agent Mailbox", **values)
			own = make_mailbox(manager, **settings)[0]
		frappe.db.set_value("Email Account", {"default_outgoing": 1}, "default_outgoing", 0)
		frappe.db.set_value("Email Account", f"Huf {own}", "default_outgoing", 1)
		with acting_as(manager):
			doc = frappe.get_doc("Agent Mailbox", own)
			doc.update({"sender_name": "Office"}).save()
			with self.assertRaisesRegex(frappe.PermissionError, f"Huf {own}"):
				doc.update({"smtp_host": "localhost"}).save()
			doc.reload()
			doc.update({"smtp_host": None}).save()
			with self.assertRaisesRegex(frappe.PermissionError, f"Huf {own}"):
				doc.update({"smtp_host": "localhost"}).save()
		doc.reload()
		doc.update({"smtp_host": "localhost"}).save()
		frappe.db.rollback()


class TestNoServer(DraftingTestCase):
	def setUp(self):
		super().setUp()
		frappe.db.set_value("Email Account", {"enable_outgoing": 1}, "enable_outgoing", 0)
		frappe.db.commit()
		self.addCleanup(self.enable)

	def enable(self):
		frappe.db.rollback()
		frappe.db.set_value("Email Account", {"enable_outgoing": 0}, "enable_outgoing", 1)
		frappe.db.commit()

	def test_without_an_outgoing_server_replies_stay_drafts_and_approval_fails(self):
		result = self.reply()
		self.assertEqual((result["status"], row(result["draft"]).status), ("created", "Draft"))
		self.assertIn("No outgoing mail server", result["message"])
		with self.assertRaisesRegex(UsageError, "No outgoing mail server is set up"):
			api.approve_draft(result["draft"])
		self.assertEqual(row(result["draft"]).status, "Draft")

	def test_approved_mail_is_held_if_the_outgoing_server_is_removed(self):
		self.enable()
		self.reply()
		frappe.db.set_value("Email Account", {"enable_outgoing": 1}, "enable_outgoing", 0)
		self.assertEqual(send_all(self.mail), [False])
		(held,) = outgoing(self.mail)
		self.assertEqual((held.status, bool(held.reason)), ("Held", True))
		self.assertEqual(queued(held.name), [])

	def test_the_mailbox_test_reports_missing_servers(self):
		frappe.db.set_value("Agent Mailbox", self.mailbox, "last_error", "an old error")
		errors = {each["part"]: each["error"] for each in api.test_mailbox(self.mailbox)}
		self.assertIn("No incoming server is set up", errors["IMAP"])
		self.assertIn("No outgoing mail server", errors["SMTP"])
		self.assertEqual(frappe.db.get_value("Agent Mailbox", self.mailbox, "last_error"), "an old error")
		self.enable()
		self.assertIsNone(api.test_mailbox(self.mailbox)[1]["error"])

	def test_the_mailbox_test_reports_a_host_that_cannot_exist(self):
		host = "mail..office.example"
		name, _address = make_mailbox(self.user, imap_host=host, smtp_host=host, smtp_port=25)
		for tested in api.test_mailbox(name):
			self.assertIn("Check the", tested["error"])

	def test_removed_smtp_settings_and_deleted_mailboxes_send_nothing(self):
		settings = {"smtp_host": "127.0.0.1", "smtp_port": 9, "smtp_security": "None"}
		(cleared, first), (deleted, second) = [make_mailbox(self.user, **settings) for _ in range(2)]
		doc = frappe.get_doc("Agent Mailbox", cleared)
		doc.smtp_host = None
		doc.save()
		frappe.delete_doc("Agent Mailbox", deleted)
		self.assertIsNotNone(find_sending_problem(first))
		self.assertIsNotNone(find_sending_problem(second))

	def test_smtp_settings_of_the_mailbox_are_enough_for_sending(self):
		_name, address = make_mailbox(self.user, smtp_host="127.0.0.1", smtp_port=9, smtp_security="None")
		self.assertIsNone(find_sending_problem(address))
		self.assertIsNotNone(find_sending_problem(ANNA))
