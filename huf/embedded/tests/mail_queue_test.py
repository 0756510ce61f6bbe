"""The queue of outgoing mail against SMTP servers that fail at different points of a transfer."""

import socketserver
import threading
from unittest.mock import patch

import frappe
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography.fernet import Fernet
from frappe.email.queue import UNANSWERED, flush
from frappe.utils import add_to_date, now_datetime

from huf.ai.mail.review import check_smtp
from huf.embedded.tests.sites import SiteTestCase
from huf.tests.factories import make, unique
from huf.tests.ports import find_free_port


class BrokenPostman:
	"""An SMTP server with its own `answers` to some commands; "." is the end of a mail, which it receives.

	Instead of the answer None it closes the connection; an Event delays the usual one by three seconds; the
	answers of a list are given one after the other.
	"""

	def __init__(self, answers: dict[str, str | list[str] | None | threading.Event]):
		self.answers, self.connections = answers, 0
		self.received: list[bytes] = []
		self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), self.make_handler())
		self.server.daemon_threads = True
		self.port = self.server.server_address[1]

	def make_handler(self):
		postman = self

		class Handler(socketserver.StreamRequestHandler):
			def handle(self):
				postman.talk(self.rfile, self.wfile)

		return Handler

	def talk(self, lines, out):
		def say(command: str, usual: str) -> bool:
			answer = self.answers.get(command, usual)
			if isinstance(answer, threading.Event):
				answer.wait(3)
				answer = usual
			if isinstance(answer, list):
				answer = answer.pop(0)
			if answer:
				out.write(f"{answer}\r\n".encode())
			return bool(answer)

		self.connections += 1
		is_open = say("GREETING", "220 postman")
		while is_open and (line := lines.readline()):
			command = line[:4].decode().strip().upper()
			usual = {"DATA": "354 Go on", "QUIT": "221 Bye"}.get(command, "250 OK")
			is_open = say(command, usual) and command != "QUIT"
			if is_open and command == "DATA":
				self.received.append(b"".join(iter(lines.readline, b".\r\n")))
				is_open = say(".", "250 Taken")

	def __enter__(self) -> "BrokenPostman":
		threading.Thread(target=self.server.serve_forever, daemon=True).start()
		return self

	def __exit__(self, *_):
		self.server.shutdown()
		self.server.server_close()


@patch("frappe.email.queue.TIMEOUT", 0.5)
class TestBrokenServers(SiteTestCase):
	def send(self, postman: BrokenPostman, host: str = "127.0.0.1", recipients=("a@x.example",)):
		"""Queue a mail, try to send it until nothing is due any more, and return its row in the queue."""
		sender = f"{frappe.generate_hash(length=10)}@office.example"
		account = {"email_id": sender, "smtp_server": host, "smtp_port": str(postman.port)}
		make(
			"Email Account",
			email_account_name=unique("Broken"),
			enable_outgoing=1,
			no_smtp_authentication=1,
			**account,
		)
		mail = frappe.sendmail(recipients=list(recipients), sender=sender, subject="Hi", message="Hello")
		frappe.db.commit()
		for minutes in (0, 2, 10, 60):
			flush(add_to_date(now_datetime(), minutes=minutes, as_datetime=True))
		return frappe.db.get_value("Email Queue", mail.name, ["status", "error", "retry"], as_dict=True)

	def test_a_server_that_thinks_about_a_mail_for_long_gets_it_once(self):
		with BrokenPostman({".": threading.Event()}) as postman:
			row = self.send(postman)
		self.assertEqual((row.status, len(postman.received)), ("Sent", 1))

	def test_a_mail_is_not_sent_again_if_the_server_does_not_answer_whether_it_took_it(self):
		with BrokenPostman({".": None}) as postman:
			row = self.send(postman)
		self.assertEqual((row.status, row.error, len(postman.received)), ("Error", UNANSWERED, 1))

	def test_a_mail_that_was_not_handed_over_is_tried_again(self):
		with BrokenPostman({"DATA": None}) as postman:
			row = self.send(postman)
		self.assertEqual((row.status, row.error), ("Error", "Connection unexpectedly closed"))
		self.assertEqual(postman.connections, 4)

	def test_a_mail_is_tried_again_only_if_a_refusal_is_temporary(self):
		for answers, attempts in (
			({"RCPT": "550 Nobody has this address"}, 1),
			({"RCPT": "450 Come back later"}, 4),
			({".": "554 It contains a virus"}, 1),
			({".": "452 The disk is full"}, 4),
			({"MAIL": "530 Sign in first"}, 4),
		):
			with self.subTest(answers), BrokenPostman(answers) as postman:
				row = self.send(postman)
			self.assertEqual((row.status, postman.connections), ("Error", attempts))
			((command, answer),) = answers.items()
			self.assertEqual(row.error, f"a@x.example: {answer}" if command == "RCPT" else answer)

	def test_a_temporary_refusal_is_tried_again_next_to_a_final_one(self):
		with BrokenPostman({"RCPT": ["550 No", "450 Later", "550 No", "250 OK"]}) as postman:
			row = self.send(postman, recipients=["a@x.example", "b@x.example"])
		self.assertEqual((row.status, postman.connections, len(postman.received)), ("Error", 2, 1))

	def test_a_mail_counts_as_sent_although_the_server_refuses_to_end_the_connection(self):
		with BrokenPostman({"QUIT": "421 Closing"}) as postman:
			row = self.send(postman)
		self.assertEqual((row.status, len(postman.received)), ("Sent", 1))

	def test_a_host_that_cannot_exist_is_an_error_of_its_mail_only(self):
		with BrokenPostman({}) as postman:
			row = self.send(postman, host="mail..office.example")
		self.assertEqual((row.status, row.retry), ("Error", 0))
		self.assertIn("has an address that cannot be used", row.error)


class TestSignIn(SiteTestCase):
	def test_a_mailbox_with_a_password_and_no_user_signs_in_by_its_address(self):
		address, password = f"{frappe.generate_hash(length=10)}@office.example", "a-good-password-8"
		mails = []

		class Handler:
			async def handle_DATA(self, server, session, envelope):
				mails.append(envelope.mail_from)
				return "250 OK"

		def check(server, session, envelope, mechanism, auth):
			return AuthResult(success=(auth.login, auth.password) == (address.encode(), password.encode()))

		options = {"authenticator": check, "auth_required": True, "auth_require_tls": False}
		server = Controller(Handler(), hostname="127.0.0.1", port=find_free_port(), **options)
		server.start()
		self.addCleanup(server.stop)
		values = {"smtp_host": "127.0.0.1", "smtp_port": server.port, "smtp_security": "None"}
		values |= {"email": address, "run_as": "Administrator"}
		mailbox = make("Agent Mailbox", mailbox_name=unique("Office"), **values)
		self.assertIsNone(check_smtp(mailbox), "without a password it does not sign in")
		mailbox.smtp_password = "a-wrong-password-8"
		mailbox.save()
		self.assertIn("Check the SMTP host", check_smtp(mailbox))
		mailbox.smtp_password = password
		mailbox.save()
		self.assertIsNone(check_smtp(mailbox))
		# As mailboxes were saved before: the account says that it does not sign in.
		frappe.db.set_value("Email Account", f"Huf {mailbox.name}", "no_smtp_authentication", 1)
		frappe.sendmail(recipients=["a@x.example"], sender=address, subject="Hi", message="Hello")
		frappe.db.commit()
		flush()
		self.assertEqual(mails, [address])

	def test_a_mail_is_tried_again_if_the_password_cannot_be_read(self):
		sender, host = f"{frappe.generate_hash(length=10)}@office.example", "127.0.0.1"
		with BrokenPostman({}) as postman:
			values = {
				"email_id": sender,
				"smtp_server": host,
				"smtp_port": str(postman.port),
				"password": "x-8",
			}
			make("Email Account", email_account_name=unique("Locked"), enable_outgoing=1, **values)
			mail = frappe.sendmail(recipients=["a@x.example"], sender=sender, subject="Hi", message="Hello")
			frappe.db.commit()
			with patch.dict(frappe.conf, encryption_key=Fernet.generate_key().decode()):
				flush()
		row = frappe.db.get_value("Email Queue", mail.name, ["status", "error", "retry"], as_dict=True)
		self.assertEqual((row.status, row.retry), ("Not Sent", 1))
		self.assertIn("cannot be read: restore the `encryption_key`", row.error)
