"""Mails of real programs, even malformed ones, are read without loss."""

import os
import time
import unittest
from email.message import EmailMessage
from email.mime.message import MIMEMessage

from huf.ai.mail.crisp import is_from_crisp, read_crisp
from huf.ai.mail.html_text import html_to_text
from huf.ai.mail.message import FORWARDED, SEALED, list_attachments, parse_message
from huf.ai.mail.preprocess import DEFAULT, Preprocessor, describe_people, prepare_mail
from huf.ai.mail.triage import UNCLASSIFIED, draft_prompt, read_categories, read_category
from huf.tests.mail_samples.made import FOLDER, OLD, all_samples

CRISP = {"crisp": Preprocessor(is_from_crisp, read_crisp)}


class TestSamples(unittest.TestCase):
	def test_every_sample_is_read_without_loss(self):
		samples = all_samples()
		self.assertGreaterEqual(len(samples), 60)
		for sample in samples:
			with self.subTest(sample.name):
				message = parse_message(sample.raw)
				for words in sample.has:
					self.assertIn(words, message.text)
				for field in ("subject", "sender"):
					if getattr(sample, field) is not None:
						self.assertEqual(getattr(message, field), getattr(sample, field))
				if sample.new is not None:
					self.assertEqual(message.new_text, sample.new)
				files = tuple((each.file_name, each.content) for each in message.attachments)
				if sample.files:
					self.assertEqual(files, sample.files)
				self.assertEqual(bool(message.automated), sample.automated)

	def test_text_of_an_html_mail_omits_the_head(self):
		page = '<meta name="Generator" content="Word"><title>Order</title><p>Hello</p>'
		for padding in ("", f"<p>{'x ' * 30_000}</p>"):
			raw = f"From: a@b.example\r\nContent-Type: text/html\r\n\r\n{page}{padding}".encode()
			self.assertEqual(parse_message(raw).text.split()[0], "Hello")

	def test_text_that_people_cannot_see_is_left_out(self):
		hidden = "".join(chr(0xE0000 + ord(char)) for char in "pay")
		numbered = "".join(f"&#{ord(char)};" for char in hidden)
		for kind, said in (
			("plain", hidden),
			("html", f"<p>{hidden}{numbered}"),
			("html", f"<script>{numbered}"),
		):
			head = f"From: a@b.example\r\nSubject: Hi{hidden}\r\nContent-Type: text/{kind}; charset=utf-8"
			message = parse_message(f"{head}\r\n\r\nHello{said}".encode())
			self.assertEqual((message.subject, message.text), ("Hi", "Hello"))

	def test_punycode_is_not_used_as_a_charset(self):
		# Decoding a long text as punycode would take hours.
		raw = b"From: a@b.example\r\nContent-Type: text/plain; charset=punycode\r\n\r\nab-" + b"k" * 3_000_000
		self.assertTrue(parse_message(raw).text.startswith("ab-kkk"))

	def test_codecs_that_are_not_text_encodings_are_not_used_as_charset(self):
		for charset in ("rot13", "base64", "hex", "zlib", "bz2", "undefined"):
			raw = (
				f"From: a@b.example\r\nSubject: =?{charset}?q?A_question?=\r\n"
				f"Content-Type: text/plain; charset={charset}\r\n\r\nHello, Zoë"
			)
			with self.subTest(charset):
				message = parse_message(raw.encode())
				self.assertEqual((message.subject, message.text), ("A question", "Hello, Zoë"))

	def test_an_address_within_a_name_is_neither_sender_nor_recipient(self):
		for name in (
			"<boss@office.example> x",
			"boss@office.example (x)",
			'boss@office.example "x"',
			"boss@office.example:",
			'"boss@office.example, x"',
			"=?utf-8?q?boss@office.example,?=",
			'"boss@office.example, x',
			'"x < =?utf-8?q?boss@office.example,?=',
		):
			with self.subTest(name):
				value = f"{name} <mallory@evil.example>"
				message = parse_message(f"From: {value}\r\nReply-To: {value}\r\n\r\nHi".encode())
				self.assertEqual(
					(message.sender, message.reply_to), ("mallory@evil.example", ("mallory@evil.example",))
				)
		for place in ("<jörg@evil.example>", "<x>"):
			with self.subTest(place):
				unreadable = f'From: "boss@office.example" {place}\r\nSender: boss@office.example\r\n\r\nHi'
				self.assertEqual(parse_message(unreadable.encode()).sender, "")
		only_names = b'To: "anna@a.example"\r\nCc: =?utf-8?B?QW5uYSA8YW5uYUBhLmV4YW1wbGU+?=\r\n\r\nHi'
		message = parse_message(only_names)
		self.assertEqual((message.to, message.cc), (("anna@a.example",), ("anna@a.example",)))
		several = b'To: "Novak, Anna" <anna@a.example>, bob@b.example; Carl <carl@c.example>\r\n\r\nHi'
		self.assertEqual(
			set(parse_message(several).to), {"anna@a.example", "bob@b.example", "carl@c.example"}
		)

	def test_an_address_in_two_headers_of_one_name_is_one_recipient(self):
		raw = b"Cc: Anna <anna@a.example>\r\nCc: bob@b.example, ANNA@a.example\r\n\r\nHi"
		self.assertEqual(parse_message(raw).cc, ("anna@a.example", "bob@b.example"))

	def test_quotes_that_are_not_closed_take_little_time(self):
		value = '"' + '\\"<' * 30_000
		began = time.process_time()
		self.assertEqual(parse_message(f"From: {value} <anna@a.example>\r\n\r\nHi".encode()).text, "Hi")
		self.assertLess(time.process_time() - began, 2)

	def test_quoted_text_is_part_of_text_but_not_of_new_text(self):
		answers = [sample for sample in all_samples() if sample.name.startswith("answer_")]
		for sample in answers:
			message = parse_message(sample.raw)
			self.assertIn(OLD, message.text, sample.name)
			self.assertNotIn(OLD, message.new_text, sample.name)

	def test_a_mail_that_is_forwarded_as_an_attachment_is_read_but_not_the_one_in_a_delivery_report(self):
		claim, note, report = EmailMessage(), EmailMessage(), EmailMessage()
		claim["From"], claim["Subject"] = "Jürgen <j@shop.example>", "Claim 77"
		claim.set_content("My parcel is broken.")
		claim.add_attachment(b"x", "image", "png", filename="parcel.png")
		note.set_content("Please answer him.")
		for mail, kind in ((note, "mixed"), (report, "report")):
			mail.make_mixed()
			mail.attach(MIMEMessage(claim))
			mail.set_type(f"multipart/{kind}")
		message = parse_message(note.as_bytes())
		head = f"{FORWARDED}\nFrom: Jürgen <j@shop.example>\nSubject: Claim 77"
		self.assertEqual(message.text, f"Please answer him.\n\n\n{head}\n\nMy parcel is broken.")
		self.assertEqual(message.new_text, "Please answer him.")
		self.assertEqual([each.file_name for each in message.attachments], ["attachment.eml"])
		message = parse_message(report.as_bytes())
		self.assertEqual((message.text, len(message.attachments)), ("", 1))

	def test_a_forward_without_a_comment_is_its_own_new_text(self):
		mail = f"Subject: Fwd: Claim\n\n{FORWARDED}\nFrom: Anna <a@shop.example>\nSubject: Claim\n\nBroken."
		self.assertIn("Broken.", parse_message(mail.encode()).new_text)

	def test_an_invitation_says_when_and_where_below_its_text(self):
		zone = "BEGIN:VTIMEZONE\r\nDTSTART:16010101T030000\r\nEND:VTIMEZONE"
		when = "DTSTART;TZID=Europe/Berlin:20261201T100000"
		alarm = "BEGIN:VALARM\r\nDURATION:PT5M\r\nEND:VALARM"
		event = (
			f"BEGIN:VEVENT\r\nUID:1\r\n{when}\r\nLOCATION:Room 5\\, left\r\n  side\r\n{alarm}\r\nEND:VEVENT"
		)
		calendar = f"BEGIN:VCALENDAR\r\n{zone}\r\n{event}\r\nEND:VCALENDAR\r\n"
		mail = EmailMessage()
		mail.set_content("Shall we talk?")
		mail.add_alternative(calendar, subtype="calendar")
		self.assertEqual(
			parse_message(mail.as_bytes()).text, f"Shall we talk?\n\n{when}\nLOCATION:Room 5\\, left side"
		)
		alone = f"Content-Type: text/calendar\r\n\r\n{calendar}"
		self.assertIn("UID:1", parse_message(alone.encode()).text)

	def test_file_names_that_their_sender_has_not_encoded_are_read(self):
		head = 'Content-Type: application/pdf\nContent-Disposition: attachment; filename="Übersicht.pdf"\n\nx'
		for charset in ("utf-8", "cp1252"):
			(attachment,) = parse_message(head.encode(charset)).attachments
			self.assertEqual(attachment.file_name, "Übersicht.pdf", charset)

	def test_a_sender_without_an_address_that_can_be_answered_is_named_as_the_header_names_it(self):
		for value, name, address in (
			("Zoë <zoe@müller.example>", "Zoë", "zoe@xn--mller-kva.example"),
			("Zoë <zoë@b.example>", "Zoë <zoë@b.example>", ""),
			("undisclosed-recipients:;", "undisclosed-recipients:;", ""),
		):
			message = parse_message(f"From: {value}\r\nTo: office@b.example\r\n\r\nHello".encode())
			self.assertEqual((message.sender_name, message.sender), (name, address))
			shown = f"{name} <{address}>" if address else name
			self.assertEqual(describe_people(message), f"From: {shown}")

	def test_replies_go_to_an_address_with_umlauts_in_its_domain(self):
		mail = "From: Shop <shop@huf.example>\nReply-To: Jörg <info@müller.example>\n\nHello"
		for charset in ("utf-8", "cp1252"):
			message = parse_message(mail.encode(charset))
			self.assertEqual(message.reply_to, ("info@xn--mller-kva.example",), charset)

	def test_the_text_of_an_encrypted_mail_says_that_it_cannot_be_read(self):
		smime = b"Content-Type: application/pkcs7-mime; name=smime.p7m\r\n\r\nMIIB"
		pgp = b"Content-Type: multipart/encrypted; boundary=x\r\n\r\n--x\r\n"
		pgp += b"Content-Type: application/pgp-encrypted\r\n\r\nVersion: 1\r\n--x--\r\n"
		for raw in (smime, pgp):
			message = parse_message(raw)
			self.assertEqual((message.text, len(message.attachments)), (SEALED, 1))

	def test_a_file_name_cannot_hide_its_ending(self):
		mail = EmailMessage()
		mail.add_attachment(b"x", "application", "pdf", filename="invoice\u202efdp.exe")
		self.assertEqual(parse_message(mail.as_bytes()).attachments[0].file_name, "invoicefdp.exe")

	def test_a_20_mb_attachment_is_parsed_unchanged(self):
		mail, content = EmailMessage(), os.urandom(20 * 1024 * 1024)
		mail.set_content("Large")
		mail.add_attachment(content, "application", "zip", filename="large.zip")
		(attachment,) = parse_message(mail.as_bytes()).attachments
		self.assertEqual((attachment.file_name, attachment.content == content), ("large.zip", True))

	def test_attachments_with_a_content_id_are_named_unless_they_are_pictures_in_the_text(self):
		"""Gmail sets one on every attachment, and Apple Mail shows PDFs in the text."""
		mail = EmailMessage()
		mail.set_content("See below.")
		for name, kind, disposition in (
			("photo.jpg", "image/jpeg", "attachment"),
			("bill.pdf", "application/pdf", "inline"),
			("logo.png", "image/png", "inline"),
		):
			options = {"filename": name, "disposition": disposition, "cid": f"<{name}>"}
			mail.add_attachment(b"x", *kind.split("/"), **options)
		named = list_attachments(parse_message(mail.as_bytes()))
		self.assertEqual(named.strip(), "Attachments: photo.jpg, bill.pdf")
		(related,) = [sample for sample in all_samples() if sample.name == "related"]
		self.assertEqual(list_attachments(parse_message(related.raw)), "")


class TestCategories(unittest.TestCase):
	def test_a_category_whose_name_contains_another_one_is_recognized(self):
		categories = read_categories("Invoice\nInvoice reminder\nOther")
		for answer, category in (
			("Category: Invoice reminder", "Invoice reminder"),
			("It is an invoice.", "Invoice"),
			("Invoice or other", UNCLASSIFIED),
			("An invoice reminder, or an invoice", UNCLASSIFIED),
		):
			self.assertEqual(read_category(answer, categories), category, answer)


class TestPreprocessors(unittest.TestCase):
	def test_the_default_preprocessor_passes_the_mail_through(self):
		message = parse_message(b"From: anna@x.example\r\nSubject: Hi\r\n\r\nName: no Crisp\r\n")
		prepared = prepare_mail(message, CRISP)
		self.assertEqual(prepared.preprocessor, DEFAULT)
		fields = {"sender_email": "anna@x.example", "subject": "Hi", "body": "Name: no Crisp"}
		self.assertEqual(dict(prepared.fields), fields)

	def test_prompt_about_a_mail_names_the_address_for_replies_if_it_is_another(self):
		others = b"vera@y.example, office@x.example"
		form = b"From: office@x.example\r\nReply-To: " + others + b"\r\nSubject: Hi\r\n\r\nHello"
		prompt = "From: office@x.example\nReply-To: vera@y.example\nSubject: Hi\n\nHello"
		self.assertEqual(prepare_mail(parse_message(form), CRISP).prompt, prompt)
		usual = form.replace(b"vera@y.example, ", b"")
		self.assertNotIn("Reply-To", prepare_mail(parse_message(usual), CRISP).prompt)

	def test_prompt_about_a_mail_to_several_people_names_them_and_the_sender(self):
		head = "From: Zoë Müller <zoe@x.example>\r\nTo: office@y.example\r\n"
		copied = parse_message(f"{head}Cc: bob@x.example\r\nSubject: Hi\r\n\r\nHello".encode())
		people = (
			"From: Zoë Müller <zoe@x.example>\nTo: office@y.example\nCc: bob@x.example\nSubject: Hi\n\nHello"
		)
		self.assertEqual(prepare_mail(copied, CRISP).prompt, people)
		self.assertIn(people, draft_prompt(copied, "Question"))
		alone = parse_message(f"{head}Subject: Hi\r\n\r\nHello".encode())
		self.assertNotIn("To:", prepare_mail(alone, CRISP).prompt)

	def test_prompt_about_a_very_long_mail_has_its_beginning_and_says_so(self):
		message = parse_message(b"From: a@b.example\r\n\r\n" + b"word " * 10_000)
		prepared = prepare_mail(message, CRISP)
		self.assertLess(len(prepared.prompt), 41_000)
		self.assertTrue(prepared.prompt.endswith("[Truncated: the first 40,000 of 49,999 characters.]"))
		self.assertEqual(prepared.body, message.text)
		self.assertIn(
			"[Truncated: the first 12,000 of 49,999 characters.]", draft_prompt(message, "Question")
		)

	def test_text_of_an_invitation_without_words_is_its_calendar_entry(self):
		head = b"From: a@b.example\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n"
		words = b"--x\r\nContent-Type: text/plain\r\n\r\n%s\r\n"
		entry = b"--x\r\nContent-Type: text/calendar; method=REQUEST\r\n\r\n"
		entry += b"SUMMARY:Lunch\r\nLOCATION:Wien\r\n--x--"
		invitation = parse_message(head + words % b" " + entry)
		self.assertEqual(invitation.text, "SUMMARY:Lunch\nLOCATION:Wien")
		self.assertEqual([each.file_name for each in invitation.attachments], ["attachment.ics"])
		self.assertEqual(parse_message(head + words % b"Come!" + entry).text, "Come!")

	def test_pictures_of_an_html_mail_are_left_out_of_its_text(self):
		pictures = (
			"<img src='cid:x' alt='Shop'><img src='cid:y'><img src='https://b.example/open.gif?u=(1) 2'>"
		)
		self.assertEqual(html_to_text(f"<p>Hi{pictures}</p>"), "HiShop")

	def test_tables_that_only_lay_out_the_text_of_a_mail_are_left_out(self):
		goods = "<table><tr><th>Item<th>Price<tr><td>Tea<td>4</table>"
		rows = ("<h1>Thanks</h1><p>One</p><p>Two</p>", goods, "<table><tr><td>Track</table>", "Bye")
		lines = "".join(f"<tr><td>{row}</td></tr>" for row in rows)
		html = f"<TABLE width=1><tbody>{lines}<tr><td style='display:none'>Not this</td></tr></TABLE>"
		table = "| Item | Price |\n| ---- | ----- |\n| Tea  | 4     |"
		self.assertEqual(html_to_text(html), f"# Thanks\n\nOne\n\nTwo\n\n{table}\n\nTrack\n\nBye")
		self.assertEqual(html_to_text("<table><tr><td>Not closed"), "Not closed")

	def test_crisp_mails_in_english_and_czech_become_the_expected_prompt(self):
		for name, prompt in PROMPTS.items():
			with self.subTest(name):
				message = parse_message((FOLDER / f"{name}.eml").read_bytes())
				prepared = prepare_mail(message, CRISP)
				self.assertEqual((prepared.preprocessor, prepared.prompt), ("crisp", prompt))
				is_sent_by_crisp = "@crisp." in message.sender
				self.assertEqual(
					prepared.answer_to, prepared.fields["patient_email"] if is_sent_by_crisp else ""
				)

	def test_a_header_of_crisp_adds_no_reply_address_because_anybody_can_set_it(self):
		raw = b"From: a@x.example\r\nX-Crisp-Id: 1\r\n\r\nName: M\nEmail: evil@x.example\n\nMessage:\nHi"
		prepared = prepare_mail(parse_message(raw), CRISP)
		self.assertEqual((prepared.preprocessor, prepared.answer_to), ("crisp", ""))

	def test_a_mail_that_only_mentions_crisp_adds_no_reply_address(self):
		raw = b"From: a@x.example\r\n\r\nName: M\nEmail: evil@x.example\n\nMessage:\nHi\n\nSent via Crisp"
		prepared = prepare_mail(parse_message(raw), CRISP)
		self.assertEqual((prepared.preprocessor, prepared.answer_to), ("crisp", ""))

	def test_names_and_addresses_are_read_from_different_crisp_labels(self):
		for head, name, address in (
			("New message from: Jane", "Jane", ""),
			("Nová zpráva od: Jana", "Jana", ""),
			("Customer Name: Jane\nCustomer Email: jane@x.example", "Jane", "jane@x.example"),
			("Visitor's email: jane@x.example", "jane@x.example", "jane@x.example"),
			("E-mail zákazníka: jana@x.example", "jana@x.example", "jana@x.example"),
		):
			with self.subTest(head):
				raw = f"From: n@crisp.chat\r\nSubject: S\r\n\r\n{head}\n\nMessage:\nHello".encode()
				fields = prepare_mail(parse_message(raw), CRISP).fields
				read = (fields["patient_name"], fields["patient_email"], fields["original_message"])
				self.assertEqual(read, (name, address, "Hello"))

	def test_the_forwarder_address_is_never_read_as_the_customer_address(self):
		headers = "From: Shop <shop@site.example>\r\nReply-To: info@site.example\r\nTo: office@site.example\r\nX-Crisp: 1"
		for line in ("", "From: Shop <shop@site.example>", "Contact: info@site.example"):
			with self.subTest(line):
				raw = f"{headers}\r\nSubject: S\r\n\r\n{line}\n\nMessage:\nHello".encode()
				prepared = prepare_mail(parse_message(raw), CRISP)
				self.assertEqual((prepared.fields["patient_email"], prepared.answer_to), ("", ""))
				self.assertIn("(unknown):", prepared.prompt)

	def test_braces_in_a_mail_are_no_template(self):
		raw = b"From: n@crisp.chat\r\nSubject: {patient_email}\r\n\r\nName: {0}\nEmail: j@x.example\n\nMessage:\n{x}"
		self.assertIn("Subject: {patient_email}\n\n{x}", prepare_mail(parse_message(raw), CRISP).prompt)

	def test_a_preprocessor_is_selected_by_match_or_by_name(self):
		preprocessor = Preprocessor(
			lambda message: message.subject == "Shop", lambda message: "read by the app"
		)
		known = {**CRISP, "shop": preprocessor}
		shop = parse_message(b"From: a@x.example\r\nSubject: Shop\r\n\r\nHi")
		self.assertEqual(prepare_mail(shop, known), "read by the app")
		self.assertEqual(prepare_mail(shop, known, DEFAULT).preprocessor, DEFAULT)
		self.assertRaises(KeyError, prepare_mail, shop, known, "gone")


PROMPTS = {
	"crisp_en": "New support inquiry from Jane Doe (jane.doe@customer.example):\nSubject: New message from Jane Doe\n\n"
	"Hello, do you have Ibuprofen 400 in Brno?\n\nThank you\nJane",
	"crisp_cs": "New support inquiry from Jana Nováková (jana.novakova@zakaznik.example):\n"
	"Subject: Nová zpráva od Jana Nováková\n\nDobrý den, máte Ibuprofen 400 v Brně?\nDěkuji.",
	"crisp_wrote_en": "New support inquiry from Jane Doe (jane.doe@customer.example):\nSubject: Is it in stock?\n\n"
	"Is Paralen in stock?\nI need two.",
	"crisp_wrote_cs": "New support inquiry from Petr Malý (petr.maly@zakaznik.example):\nSubject: Máte Paralen?\n\n"
	"Máte Paralen? Potřebuji dva.",
	"crisp_html_en": "New support inquiry from John Smith (john@customer.example):\nSubject: [Dostupnost] New chat\n\n"
	"Can you reserve *Aspirin* for me?",
}
