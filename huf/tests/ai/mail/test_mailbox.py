"""Mailboxes on a real IMAP server ingest each new mail once, despite failures of server, workers or mails."""

import errno
import os
import random
import threading
import time
from datetime import datetime, timedelta, timezone
from unittest.mock import patch

import frappe
from frappe.core.doctype.file.file import File
from imap_tools.errors import MailboxFolderStatusError
from imap_tools.idle import IdleManager

from huf.ai.core.errors import UsageError
from huf.ai.mail import actions, drafts, inbox, intake, jobs, store
from huf.ai.mail.drafts import Reply
from huf.ai.mail.intake import read_mailbox_once, watch_mailbox
from huf.ai.mail.jobs import mark_mail_failed, process_mail
from huf.ai.mail.message import parse_message
from huf.tests.base import enter
from huf.tests.contract.connections import elsewhere, together
from huf.tests.factories import make_agent, unique
from huf.tests.imap_server import ImapServer, needs_dovecot
from huf.tests.mail import MailTestCase, answer_to, make_mail, make_mailbox, outgoing, row, send_all
from huf.tests.model_server import ModelServer, text, tool_call

MAILS = int(os.environ.get("HUF_TEST_MAILS", "1000"))


@needs_dovecot
class TestMailbox(MailTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ImapServer())
		self.mailbox, self.address = make_mailbox(self.user, take="All of the inbox", **self.server.settings)
		frappe.db.commit()

	def test_a_sync_ingests_only_new_mail(self):
		self.deliver(2)
		self.assertEqual((len(self.sync()), self.count()), (2, 2))
		self.assertEqual(self.sync(), [])
		self.deliver(1)
		self.assertEqual(len(self.sync()), 1)

	@patch("huf.tests.imap_server.PASSWORD", "ein-gutes-Paßwort-7")
	def test_a_password_with_other_than_ascii_characters_works(self):
		server = enter(self, ImapServer())
		self.mailbox, self.address = make_mailbox(self.user, take="All of the inbox", **server.settings)
		frappe.db.commit()
		server.deliver(make_mail(to=self.address))
		self.assertEqual(len(self.sync()), 1)

	def test_a_wrong_password_of_any_letters_is_named_as_the_fault(self):
		for password in ("wrong", "falsches-Paßwort"):
			settings = {**self.server.settings, "imap_password": password}
			self.mailbox, _address = make_mailbox(self.user, take="All of the inbox", **settings)
			frappe.db.commit()
			self.assertEqual(self.sync(), [])
			error, read = frappe.db.get_value("Agent Mailbox", self.mailbox, ["last_error", "last_sync"])
			self.assertIn("Check the IMAP user and password", error, password)
			self.assertIsNone(read)

	def test_a_folder_is_read_from_a_server_that_refuses_status_for_an_open_folder(self):
		self.deliver(1)
		refusal = MailboxFolderStatusError(("NO", [b"It is selected"]), "OK")
		with patch("imap_tools.folder.MailBoxFolderManager.status", side_effect=refusal):
			self.assertEqual(len(self.sync()), 1)
		self.deliver(1)
		self.assertEqual(len(self.sync()), 1)

	def test_search_results_in_several_lines_are_all_read(self):
		self.deliver(3)
		original = inbox.Inbox.command

		def command(box, name, *arguments):
			answer = original(box, name, *arguments)
			return answer[0].split() if name == "SEARCH" else answer

		with patch.object(inbox.Inbox, "command", command):
			self.assertEqual(len(self.sync()), 3)

	def test_an_oversized_mail_is_ingested_truncated(self):
		self.server.deliver(make_mail(to=self.address, text="A long story. " * 500))
		self.deliver(1)
		with patch.object(inbox, "MAX_MAIL_BYTES", 2_000):
			long, short = self.sync()
		text = frappe.db.get_value("Agent Mail", long, "text")
		self.assertLess(len(text), 2_500)
		self.assertIn("A long story.", text)
		self.assertIn("too long to be read as a whole", text)
		self.assertIn("too long to be read as a whole", jobs.message_from_row(row(long)).text)
		self.assertNotIn("too long", frappe.db.get_value("Agent Mail", short, "text"))

	def test_an_unparsable_mail_is_stored_as_failed_and_the_sync_continues(self):
		for subject in ("First", "Unreadable", "Last"):
			self.server.deliver(make_mail(to=self.address, subject=subject))
		self.deliver_sent("Unreadable")
		with patch.object(intake, "parse_message", read_unless_unreadable):
			taken = self.sync()
			elsewhere(intake.ingest_sent, self.mailbox)
			self.assertEqual(self.sync(), [])
			elsewhere(intake.ingest_sent, self.mailbox)
		self.assertEqual(self.position().last_uid, 3)
		self.assertEqual([row(each).subject for each in taken], ["First", None, "Last"])
		unreadable = row(taken[1])
		self.assertEqual((unreadable.status, unreadable.direction), ("Failed", "Incoming"))
		self.assertIn("could not be read", unreadable.reason)
		self.assertIn("mail.eml", unreadable.attachments)
		self.assertEqual(intake.parse_message(store.read_raw(unreadable)).subject, "Unreadable")
		with self.assertRaisesRegex(UsageError, "could not be read"):
			actions.run_again(unreadable)
		self.assertEqual(jobs.find_reply_recipients(unreadable), ())
		title = f"A mail of the mailbox {self.mailbox} could not be read"
		self.assertEqual(frappe.db.count("Error Log", {"method": title}), 2)
		(sent,) = frappe.get_all("Agent Mail", {"mailbox": self.mailbox, "direction": "Outgoing"}, ["status"])
		self.assertEqual(sent.status, "Sent", "it is not a waiting reply")

	def test_refused_mail_is_stored_as_failed_once_a_later_one_is_read(self):
		self.deliver(2)
		with patch.object(inbox.Inbox, "command", refuse_the_second):
			self.sync()
			self.assertIn("corrupt", self.last_error())
			self.assertEqual((self.count(), self.position().last_uid), (1, 1), "it is tried again")
			self.deliver(1)
			taken = self.sync()
			self.assertIsNone(self.last_error())
			self.assertEqual(self.sync(), [])
		self.assertEqual([row(each).status for each in taken], ["Failed", "Queued"])
		self.assertRaisesRegex(UsageError, "corrupt", actions.run_again, row(taken[0]))
		self.assertEqual((self.count(), self.position().last_uid), (3, 3))

	def test_mail_at_which_the_server_ends_the_connection_is_stored_as_failed(self):
		self.deliver(3)
		with patch.object(inbox.Inbox, "command", drop_at("2")):
			taken = self.sync()
		self.assertEqual([row(each).status for each in taken], ["Queued", "Failed", "Queued"])
		self.assertIn("ends the connection", row(taken[1]).reason)
		self.assertEqual((self.last_error(), self.position().last_uid), (None, 3))

	def test_mail_at_which_the_connection_ends_once_is_read(self):
		self.deliver(3)
		with patch.object(inbox.Inbox, "command", drop_at("2", times=1)):
			taken = self.sync()
		self.assertEqual([row(each).status for each in taken], ["Queued"] * 3)

	def test_server_that_ends_every_connection_is_at_fault_and_not_its_messages(self):
		self.deliver(5)
		with patch.object(inbox.Inbox, "command", drop_at("1", "2", "3", "4", "5")):
			self.assertEqual(self.sync(), [])
		self.assertIn("cannot be read", self.last_error())
		self.assertEqual((self.count(), self.position().last_uid), (0, 0))
		self.assertEqual(len(self.sync()), 5)

	def test_refused_message_in_the_sent_folder_is_skipped(self):
		for subject in ("First", "Second", "Last"):
			self.deliver_sent(subject)
		with patch.object(inbox.Inbox, "command", refuse_the_second):
			elsewhere(intake.ingest_sent, self.mailbox)
		self.assertEqual(self.count(), 2)

	def test_a_storage_error_stops_the_sync_without_advancing_its_position(self):
		self.deliver(1)
		with patch.object(File, "before_insert", side_effect=OSError(errno.ENOSPC, "No space left")):
			self.assertEqual(self.sync(), [])
		self.assertIn("disk", frappe.db.get_value("Agent Mailbox", self.mailbox, "last_error"))
		with patch.object(store, "insert_mail", side_effect=[frappe.QueryTimeoutError("locked"), True]):
			with self.assertRaises(frappe.QueryTimeoutError):
				self.sync()
		self.assertEqual((self.count(), self.position().last_uid), (0, 0))
		self.assertEqual(len(self.sync()), 1)

	def test_a_mailbox_for_new_mail_only_ignores_older_mail(self):
		self.deliver(1)
		mailbox, _address = make_mailbox(self.user, **self.server.settings)
		later = frappe.utils.add_to_date(frappe.db.get_value("Agent Mailbox", mailbox, "since"), seconds=5)
		frappe.db.set_value("Agent Mailbox", mailbox, "since", later)
		frappe.db.commit()
		self.assertEqual(read_mailbox_once(mailbox), [])

	def test_new_mail_is_ingested_from_a_server_in_an_earlier_time_zone(self):
		with patch.dict(os.environ, {"TZ": "America/New_York"}):
			server = enter(self, ImapServer())
		mailbox, address = make_mailbox(self.user, **server.settings)
		since = datetime(2026, 11, 25, 1, 0)
		frappe.db.set_value("Agent Mailbox", mailbox, "since", since)
		frappe.db.commit()
		for subject, minutes in (("Before", -10), ("After", 10)):
			server.deliver(make_mail(to=address, subject=subject))
			at = (since + timedelta(minutes=minutes)).replace(tzinfo=timezone.utc).timestamp()
			newest = max((server.home / "mail" / "new").iterdir(), key=lambda each: each.name)
			os.utime(newest, (at, at))
		taken = elsewhere(read_mailbox_once, mailbox)
		self.assertEqual([row(each).subject for each in taken], ["After"])

	def test_a_new_uidvalidity_neither_duplicates_nor_misses_mail(self):
		self.deliver(3)
		self.sync()
		before, position = self.count(), self.position()
		self.server.forget_uids(lost=2)
		self.deliver(1)
		self.assertEqual(len(self.sync()), 1)
		self.assertEqual(self.count(), before + 1)
		self.assertNotEqual(self.position().uidvalidity, position.uidvalidity)

	def test_a_login_error_is_shown_on_the_mailbox_until_it_is_fixed(self):
		from huf.api.mail import test_mailbox

		frappe.get_doc("Agent Mailbox", self.mailbox).update({"imap_password": "wrong"}).save()
		frappe.db.commit()
		self.assertEqual(self.sync(), [])
		self.assertIn("127.0.0.1", self.last_error())
		imap_result, _smtp_result = test_mailbox(self.mailbox)
		self.assertEqual((imap_result["part"], bool(imap_result["error"])), ("IMAP", True))
		password = self.server.settings["imap_password"]
		frappe.get_doc("Agent Mailbox", self.mailbox).update({"imap_password": password}).save()
		self.assertIsNone(test_mailbox(self.mailbox)[0]["error"])
		self.assertIsNone(frappe.db.get_value("Agent Mailbox", self.mailbox, "last_error"))

	def test_imap_idle_reports_new_mail(self):
		self.sync()
		# IDLE, which may begin late on a busy machine, reports first that the server is still there.
		timers = [threading.Timer(seconds, self.deliver, (1,)) for seconds in range(4, 40, 2)]
		for timer in timers:
			self.addCleanup(timer.cancel)
			timer.start()
		began = time.monotonic()
		self.assertTrue(watch_mailbox(self.mailbox, 60), self.last_error())
		self.assertLess(time.monotonic() - began, 50)

	def test_mail_whose_announcement_cannot_be_read_is_ingested(self):
		poll = IdleManager.poll

		def read_nothing(idle, timeout):
			timer = threading.Timer(1, self.deliver, (1,))
			timer.start()
			while inbox.is_keepalive(poll(idle, timeout)):
				pass
			return []

		with patch.object(IdleManager, "poll", read_nothing):
			self.assertEqual(len(watch_mailbox(self.mailbox, 60)), 1)

	def test_an_answer_from_a_mail_client_holds_the_reply_of_the_agent(self):
		frappe.get_doc("Agent Mailbox", self.mailbox).update({"sent_folder": "Sent"}).save()
		self.server.deliver(make_mail(sender=self.address, message_id=frappe.generate_hash()), "Sent")
		with ModelServer() as model:
			self.agent(model, may_send_mail=1)
			reply = {"to": "anna@customer.example", "subject": "A question", "body": "Yes."}
			model.script(tool_call("send_reply", reply), text("Done."))
			name = self.take()
			self.work(name)
		answer = answer_to(name, to="anna@customer.example", sender=self.address, text="I have it here.")
		self.server.deliver(answer, "Sent")
		self.assertEqual(send_all(name), [False])
		(held,) = outgoing(name)
		self.assertEqual(held.status, "Held")
		self.assertIn("has already answered", held.reason)

	def test_a_missing_sent_folder_is_reported_on_mailbox_and_reply(self):
		from huf.api.mail import test_mailbox

		frappe.get_doc("Agent Mailbox", self.mailbox).update({"sent_folder": "Gesendet"}).save()
		frappe.db.commit()
		message = "cannot open the folder Gesendet"
		self.assertIn(message, test_mailbox(self.mailbox)[0]["error"])
		self.deliver(1)
		(name,) = self.sync()
		self.assertIn(message, self.last_error())
		reply = drafts.write_reply(row(name), Reply(("anna@customer.example",), "S", "Yes."), None)
		store.clear_mailbox_error(self.mailbox)
		frappe.db.commit()
		with self.assertRaisesRegex(inbox.InboxError, message):
			send_all(name)
		self.assertIn(message, self.last_error())
		self.assertIn(message, row(reply).reason)
		mark_mail_failed(row(reply))
		self.assertEqual(row(reply).status, "Held")
		self.assertIn(message, row(reply).reason)
		self.deliver_sent("Hello")
		self.sync()
		self.assertIsNone(self.last_error())

	def test_1000_mails_with_duplicates_and_two_workers_are_processed_once_each(self):
		agent = make_agent(history_limit=1)
		self.rule(route="agent", profile=agent, subject_contains="for the agent")
		keys = [f"{number}.{unique('mail').replace(' ', '.')}" for number in range(MAILS)]
		mails = [mail_for(self.address, key, number) for number, key in enumerate(keys)]
		duplicates = random.sample(mails, MAILS // 5)
		delivered = [*mails, *(b"Received: from elsewhere\r\n" + raw for raw in duplicates)]
		random.shuffle(delivered)
		for raw in delivered[: len(delivered) // 2]:
			self.server.deliver(raw)
		together(
			[(sync_until_killed, self.mailbox, MAILS // 4), (sync_until_killed, self.mailbox, MAILS // 4)]
		)
		for raw in delivered[len(delivered) // 2 :]:
			self.server.deliver(raw)
		self.server.forget_uids()
		together([(read_mailbox_once, self.mailbox), (read_mailbox_once, self.mailbox)])
		frappe.db.rollback()
		rows = self.rows_of(keys)
		self.assertEqual(
			sorted(each.message_id for each in rows), sorted(f"{key}@customer.example" for key in keys)
		)
		together([(process_all, random.sample([each.name for each in rows], len(rows))) for _ in range(2)])
		frappe.db.rollback()
		rows = self.rows_of(keys)
		self.assertEqual(
			{(each.route, each.status) for each in rows}, {("agent", "Done"), ("pipeline", "Failed")}
		)
		runs = frappe.get_all(
			"Agent Run", {"agent": agent}, ["reference_name", "status"], order_by="name asc"
		)
		agent_mails = [each.name for each in rows if each.route == "agent"]
		self.assertEqual(sorted(run.reference_name for run in runs), sorted(agent_mails))
		self.assertEqual((len(agent_mails), {run.status for run in runs}), (MAILS // 5, {"Success"}))
		self.assertEqual({each.category for each in rows if each.route == "pipeline"}, {"unclassified"})

	def rows_of(self, keys: list[str]) -> list:
		filters = {"mailbox": self.mailbox, "message_id": ["in", [f"{key}@customer.example" for key in keys]]}
		fields = ["name", "message_id", "route", "status", "category"]
		return frappe.get_all("Agent Mail", filters, fields, order_by="name asc")

	def deliver(self, count: int) -> None:
		for _ in range(count):
			self.server.deliver(make_mail(to=self.address))

	def deliver_sent(self, subject: str) -> None:
		frappe.get_doc("Agent Mailbox", self.mailbox).update({"sent_folder": "Sent"}).save()
		frappe.db.commit()
		self.server.deliver(make_mail(sender=self.address, subject=subject), "Sent")

	def sync(self) -> list[str]:
		return elsewhere(read_mailbox_once, self.mailbox)

	def last_error(self) -> str | None:
		frappe.db.rollback()
		return frappe.db.get_value("Agent Mailbox", self.mailbox, "last_error")

	def count(self) -> int:
		frappe.db.rollback()
		return frappe.db.count("Agent Mail", {"mailbox": self.mailbox})

	def position(self):
		frappe.db.rollback()
		return frappe.db.get_value("Agent Mailbox", self.mailbox, ["uidvalidity", "last_uid"], as_dict=True)


def refuse_the_second(self, command: str, *arguments):
	if command == "FETCH" and arguments[0] == "2":
		raise inbox.InboxError("this mail is corrupt")
	return send_command(self, command, *arguments)


def drop_at(*uids: str, times: int = 1_000):
	"""A connection that ends when one of the messages is to be fetched, so many times."""
	left = [None] * times

	def command(box, name: str, *arguments):
		if name == "FETCH" and arguments[0] in uids and left:
			left.pop()
			box.box.client.shutdown()
		return send_command(box, name, *arguments)

	return command


send_command = inbox.Inbox.command


def read_unless_unreadable(raw: bytes):
	if b"Subject: Unreadable" in raw:
		raise ValueError("a fault of the parser")
	return parse_message(raw)


def mail_for(address: str, key: str, number: int) -> bytes:
	subject = "A question for the agent" if number % 5 == 0 else "A question"
	sender = f"person{number}@customer.example"
	return make_mail(to=address, sender=sender, subject=subject, message_id=key, text="Hello")


def sync_until_killed(mailbox: str, limit: int) -> None:
	"""A worker that is killed after this many mails, in the middle of the next one."""
	from huf.ai.mail import store
	from huf.ai.mail.inbox import open_inbox
	from huf.ai.mail.intake import build_account, ingest_new

	with open_inbox(build_account(store.read_mailbox(mailbox))) as inbox:
		for number, _name in enumerate(ingest_new(mailbox, inbox)):
			if number >= limit:
				frappe.db.rollback()
				return


def process_all(names: list[str]) -> None:
	for name in names:
		process_mail(name)
