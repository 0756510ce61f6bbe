"""Mail received by Frappe is ingested once, in its thread, by the mailbox of its email account."""

import json
import unittest
from dataclasses import replace
from email.message import EmailMessage

import frappe

from huf.ai.core.session import acting_as
from huf.ai.mail import store, threads
from huf.ai.mail.communications import find_mailbox, message_from_communication
from huf.ai.mail.intake import IncomingMail, ingest
from huf.ai.storage.outgoing_mail import own_account_name
from huf.tests.factories import make, make_user, unique
from huf.tests.mail import MailTestCase, make_mailbox, row
from huf.upgrade import link_email_accounts


class TestDates(MailTestCase):
	def test_a_later_answer_of_a_colleague_to_an_earlier_mail_of_the_thread_counts(self):
		question = self.ingest("10:00")
		followed = self.ingest("10:05", question)
		self.assertIsNone(threads.find_answerer(row(followed)))
		self.ingest("10:10", question, by_person=True)
		self.assertEqual(threads.find_answerer(row(followed)), self.address)

	def ingest(self, clock: str, answers: str = "", by_person: bool = False) -> str:
		"""Ingest what Frappe stores of a mail; `answers`: the name of the answered one. Returns the name."""
		doc = frappe._dict(
			message_id=f"{frappe.generate_hash(length=10)}@ada.example",
			sender=self.address if by_person else "ada@ada.example",
			recipients="ada@ada.example" if by_person else self.address,
			subject="Opening hours",
			content="When do you open?",
			communication_date=f"2026-11-26 {clock}:00",
		)
		message = replace(
			message_from_communication(doc), in_reply_to=row(answers).message_id if answers else ""
		)
		return ingest(store.read_mailbox(self.mailbox), IncomingMail(message, by_person=by_person))[0]


class TestAccounts(MailTestCase):
	def test_only_a_system_manager_makes_an_email_account_a_mailbox(self):
		director = f"{frappe.generate_hash(length=10)}@office.example"
		account = make("Email Account", email_account_name=unique("Director"), email_id=director).name
		manager = make_user("Huf Manager")
		with acting_as(manager):
			own = frappe.get_doc("Agent Mailbox", make_mailbox(manager)[0])
			with self.assertRaisesRegex(frappe.PermissionError, account):
				own.update({"email": director}).save()
			own.reload()
			own.update({"email": director, "imap_host": "127.0.0.1"}).save()
			with self.assertRaisesRegex(frappe.PermissionError, account):
				own.update({"imap_host": None}).save()
		own.reload()
		own.update({"imap_host": None}).save()
		with acting_as(manager):
			own.reload()
			own.update({"sender_name": "The director's office"}).save()
		frappe.db.rollback()

	def test_an_email_account_made_after_the_mailbox_brings_mail_once_a_system_manager_has_chosen_it(self):
		account = make("Email Account", email_account_name=unique("Later"), email_id=self.address).name
		received = frappe._dict(email_account=account)
		self.assertIsNone(find_mailbox(received))
		mailbox = frappe.get_doc("Agent Mailbox", self.mailbox)
		self.assertIn(f"The Email Account {account} receives mail", mailbox.last_error)
		with (
			acting_as(make_user("Huf Manager")),
			self.assertRaisesRegex(frappe.PermissionError, "Only a System Manager"),
		):
			mailbox.update({"email_account": account}).save()
		mailbox.reload()
		mailbox.update({"email_account": account}).save()
		self.assertEqual((find_mailbox(received).name, mailbox.last_error), (self.mailbox, None))
		with acting_as(make_user("Huf Manager")):
			mailbox.update({"sender_name": "The office"}).save()
		self.assertEqual(find_mailbox(received).name, self.mailbox)
		frappe.db.rollback()

	def test_the_account_by_which_a_mailbox_sends_brings_its_mail(self):
		values = {"email_account_name": own_account_name(self.mailbox), "email_id": self.address}
		account = make("Email Account", **values).name
		self.assertEqual(find_mailbox(frappe._dict(email_account=account)).name, self.mailbox)
		frappe.db.rollback()

	def test_a_mailbox_whose_imap_host_was_cleared_in_a_form_takes_the_mail_of_its_account(self):
		values = {"email_account_name": own_account_name(self.mailbox), "email_id": self.address}
		received = frappe._dict(email_account=make("Email Account", **values).name)
		mailbox = frappe.get_doc("Agent Mailbox", self.mailbox)
		mailbox.update({"imap_host": "127.0.0.1"}).save()
		self.assertIsNone(find_mailbox(received))
		mailbox.update({"imap_host": ""}).save()
		self.assertEqual(find_mailbox(received).name, self.mailbox)
		frappe.db.rollback()

	def test_a_migration_keeps_the_accounts_of_mailboxes(self):
		account = make("Email Account", email_account_name=unique("Known"), email_id=self.address).name
		link_email_accounts()
		self.assertEqual(find_mailbox(frappe._dict(email_account=account)).name, self.mailbox)
		frappe.db.rollback()


class TestCommunications(MailTestCase):
	def setUp(self):
		super().setUp()
		if not frappe.db.exists("DocType", "Communication"):
			raise unittest.SkipTest("Frappe receives mail only on a bench")
		self.account = make(
			"Email Account", email_account_name=unique("Office"), email_id=self.address, append_to="ToDo"
		).name
		frappe.db.set_value("Agent Mailbox", self.mailbox, "email_account", self.account)
		frappe.db.commit()

	def test_mail_received_by_frappe_is_ingested_once_with_its_new_text(self):
		message_id = self.receive("When do you open?")
		frappe.db.commit()
		(mail,) = self.mails()
		self.assertEqual(
			(mail.sender, mail.message_id, mail.direction), ("ada@ada.example", message_id, "Incoming")
		)
		self.assertEqual(mail.new_text.strip(), "When do you open?")

	def test_attachments_of_communications_are_ingested(self):
		self.receive("Here you are", attached=b"a map")
		(mail,) = self.mails()
		(attachment,) = json.loads(mail.attachments)
		self.assertEqual(attachment["file_name"], "map.txt")

	def test_an_answer_belongs_to_its_thread(self):
		question = self.receive("When do you open?")
		self.receive("And on Sunday?", question)
		first, second = self.mails()
		self.assertEqual(first.thread, second.thread)

	def test_a_rolled_back_communication_leaves_no_mail(self):
		self.receive("Never mind")
		frappe.db.rollback()
		self.assertEqual(self.mails(), [])

	def test_a_mailbox_with_its_own_imap_server_ignores_communications(self):
		frappe.db.set_value("Agent Mailbox", self.mailbox, "imap_host", "127.0.0.1")
		self.receive("Twice?")
		self.assertEqual(self.mails(), [])

	def receive(self, body: str, answers: str = "", attached: bytes = b"") -> str:
		"""Receive a mail as Frappe does from its own mail servers; returns the Message-ID."""
		from frappe.email.receive import InboundMail

		mail = EmailMessage()
		mail["From"], mail["To"], mail["Subject"] = "ada@ada.example", self.address, "Opening hours"
		mail["Message-ID"] = f"<{frappe.generate_hash(length=10)}@ada.example>"
		if answers:
			mail["In-Reply-To"] = f"<{answers}>"
		mail.set_content(f"{body}\n\n> What was said before\n")
		if attached:
			mail.add_attachment(attached, maintype="application", subtype="octet-stream", filename="map.txt")
		InboundMail(mail.as_bytes(), frappe.get_doc("Email Account", self.account), uid=1).process()
		return mail["Message-ID"].strip("<>")

	def mails(self) -> list:
		return frappe.get_all(
			"Agent Mail", filters={"mailbox": self.mailbox}, fields=["*"], order_by="creation asc, name asc"
		)
