"""Agents keep one draft per thread, and leave edited drafts, automated mail and handed-over threads alone."""

from unittest.mock import patch

import frappe

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.mail_types import MailStatus
from huf.ai.mail import actions, drafts, store, threads
from huf.ai.mail.drafts import Reply
from huf.ai.mail.outbox import send_approved_mail
from huf.ai.mail.tools import create_draft, escalate, send_reply
from huf.api import mail as api
from huf.tests.contract.connections import together
from huf.tests.factories import make_agent, make_user
from huf.tests.mail import MailTestCase, answer_to, make_mailbox, outgoing, queued, row, send_all

ANNA = "anna@customer.example"


class DraftingTestCase(MailTestCase):
	def setUp(self):
		super().setUp()
		self.agent_name = make_agent(may_send_mail=1)
		self.mail = self.take()

	def enter_run(self, mail: str | None = None):
		"""Make later tool calls part of a run on the mail."""
		values = {
			"agent": self.agent_name,
			"reference_doctype": "Agent Mail",
			"reference_name": mail or self.mail,
		}
		run = frappe.get_doc({"doctype": "Agent Run", "status": "Success", **values}).insert().name
		frappe.db.commit()
		frappe.flags.huf_run = run
		self.addCleanup(frappe.flags.pop, "huf_run", None)

	def draft(self, text: str, mail: str | None = None) -> dict:
		self.enter_run(mail)
		result = create_draft(ANNA, "A question", text)
		frappe.db.commit()
		return result

	def reply(self, to: str = ANNA, mail: str | None = None) -> dict:
		self.enter_run(mail)
		result = send_reply(to, "A question", "Yes.")
		frappe.db.commit()
		return result


class TestDrafts(DraftingTestCase):
	def test_a_thread_has_one_draft_with_the_newest_text(self):
		first, later = self.draft("One"), self.take(answer_to(self.mail, to=self.address))
		second = self.draft("Two", later)
		self.assertEqual((first["status"], first["draft"]), ("created", second["draft"]))
		self.assertEqual(row(first["draft"]).text, "Two")
		self.assert_answers(first["draft"], later)

	def test_a_sent_reply_that_replaces_a_draft_answers_the_newer_mail(self):
		name, later = self.draft("One")["draft"], self.take(answer_to(self.mail, to=self.address))
		self.assertEqual(self.reply(mail=later), {"status": "queued", "mail": name})
		self.assert_answers(name, later)

	def assert_answers(self, reply: str, mail: str):
		answered, written = row(mail), row(reply)
		self.assertEqual((written.reply_to_mail, written.in_reply_to), (mail, answered.message_id))
		self.assertEqual(
			written.message_references, f"{answered.message_references} {answered.message_id}".strip()
		)

	def test_the_draft_of_a_thread_is_shown_with_each_of_its_mails(self):
		name, later = self.draft("Hello")["draft"], self.take(answer_to(self.mail, to=self.address))
		shown = [[each.name for each in api.get_mail(mail)["drafts"]] for mail in (self.mail, later)]
		self.assertEqual(shown, [[name], [name]])
		self.assertEqual(api.reply(later)["name"], name)
		self.assert_answers(name, later)
		api.discard_draft(name)
		self.assertEqual(api.get_mail(self.mail)["drafts"], [])

	def test_a_draft_to_an_address_outside_the_thread_says_so(self):
		self.enter_run()
		draft = create_draft(f"{ANNA}, mallory@evil.example", "A question", "Hello")["draft"]
		self.assertEqual(row(draft).reason, "mallory@evil.example takes no part in this thread.")
		self.assertIsNone(row(self.draft("Hello")["draft"]).reason)

	def test_a_person_sends_the_first_mail_to_an_address_that_only_a_stranger_names(self):
		victim, colleague = "boss@bank.example", "bob@customer.example"
		mail = self.take(Cc=f"{victim}, {colleague}")
		self.assertEqual(self.reply(colleague, mail)["status"], "queued")
		draft = self.reply(victim, mail)["draft"]
		self.assertIn(f"{victim} has written nothing in this thread", row(draft).reason)
		api.approve_draft(draft)
		frappe.db.commit()
		self.assertTrue(send_approved_mail(draft))
		self.assertEqual(self.reply(victim, mail)["status"], "queued")

	def test_a_domain_with_other_than_ascii_letters_is_written_as_mail_servers_know_it(self):
		self.enter_run()
		draft = create_draft("Zoë <zoe@müller.example>, bob@Straße.example", "A question", "Hello")["draft"]
		self.assertEqual(row(draft).recipients, "zoe@xn--mller-kva.example, bob@xn--strae-oqa.example")
		with self.assertRaisesRegex(ToolError, "is not an address"):
			create_draft("zoe@mü..ller.example", "A question", "Hello")

	def test_the_reason_of_a_draft_is_read_in_the_language_of_its_reader(self):
		frappe.get_doc("Agent", self.agent_name).update({"may_send_mail": 0}).save()
		draft = self.reply()["draft"]
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"
		(found,) = api.get_mail(draft)["drafts"]
		self.assertEqual(found.reason, "Der Agent darf selbst keine E-Mails senden.")

	def test_a_reply_can_be_written_after_earlier_ones_were_deleted(self):
		discarded, sent = self.draft("One")["draft"], None
		store.change_status(discarded, MailStatus.DRAFT, MailStatus.DISCARDED)
		sent = drafts.write_reply(row(self.mail), Reply((ANNA,), "A question", "Two"), None)
		store.change_status(sent, MailStatus.APPROVED, MailStatus.SENT)
		frappe.delete_doc("Agent Mail", discarded)
		answered = row(self.take(answer_to(self.mail, to=self.address)))
		reply = drafts.write_reply(answered, Reply((ANNA,), "A question", "Three"), None)
		self.assertEqual((row(reply).text, row(sent).text), ("Three", "Two"))
		store.change_status(reply, MailStatus.APPROVED, MailStatus.SENT)
		frappe.delete_doc("Agent Mail", sent)
		status, draft = drafts.write_draft(answered, Reply((ANNA,), "A question", "Four"), None)
		self.assertEqual((status, row(draft).text), ("created", "Four"))

	def test_concurrent_workers_create_one_draft_per_thread(self):
		reply = Reply((ANNA,), "A question", "At once")
		together([(drafts.write_draft, row(self.mail), reply, None) for _ in range(4)])
		frappe.db.rollback()
		self.assertEqual(len(outgoing(self.mail)), 1)

	def test_agents_do_not_overwrite_a_draft_edited_by_a_user(self):
		name, later = self.draft("By the agent")["draft"], self.take(answer_to(self.mail, to=self.address))
		frappe.set_user(self.user)
		seen = api.save_draft(name, "By a person")["modified"]
		frappe.set_user("Administrator")
		self.assertEqual({self.draft("Again", later)["status"], self.reply(mail=later)["status"]}, {"kept"})
		self.assertEqual((row(name).text, row(name).status), ("By a person", "Draft"))
		self.assert_answers(name, later)
		self.assertIn("draft_kept", self.kinds(later))
		frappe.set_user(self.user)
		self.assertEqual(api.save_draft(name, "By a person, again", modified=str(seen))["status"], "Draft")

	def test_a_draft_is_approved_once_and_only_by_users_who_may_read_it(self):
		name = self.draft("Hello")["draft"]
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, api.approve_draft, name)
		frappe.set_user(self.user)
		api.approve_draft(name, text="Hello, Anna")
		frappe.db.commit()
		self.assertRaises(UsageError, api.approve_draft, name)
		self.assertRaises(UsageError, api.discard_draft, name)
		together([(send_approved_mail, name)] * 3)
		frappe.db.rollback()
		(mail,) = queued(name)
		self.assertEqual(mail.get_content().strip(), "Hello, Anna")

	def test_deciding_on_a_draft_that_was_discarded_meanwhile_is_refused(self):
		name = self.draft("Hello")["draft"]
		stale_doc = frappe.get_doc(store.MAIL, name)
		api.discard_draft(name)
		for decide in (
			lambda: actions.approve_reply(stale_doc, "Hello, Anna", None, None),
			lambda: actions.edit_reply(stale_doc, "Hello, Anna", None, None),
			lambda: actions.discard_reply(stale_doc),
		):
			with self.assertRaisesRegex(UsageError, "Its status is Discarded"):
				decide()
		self.assertEqual((row(name).status, row(name).text), ("Discarded", "Hello"))
		self.assertEqual(queued(name), [])

	def test_a_discarded_draft_is_not_sent_and_a_new_one_can_be_created(self):
		name = self.draft("Hello")["draft"]
		api.discard_draft(name)
		self.assertFalse(send_approved_mail(name))
		self.assertNotEqual(self.draft("Another")["draft"], name)

	def test_invalid_recipients_are_refused_in_tools_and_on_approval(self):
		self.enter_run()
		for to in ("", "anna", "a@b.example, nobody", "Anna <anna>"):
			self.assertRaises(ToolError, send_reply, to, "S", "B")
		name = self.draft("Hello")["draft"]
		self.assertRaises(UsageError, api.approve_draft, name, to="anna")

	def test_recipient_entered_with_a_name_belongs_to_the_thread(self):
		name = self.draft("Hello")["draft"]
		api.approve_draft(name, to=f"Bob Green <bob@partner.example>; {ANNA}")
		self.assertEqual(row(name).recipients, f"bob@partner.example, {ANNA}")
		self.assertTrue(send_approved_mail(name))
		answer = self.take(answer_to(name, to=self.address, sender="Bob Green <bob@partner.example>"))
		self.assertEqual(row(answer).thread, row(self.mail).thread)


class TestWhoIsNotAnswered(DraftingTestCase):
	def test_automated_mails_get_neither_reply_nor_draft(self):
		for headers in (
			{"Auto_Submitted": "auto-replied"},
			{"Precedence": "bulk"},
			{"List_Id": "<l.example>"},
			{"Return_Path": "<>"},
			{"X_Autoreply": "yes"},
			{"X_Auto_Response_Suppress": "All"},
			{"sender": "MAILER-DAEMON@mx.example"},
			{"sender": "no-reply@shop.example"},
			{"sender": "no_reply@shop.example"},
			{"sender": "noreply-orders@shop.example"},
		):
			mail = self.take(**headers)
			self.enter_run(mail)
			with self.subTest(headers):
				self.assertRaises(ToolError, send_reply, ANNA, "S", "B")
				self.assertRaises(ToolError, create_draft, ANNA, "S", "B")

	def test_mail_from_the_mailbox_address_is_stored_as_sent(self):
		own = self.take(sender=self.address, to=ANNA)
		self.assertEqual((row(own).status, row(own).direction, row(own).by_person), ("Sent", "Outgoing", 1))

	def test_replies_above_the_daily_limit_of_a_thread_are_held(self):
		mail, sent = self.mail, []
		for _ in range(threads.MAX_REPLIES_PER_DAY + 2):
			self.reply(mail=mail)
			sent += [done for done in send_all(mail) if done]
			mail = self.take(answer_to(mail, to=self.address))
		self.assertEqual(len(sent), threads.MAX_REPLIES_PER_DAY)
		held = [
			each
			for each in frappe.get_all("Agent Mail", {"thread": row(mail).thread}, pluck="status")
			if each == "Held"
		]
		self.assertEqual(len(held), 2)

	def test_replies_above_the_daily_limit_of_an_address_are_not_sent(self):
		for form in ("anna@shop.example", "support+{}@shop.example"):
			sent = []
			with patch.object(threads, "MAX_REPLIES_TO_ADDRESS_PER_DAY", 3), self.subTest(form):
				for number in range(5):
					mail = self.take(sender=form.format(number))
					self.reply(form.format(number), mail)
					sent += send_all(mail)
			self.assertEqual(sent, [True] * 3 + [False] * 2)

	def test_a_reply_from_a_colleague_holds_the_reply_of_the_agent(self):
		self.reply()
		colleague = f"petra@{self.address.partition('@')[2]}"
		answer = self.take(answer_to(self.mail, to=f"{ANNA}, {self.address}", sender=colleague))
		self.assertEqual((row(answer).status, row(answer).by_person), ("Skipped", 1))
		self.assertEqual(send_all(self.mail), [False])
		self.assertIn(f"{colleague} has already answered", outgoing(self.mail)[0].reason)

	def test_an_absence_notice_of_a_colleague_does_not_hold_the_reply(self):
		self.reply()
		domain = self.address.partition("@")[2]
		for sender in (self.address, f"petra@{domain}"):
			notice = self.take(answer_to(self.mail, to=ANNA, sender=sender, Auto_Submitted="auto-replied"))
		self.assertEqual(row(notice).reason, "A machine wrote it for a colleague")
		self.assertEqual(send_all(self.mail), [True])

	def test_an_answer_that_a_colleague_sends_through_a_list_or_helpdesk_holds_the_reply(self):
		for headers in ({"List_Id": "<office.groups.example>"}, {"X_Auto_Response_Suppress": "All"}):
			with self.subTest(headers):
				self.mail = self.take()
				self.reply()
				sender = f"petra@{self.address.partition('@')[2]}"
				self.take(answer_to(self.mail, to=ANNA, sender=sender, **headers))
				self.assertEqual(send_all(self.mail), [False])

	def test_senders_at_a_public_mail_provider_are_not_colleagues(self):
		public = f"{frappe.generate_hash(length=10)}@gmail.com"
		frappe.db.set_value("Agent Mailbox", self.mailbox, "email", public)
		mail = self.take(to=public, Cc="bob@gmail.com")
		self.reply(mail=mail)
		bob = self.take(answer_to(mail, to=f"{ANNA}, {public}", sender="bob@gmail.com"))
		eve = self.take(answer_to(mail, to=public, sender="eve@gmail.com"))
		self.assertEqual((row(bob).status, row(bob).thread), ("Queued", row(mail).thread))
		self.assertNotEqual(row(eve).thread, row(mail).thread)
		self.assertEqual(send_all(mail), [True])

	def test_users_and_mailboxes_of_the_site_are_colleagues_in_any_domain(self):
		user, (_name, other) = make_user("Huf User"), make_mailbox(self.user)
		frappe.db.set_value("Agent Mailbox", self.mailbox, "email", f"{frappe.generate_hash()}@gmail.com")
		for colleague in (user, other):
			answer = self.take(answer_to(self.mail, to=ANNA, sender=colleague))
			self.assertEqual((row(answer).status, row(answer).by_person), ("Skipped", 1))
		frappe.db.set_value("User", user, "enabled", 0)
		self.assertNotEqual(row(self.take(answer_to(self.mail, sender=user))).status, "Skipped")


class TestHandingOver(DraftingTestCase):
	def test_an_escalated_thread_stays_with_a_person_until_it_is_given_back(self):
		self.enter_run()
		self.assertEqual(escalate("A doctor has to see this"), {"status": "escalated"})
		frappe.db.commit()
		later = self.take(answer_to(self.mail, to=self.address))
		self.assertEqual(self.work(later).status, "With Person")
		self.enter_run()
		self.assertRaises(ToolError, send_reply, ANNA, "S", "B")
		api.give_back(self.mail)
		frappe.db.commit()
		self.assertEqual(self.reply()["status"], "queued")
		self.assertEqual(row(self.take(answer_to(self.mail, to=self.address))).status, "Queued")

	def test_an_approved_reply_is_held_if_its_thread_is_handed_over_before_sending(self):
		self.reply()
		api.hand_over(self.mail)
		frappe.db.commit()
		self.assertEqual(send_all(self.mail), [False])
		self.assertIn("handed over", outgoing(self.mail)[0].reason)

	def test_send_reply_is_refused_outside_a_run_on_a_mail(self):
		frappe.flags.huf_run = None
		self.assertRaises(ToolError, send_reply, ANNA, "S", "B")
