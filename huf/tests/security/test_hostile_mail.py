"""Malicious mails cannot stop a mailbox, forge their sender, or add headers to a reply."""

import json
import time
import unittest
from datetime import datetime, timezone
from email import message_from_string
from unittest.mock import patch

import frappe

from huf.ai.mail import intake, store
from huf.ai.mail.compose import OutgoingMail, compose
from huf.ai.mail.inbox import FetchedMail
from huf.ai.mail.message import parse_message
from huf.ai.mail.store import MAX_FILES
from huf.tests.mail import MailTestCase, make_mail, row

HEAD = b"From: anna@customer.example\r\nSubject: Hi\r\n"


def nest(depth: int, text: bytes) -> bytes:
	parts = [b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(depth)]
	return HEAD + b"".join(parts) + b"\r\n" + text


def repeat(part: bytes, times: int) -> bytes:
	return HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + (b"--b\r\n" + part) * times


class TestShapes(unittest.TestCase):
	def test_oversized_and_nested_mails_are_parsed_within_five_seconds(self):
		for name, raw in {
			"multiparts": nest(3_000, b"hello"),
			"long text in multiparts": nest(200, b"hello\r\n" * 100_000),
			"forwarded mails": HEAD + b"Content-Type: message/rfc822\r\n\r\n" * 3_000 + b"hello",
			"parts": repeat(b"\r\nhello\r\n", 20_000),
			"parameters": HEAD + b"Content-Type: multipart/mixed; " + b";a=b" * 300_000 + b"\r\n\r\nhello",
			"HTML": repeat(b"Content-Type: text/html\r\n\r\nhello" + b"<b>x" * 12_000 + b"\r\n", 200),
		}.items():
			with self.subTest(name):
				before = time.process_time()
				message = parse_message(raw)
				self.assertLess(time.process_time() - before, 5)
				texts = [message.text, *(str(each.content) for each in message.attachments)]
				self.assertTrue(any("hello" in each for each in texts))
				self.assertEqual((message.sender, message.subject), ("anna@customer.example", "Hi"))


class TestSenders(unittest.TestCase):
	def test_an_address_in_the_name_is_not_the_sender(self):
		for sender in (
			"=?utf-8?q?boss=40office.example=2C?= <mallory@evil.example>",
			"=?utf-8?q?=3Cboss=40office.example=3E?= <mallory@evil.example>",
			"boss@office.example <mallory@evil.example>",
			"<boss@office.example> <mallory@evil.example>",
			'"boss@office.example" <mallory@evil.example>',
		):
			with self.subTest(sender):
				message = parse_message(f"From: {sender}\r\n\r\nHi".encode())
				self.assertEqual(message.sender, "mallory@evil.example")

	def test_an_address_that_begins_another_address_is_not_the_sender(self):
		for sender in ("boss@office.example@evil.example", '"boss@office.example"@evil.example'):
			self.assertNotIn(
				"office.example", parse_message(f"From: {sender}\r\n\r\nHi".encode()).sender[-14:]
			)

	def test_part_of_an_address_is_not_taken_as_the_sender(self):
		for sender in ("jörg@office.example", "Jörg <jörg@office.example>", f"{'x' * 65}@office.example"):
			self.assertEqual(parse_message(f"From: {sender}\r\n\r\nHi".encode()).sender, "")

	def test_a_name_with_encoded_words_and_a_comma_is_kept(self):
		message = parse_message(b"From: =?utf-8?q?M=C3=BCller=2C_Anna?= <anna@customer.example>\r\n\r\nHi")
		self.assertEqual((message.sender_name, message.sender), ("Müller, Anna", "anna@customer.example"))


class TestAnswers(unittest.TestCase):
	def test_encoded_line_breaks_add_no_header_to_outgoing_mail(self):
		word = "=?utf-8?q?x=0D=0AReply-To:_mallory@evil.example?="
		for field in ("subject", "sender_name", "in_reply_to", "references"):
			values: dict = {
				"subject": "Hi",
				"sender_name": "Office",
				"in_reply_to": "2@x",
				"references": ["2@x"],
			}
			values[field] = [word] if field == "references" else word
			outgoing = OutgoingMail(
				sender="office@office.example",
				to=["anna@customer.example"],
				cc=(),
				body="Hello",
				message_id="1@office.example",
				date=datetime.now(timezone.utc),
				**values,
			)
			with self.subTest(field):
				self.assertNotIn("Reply-To", message_from_string(compose(outgoing)))


class TestIntake(MailTestCase):
	def test_a_date_outside_the_calendar_does_not_stop_the_mailbox(self):
		mail = self.take(HEAD + b"Date: Fri, 31 Dec 9999 23:59:59 -0100\r\n\r\nHi")
		self.assertIsNone(row(mail).date)

	def test_attachments_beyond_the_maximum_are_not_stored(self):
		part = b"Content-Disposition: attachment; filename=a.txt\r\n\r\nx\r\n"
		attachments = json.loads(row(self.take(repeat(part, MAX_FILES + 1))).attachments)
		self.assertEqual([bool(each.get("file_url")) for each in attachments], [*[True] * MAX_FILES, False])

	def test_a_mail_is_compressed_before_other_writers_have_to_wait(self):
		writes = []

		def compress(raw: bytes) -> bytes:
			writes.append(frappe.db.transaction_writes)
			return original(raw)

		original = store.compress_raw
		unreadable = FetchedMail(make_mail(to=self.address), datetime.now(), is_complete=True)
		with patch.object(store, "compress_raw", compress):
			mail = self.take()
			with patch.object(intake, "parse_message", side_effect=ValueError("a fault of the parser")):
				failed, _is_new = intake.ingest_fetched(store.read_mailbox(self.mailbox), unreadable)
		frappe.db.commit()
		self.assertEqual(writes, [0, 0])
		for each in (mail, failed):
			self.assertIn(b"aspirin", store.read_raw(row(each)))
