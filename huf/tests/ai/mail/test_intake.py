"""Incoming mail is recorded once, in its thread, and leads to a draft or a reply."""

import json
import os
from email.message import EmailMessage

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.mail_types import MailStatus
from huf.ai.mail import drafts, store
from huf.ai.mail.drafts import Reply
from huf.ai.mail.intake import ingest_raw
from huf.ai.mail.jobs import message_from_row, process_mail, recover_mails
from huf.ai.mail.message import parse_message
from huf.ai.mail.retention import blank_old_mails
from huf.ai.queries.tool_log import read_tool_log
from huf.ai.storage.outgoing_mail import insert_new_mail
from huf.api import mail as api
from huf.api.mail import approve_draft, reply
from huf.tests.factories import make_agent, make_model, make_user
from huf.tests.mail import MailTestCase, answer_to, events, make_mail, outgoing, queued, row, send_all
from huf.tests.model_server import ModelServer, text, tool_call


class TestTakingIn(MailTestCase):
	def test_an_attachment_with_a_long_non_latin_name_is_stored(self):
		mail = EmailMessage()
		mail["From"], mail["To"], mail["Subject"] = "anna@customer.example", self.address, "A report"
		mail["Message-ID"] = f"<{frappe.generate_hash(length=20)}@customer.example>"
		mail.set_content("Here it is.")
		# Frappe stores files with the same content once, under the name of the first one.
		content = frappe.generate_hash().encode()
		mail.add_attachment(content, "application", "csv", filename=f"{'報' * 100}.csv")
		(attachment,) = json.loads(row(self.take(mail.as_bytes())).attachments)
		# Frappe adds a part of the hash where another file has the name.
		self.assertRegex(attachment["file_url"], r"報[0-9a-f]*\.csv$")

	def test_a_broken_attachment_does_not_stop_its_mail(self):
		mail = EmailMessage()
		mail["From"], mail["To"], mail["Subject"] = "anna@customer.example", self.address, "A report"
		mail.set_content("Here it is.")
		mail.add_attachment(b"%PDF-1.4 broken", "application", "pdf", filename="report.pdf")
		(attachment,) = json.loads(row(self.take(mail.as_bytes())).attachments)
		# Frappe 16 opens PDFs when they are stored and fails on this one; Frappe 15 stores it.
		self.assertTrue(attachment.get("file_url") or attachment["error"])

	def test_a_mail_received_twice_is_one_record_and_one_run(self):
		self.agent()
		raw = make_mail(to=self.address, message_id="twice")
		name, is_new = ingest_raw(self.mailbox, raw)
		name_again, is_new_again = ingest_raw(self.mailbox, b"Received: from elsewhere\r\n" + raw)
		frappe.db.commit()
		self.assertEqual((name, is_new, is_new_again), (name_again, True, False))
		self.work(name)
		process_mail(name)
		self.assertEqual(frappe.db.count("Agent Run", {"reference_name": name}), 1)

	def test_mails_with_the_same_message_id_and_different_dates_are_stored(self):
		first = make_mail(to=self.address, message_id="form")
		second = first.replace(b"Fri, 20 Nov 2026 10:00:00", b"Fri, 20 Nov 2026 11:00:00")
		names = {self.take(raw) for raw in (first, second, first, second)}
		self.assertEqual(len(names), 2)
		self.assertEqual(len({row(name).thread for name in names}), 2, "nobody gets into another's thread")
		empty = {
			self.take(f"From: a@b.example\nMessage-ID: <>\n\n{text}".encode()) for text in ("One", "Two")
		}
		self.assertEqual(len(empty), 2)

	def test_copy_of_a_mail_from_a_list_is_not_stored_again(self):
		first = make_mail(to=self.address, message_id="listed")
		copy = first.replace(b"A question", b"[list] A question").replace(b"anna@", b"list@")
		self.assertEqual(self.take(first), self.take(copy))

	def test_mails_without_a_message_id_are_deduplicated_by_content(self):
		raw = b"From: a@b.example\r\nSubject: no id\r\n\r\nHello " + frappe.generate_hash(length=8).encode()
		names = {ingest_raw(self.mailbox, each)[0] for each in (raw, raw, raw + b"!")}
		self.assertEqual(len(names), 2)

	def test_attachments_are_stored_as_private_files_with_their_names(self):
		from email.message import EmailMessage

		mail = EmailMessage()
		mail["From"], mail["To"], mail["Message-ID"] = (
			"a@b.example",
			self.address,
			f"<{frappe.generate_hash()}@b>",
		)
		mail.set_content("See the file")
		mail.add_attachment(bytes(range(256)), "application", "dat", filename="Účet č. 1.dat")
		name = self.take(mail.as_bytes())
		(attachment,) = json.loads(row(name).attachments)
		file = frappe.get_doc("File", {"file_url": attachment["file_url"]})
		self.assertEqual((file.is_private, file.get_content()), (1, bytes(range(256))))
		self.assertEqual(attachment["file_name"], "Účet č. 1.dat")

	def test_mails_and_events_are_visible_only_to_the_mailbox_user_and_managers(self):
		name = self.take()
		for user, may_read in (
			(self.user, True),
			(make_user("Huf User"), False),
			(make_user("Huf Manager"), True),
		):
			frappe.set_user(user)
			self.assertEqual(
				frappe.has_permission("Agent Mail", "read", doc=frappe.get_doc("Agent Mail", name)), may_read
			)
			events = frappe.get_list("Agent Mail Event", filters={"mail": name}, pluck="name")
			self.assertEqual(bool(events), may_read)

	def test_a_forged_in_reply_to_from_another_sender_does_not_join_the_thread(self):
		first = self.take(sender="anna@customer.example")
		forged = self.take(answer_to(first, to=self.address, sender="mallory@evil.example"))
		own = self.take(answer_to(first, to=self.address))
		self.assertNotEqual(row(forged).thread, row(first).thread)
		self.assertEqual(row(own).thread, row(first).thread)


class TestAgentRoute(MailTestCase):
	def test_mails_of_a_thread_share_one_conversation(self):
		with ModelServer() as server:
			self.agent(server)
			server.script(text("Noted."), text("Noted again."))
			first = self.take(text="Do you have ibuprofen?")
			self.work(first)
			second = self.take(answer_to(first, to=self.address, text="And paracetamol?"))
			done = self.work(second)
			self.assertIn("Do you have ibuprofen?", server.requests[0]["messages"][-1]["content"])
			self.assertIn("Do you have ibuprofen?", json.dumps(server.requests[1]["messages"][:-1]))
		runs = frappe.get_all(
			"Agent Run", {"reference_name": ["in", [first, second]]}, ["conversation", "run_as"]
		)
		self.assertEqual(len({run.conversation for run in runs}), 1)
		self.assertEqual({run.run_as for run in runs}, {self.user})
		self.assertEqual(done.status, "Done")
		self.assertEqual(self.kinds(first), ["received", "routed", "run_started", "completed"])

	def test_a_reply_waits_as_a_draft_until_a_person_allows_it(self):
		name = self.reply("anna@customer.example")
		(draft,) = outgoing(name)
		self.assertEqual((draft.status, send_all(name)), ("Draft", [False]))
		frappe.set_user(self.user)
		approve_draft(draft.name)
		frappe.db.commit()
		self.assertEqual(send_all(name), [True])
		(mail,) = queued(draft.name)
		self.assertEqual((mail["To"], mail["Subject"]), ("anna@customer.example", "Re: A question"))
		self.assertEqual(mail["In-Reply-To"], f"<{row(name).message_id}>")
		self.assertIn(f"<{row(name).message_id}>", mail["References"])
		self.assertIsNone(mail["Auto-Submitted"], "a person approved it")
		self.assertEqual(send_all(name), [False], "once")

	def test_a_reply_sent_without_approval_is_marked_as_automatic(self):
		name = self.reply("anna@customer.example", may_send_mail=1)
		self.assertEqual(send_all(name), [True])
		(mail,) = queued(outgoing(name)[0].name)
		self.assertEqual(
			(mail["Auto-Submitted"], mail.get_content().strip()), ("auto-replied", "Yes, we do.")
		)

	def test_a_reply_that_claims_actions_the_run_did_not_do_stays_a_draft(self):
		name = self.reply("anna@customer.example", "Yes, I have created an order for you.", may_send_mail=1)
		(draft,) = outgoing(name)
		self.assertEqual(draft.status, "Draft")
		self.assertIn("I have created an order", draft.reason)

	def test_a_reply_to_an_address_outside_the_thread_stays_a_draft(self):
		name = self.reply("mallory@evil.example", may_send_mail=1)
		(draft,) = outgoing(name)
		self.assertEqual(draft.status, "Draft")
		self.assertIn("takes no part", draft.reason)

	def test_the_tool_call_log_has_tool_arguments_result_and_iteration(self):
		name = self.reply("anna@customer.example")
		run = row(name).run
		(entry,) = json.loads(frappe.db.get_value("Agent Run", run, "tool_calls_log"))
		self.assertEqual(list(entry), ["tool", "arguments", "result", "iteration"])
		self.assertEqual(
			(entry["tool"], entry["iteration"], entry["result"]["status"]), ("send_reply", 1, "created")
		)
		self.assertEqual(entry["arguments"]["to"], "anna@customer.example")
		self.assertEqual(read_tool_log(run), [entry])

	def test_errors_in_the_tool_call_log_are_not_json_in_a_string(self):
		(entry,) = read_tool_log(row(self.reply("nobody")).run)
		self.assertTrue(entry["result"]["error"].startswith("'nobody' is not an address"), entry)

	def test_a_mail_whose_job_was_lost_is_queued_again(self):
		self.agent()
		name = self.take()
		frappe.db.sql("update `tabAgent Mail` set modified = '2020-01-01' where name = %s", (name,))
		frappe.db.commit()
		self.assertNotIn(name, recover_mails(), "its job is still queued")
		frappe.db.sql(
			"update `tabAgent Mail` set modified = '2020-01-01', attempts = 2 where name = %s", (name,)
		)
		frappe.db.commit()
		self.assertIn(name, recover_mails())
		self.assertEqual(self.work(name).status, "Done")

	def test_a_mail_that_cannot_be_resumed_does_not_block_recovery_of_others(self):
		self.agent()
		unresumable, waiting = self.take(), self.take()
		values = {"agent": make_agent(), "reference_doctype": "Agent Mail", "reference_name": unresumable}
		run = frappe.get_doc({"doctype": "Agent Run", "status": "Success", **values}).insert().name
		frappe.db.set_value("Agent Mail", unresumable, {"status": "Started", "job": "no job", "run": run})
		frappe.db.sql(
			"update `tabAgent Mail` set modified = '2020-01-01', attempts = 2 where name = %s", (waiting,)
		)
		frappe.db.commit()
		self.assertIn(waiting, recover_mails())
		self.assertEqual(row(unresumable).status, "Started")
		for _ in range(store.MAX_ATTEMPTS):
			recover_mails()
		self.assertEqual(row(unresumable).status, "Failed")
		self.assertIn("Error Log", row(unresumable).reason)

	def test_a_mail_is_read_from_its_record_if_its_raw_file_is_missing(self):
		name = self.take(text="Do you have aspirin?")
		file = frappe.db.get_value("File", {"file_url": row(name).raw_file})
		os.remove(frappe.get_doc("File", file).get_full_path())
		self.assertIn("aspirin", message_from_row(row(name)).text)

	def reply(self, to: str, body: str = "Yes, we do.", **agent) -> str:
		"""Process a mail whose agent calls send_reply; returns the mail's name."""
		with ModelServer() as server:
			self.agent(server, **agent)
			server.script(
				tool_call("send_reply", {"to": to, "subject": "A question", "body": body}),
				text("Done."),
			)
			name = self.take()
			self.assertEqual(self.work(name).status, "Done")
		return name


class TestPipeline(MailTestCase):
	def test_without_a_model_a_mail_stays_unclassified(self):
		done = self.work(self.take())
		self.assertEqual((done.status, done.category, done.run), ("Failed", "unclassified", None))
		self.assertIn("There is no model", done.reason)

	def test_a_mail_is_put_into_a_category_and_a_reply_is_drafted(self):
		with ModelServer() as server:
			server.script(text("question"), text("Yes, we have it."))
			done = self.process_with(server)
		(draft,) = outgoing(done.name)
		self.assertEqual((done.category, draft.status, draft.text), ("question", "Draft", "Yes, we have it."))
		self.assertEqual((draft.recipients, draft.subject), ("anna@customer.example", "Re: A question"))
		runs = frappe.get_all(
			"Agent Run", {"reference_name": done.name}, pluck="name", order_by="creation asc"
		)
		calls = [frappe.db.get_value("Agent LLM Call", {"run": run}, "call_type") for run in runs]
		self.assertEqual(calls, ["classify", "draft"])

	def test_newsletters_and_automated_mails_get_no_draft(self):
		with ModelServer() as server:
			server.script(text("news"), text("question"))
			news = self.process_with(server)
			automated = self.process_with(server, Auto_Submitted="auto-generated")
		self.assertEqual((news.category, outgoing(news.name)), ("news", []))
		self.assertEqual((automated.category, outgoing(automated.name)), ("question", []))

	def test_the_draft_is_addressed_to_reply_to_and_notes_an_unknown_recipient(self):
		with ModelServer() as server:
			server.script(text("question"), text("Yes, we have it."))
			names = f"{self.address}, visitor@customer.example"
			done = self.process_with(server, sender="form@website.example", Reply_To=names)
		(draft,) = outgoing(done.name)
		self.assertEqual((draft.recipients, draft.status), ("visitor@customer.example", "Draft"))
		self.assertIn("visitor@customer.example takes no part in this thread", draft.reason)

	def test_a_web_form_mail_from_the_mailbox_address_is_processed(self):
		with ModelServer() as server:
			server.script(text("question"), text("Yes, we have it."))
			done = self.process_with(server, sender=self.address, Reply_To="Vera <visitor@customer.example>")
		self.assertEqual((done.direction, done.by_person), ("Incoming", 0))
		(draft,) = outgoing(done.name)
		self.assertEqual(draft.recipients, "visitor@customer.example")
		frappe.set_user(self.user)
		self.assertEqual(approve_draft(draft.name)["status"], "Approved")
		frappe.set_user("Administrator")
		frappe.db.commit()
		self.assertEqual(send_all(done.name), [True])
		petra = f"petra@{self.address.partition('@')[2]}"
		answer = self.take(answer_to(done.name, sender=petra, to="visitor@customer.example"))
		self.assertEqual((row(answer).status, row(answer).by_person), ("Skipped", 1))

	def test_a_manual_reply_is_addressed_to_reply_to(self):
		name = self.take(sender="form@website.example", Reply_To="visitor@customer.example")
		self.assertEqual(row(reply(name)["name"]).recipients, "visitor@customer.example")

	def test_mail_from_the_mailbox_with_a_colleague_in_reply_to_is_stored_as_sent(self):
		petra = f"petra@{self.address.partition('@')[2]}"
		self.assertEqual(row(self.take(sender=self.address, Reply_To=petra)).status, "Sent")

	def test_a_web_form_mail_cannot_add_its_visitor_to_an_existing_thread(self):
		first = self.take()
		forged = self.take(answer_to(first, sender=self.address, Reply_To="mallory@evil.example"))
		self.assertNotEqual(row(forged).thread, row(first).thread)

	def process_with(self, server: ModelServer, **mail):
		from huf.tests.factories import make_agent

		agent = make_agent(make_model(server), persist_conversation=0)
		frappe.db.set_single_value("Huf Settings", "mail_agent", agent)
		frappe.db.commit()
		self.addCleanup(self.remove_mail_agent)
		return self.work(self.take(**mail))

	def remove_mail_agent(self):
		frappe.db.rollback()
		frappe.db.set_single_value("Huf Settings", "mail_agent", None)
		frappe.db.commit()


class TestRetention(MailTestCase):
	def test_old_mails_lose_contents_and_files_but_are_still_recognized(self):
		self.agent()
		old, waiting = self.work(self.take()), self.take()
		raw = make_mail(to=self.address, message_id=old.message_id.partition("@")[0])
		self.keep_30_days(creation="2020-01-01")
		blank_old_mails()
		self.assertEqual(
			(row(old.name).text, row(old.name).subject, row(old.name).status), (None, None, "Done")
		)
		self.assertFalse(frappe.db.exists("File", {"attached_to_name": old.name}))
		self.assertTrue(row(waiting).text)
		self.assertEqual(ingest_raw(self.mailbox, raw), (old.name, False))

	def test_mails_of_a_returned_thread_lose_their_contents(self):
		mail = self.take()
		api.hand_over(mail)
		later = self.work(self.take(answer_to(mail, to=self.address)))
		self.assertEqual(later.status, "With Person")
		self.keep_30_days(creation="2020-01-01")
		blank_old_mails()
		self.assertTrue(row(later.name).text)
		api.give_back(mail)
		frappe.db.commit()
		blank_old_mails()
		self.assertEqual((row(later.name).status, row(later.name).text), ("Done", None))

	def test_a_held_reply_is_discarded_after_the_retention_period(self):
		held, recently_changed = self.write_reply(MailStatus.HELD), self.write_reply(MailStatus.FAILED)
		self.keep_30_days(creation="2020-01-01", modified="2020-01-01")
		frappe.db.set_value("Agent Mail", recently_changed, "reason", "Tried again today")
		frappe.db.commit()
		blank_old_mails()
		self.assertEqual((row(recently_changed).status, row(recently_changed).text), ("Failed", "Yes."))
		self.assertEqual((row(held).status, row(held).text, row(held).subject), ("Discarded", None, None))
		self.assertIn("its text was deleted", row(held).reason)
		(event,) = events(held)
		self.assertEqual((event.kind, event.summary), ("draft_discarded", row(held).reason))
		self.assertRaises(UsageError, approve_draft, held)

	def test_a_reply_without_text_cannot_be_approved(self):
		reply = self.write_reply(MailStatus.HELD, text=None)
		with self.assertRaisesRegex(UsageError, "has no text"):
			approve_draft(reply)
		self.assertEqual(row(reply).status, "Held")
		self.assertEqual(approve_draft(reply, text="Yes.")["status"], "Approved")

	def test_new_mail_sent_by_an_agent_loses_its_contents_after_retention(self):
		sent = insert_new_mail(self.address, ["anna@customer.example"], "Hello", "A new mail", None)
		frappe.db.set_value("Agent Mail", sent, "status", "Sent")
		self.keep_30_days(creation="2020-01-01")
		blank_old_mails()
		self.assertEqual((row(sent).text, row(sent).subject, row(sent).status), (None, None, "Sent"))

	def test_reply_to_a_new_mail_joins_its_thread_and_its_copy_is_not_stored(self):
		sent = insert_new_mail(self.address, ["anna@customer.example"], "Hello", "A new mail", None)
		frappe.db.set_value("Agent Mail", sent, "status", "Sent")
		answer = self.take(answer_to(sent, sender="anna@customer.example", to=self.address))
		self.assertEqual(row(answer).thread, row(sent).thread)
		copy = make_mail(sender=self.address, to="anna@customer.example")
		message_id = parse_message(copy).message_id
		copy = copy.replace(message_id.encode(), row(sent).message_id.encode())
		self.assertEqual(ingest_raw(self.mailbox, copy), (sent, False))

	def write_reply(self, status: MailStatus, **values) -> str:
		name = drafts.write_draft(row(self.take()), Reply(("anna@customer.example",), "S", "Yes."), None)[1]
		store.change_status(name, MailStatus.DRAFT, status, **values)
		return name

	def keep_30_days(self, **times: str):
		frappe.db.set_value("Agent Mail", {"mailbox": self.mailbox}, times, update_modified=False)
		frappe.db.set_single_value("Huf Settings", "keep_contents_days", 30)
		frappe.db.commit()
		self.addCleanup(self.keep_everything)

	def keep_everything(self):
		frappe.db.rollback()
		frappe.db.set_single_value("Huf Settings", "keep_contents_days", 0)
		frappe.db.commit()
