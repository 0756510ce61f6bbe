"""What users do with a mail: answer, assign, categorize, and process it again."""

from email.message import EmailMessage
from unittest.mock import patch

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.mail import actions, store
from huf.ai.mail.jobs import message_from_row, open_mail_run, prepare_agent_job, recover_mails
from huf.ai.mail.outbox import send_approved_mail
from huf.ai.mail.triage import classify_prompt
from huf.ai.runs.replay import replay
from huf.api import draft as drafts_api
from huf.api import mail as api
from huf.tests.ai.mail.test_drafts import ANNA, DraftingTestCase
from huf.tests.contract.connections import together
from huf.tests.factories import make_model, make_user
from huf.tests.mail import MailTestCase, answer_to, outgoing, row
from huf.tests.model_server import ModelServer, text

CATEGORIES = "question: Questions\n- newsletter: Advertising"


class TestReplies(DraftingTestCase):
	def as_user(self, user: str):
		frappe.set_user(user)
		self.addCleanup(frappe.set_user, "Administrator")

	def test_a_drafted_reply_is_listed_under_approvals_and_on_its_mail(self):
		stranger = make_user("Huf User")
		self.as_user(self.user)
		before = drafts_api.count_drafts()
		frappe.set_user("Administrator")
		name = self.draft("Hello")["draft"]
		self.as_user(self.user)
		self.assertEqual(drafts_api.count_drafts(), before + 1)
		self.assertIn(name, [each.name for each in api.get_waiting_replies()])
		(listed,) = [each for each in api.get_mails(mailbox=self.mailbox) if each.name == self.mail]
		self.assertEqual(listed.reply_waiting, name)
		self.as_user(stranger)
		self.assertEqual((drafts_api.count_drafts(), api.get_waiting_replies()), (0, []))
		self.as_user(self.user)
		api.approve_draft(name)
		self.assertEqual(drafts_api.count_drafts(), before)

	def test_a_reply_that_somebody_else_has_changed_is_neither_overwritten_nor_sent(self):
		name = self.draft("Hello")["draft"]
		self.as_user(self.user)
		read = str(row(name).modified)
		saved = api.save_draft(name, "Hello, Anna", modified=read)
		frappe.db.commit()
		for decide in (api.save_draft, api.approve_draft):
			with self.assertRaisesRegex(UsageError, "has changed since you opened it"):
				decide(name, "Hello, Bob", modified=read)
			frappe.db.rollback()
		self.assertEqual((row(name).text, row(name).status), ("Hello, Anna", "Draft"))
		again = api.save_draft(name, "Hello, Anna and Bob", modified=str(saved["modified"]))
		(listed,) = api.get_mail(name)["drafts"]
		self.assertEqual((listed.text, listed.modified), ("Hello, Anna and Bob", again["modified"]))
		self.assertEqual(api.approve_draft(name, modified=str(listed.modified))["status"], "Approved")

	def test_of_two_edits_of_a_reply_at_once_one_is_saved(self):
		name = self.draft("Hello")["draft"]
		doc = frappe.get_doc(store.MAIL, name)
		read, refused = str(doc.modified), []

		def edit(text):
			try:
				actions.edit_reply(doc, text, None, None, read)
			except UsageError:
				refused.append(text)

		together([(edit, text) for text in ("One", "Two", "Three")])
		frappe.db.rollback()
		self.assertEqual({*refused, row(name).text}, {"One", "Two", "Three"})

	def test_a_reply_started_by_a_user_is_kept_by_the_agent(self):
		stranger = make_user("Huf User")
		self.as_user(self.user)
		name = api.reply(self.mail)["name"]
		self.assertEqual(api.reply(self.mail)["name"], name, "a thread has one draft")
		self.assertEqual((row(name).recipients, row(name).subject), (ANNA, "Re: A question"))
		frappe.set_user("Administrator")
		self.assertEqual(self.draft("By the agent")["status"], "kept")
		self.as_user(stranger)
		self.assertRaises(frappe.PermissionError, api.reply, self.mail)

	def test_starting_a_reply_keeps_a_draft_written_concurrently_by_an_agent(self):
		original, drafted = store.read_open_draft, []

		def read_then_draft(thread: str):
			draft = original(thread)
			if not drafted:
				drafted.append(True)
				self.draft("By the agent")
			return draft

		with patch.object(store, "read_open_draft", read_then_draft):
			name = api.reply(self.mail)["name"]
		self.assertEqual((row(name).text, row(name).edited_by), ("By the agent", None))

	def test_the_assignee_of_a_thread_can_read_and_answer_until_it_is_given_back(self):
		stranger, name, colleague = make_user(), self.draft("Hello")["draft"], make_user("Huf User")
		self.as_user(colleague)
		self.assertRaises(frappe.PermissionError, api.get_mail, self.mail)
		self.as_user(self.user)
		self.assertRaises(UsageError, api.assign, self.mail, stranger)
		api.assign(self.mail, colleague, "You know her")
		self.as_user(colleague)
		self.assertIn("You know her", api.get_mail(self.mail)["events"][-1]["summary"])
		self.assertEqual([each.name for each in api.get_waiting_replies()], [name])
		self.assertEqual(api.save_draft(name, "Hello, Anna")["status"], "Draft")
		frappe.set_user("Administrator")
		later = self.take(answer_to(self.mail, to=self.address))
		self.assertEqual((row(later).status, row(later).assigned_to), ("With Person", colleague))
		api.give_back(self.mail)
		self.as_user(colleague)
		self.assertRaises(frappe.PermissionError, api.get_mail, self.mail)

	def test_the_assignee_of_a_mail_opens_its_attachments_until_it_is_given_back(self):
		letter = EmailMessage()
		letter["From"], letter["To"] = ANNA, self.address
		letter.add_attachment(b"a map", maintype="text", subtype="plain", filename="map.txt")
		mail, colleague = self.take(letter.as_bytes()), make_user("Huf User")
		files = {"attached_to_doctype": "Agent Mail", "attached_to_name": mail, "file_name": ["like", "map%"]}
		file = frappe.db.get_value("File", files)
		may_read, assigned = [], []
		for change in (lambda: None, lambda: api.assign(mail, colleague), lambda: api.give_back(mail)):
			change()
			frappe.db.commit()
			may_read.append(bool(frappe.has_permission("File", "read", file, user=colleague)))
			assigned.append(frappe.get_cached_doc("Agent Mail", mail).assigned_to)
		self.assertEqual(may_read, [False, True, False])
		self.assertEqual(assigned, [None, colleague, None], "documents in the cache")

	def test_the_assignee_of_a_mail_cannot_read_the_response_of_its_run(self):
		colleague = make_user("Huf User")
		values = {"agent": self.agent_name, "status": "Success", "response": "A secret"}
		run = frappe.get_doc({"doctype": "Agent Run", **values}).insert().name
		frappe.db.set_value("Agent Mail", self.mail, "run", run)
		api.assign(self.mail, colleague)
		frappe.db.commit()
		self.assertEqual(api.get_mail(self.mail)["run"].response, "A secret")
		self.as_user(colleague)
		run_fields = api.get_mail(self.mail)["run"]
		self.assertEqual(run_fields, {"name": run, "agent": self.agent_name, "status": "Success"})

	def test_read_access_to_a_mail_does_not_allow_handing_over_its_thread(self):
		colleague = make_user("Huf User")
		frappe.share.add("Agent Mail", self.mail, colleague, read=1)
		frappe.db.commit()
		self.as_user(colleague)
		self.assertEqual(api.get_mail(self.mail)["mail"]["name"], self.mail)
		self.assertRaises(frappe.PermissionError, api.hand_over, self.mail)
		self.assertRaises(frappe.PermissionError, api.give_back, self.mail)


class TestProcessingAgain(MailTestCase):
	def setUp(self):
		super().setUp()
		self.server = ModelServer().__enter__()
		self.addCleanup(self.server.__exit__, None, None, None)
		before = frappe.db.get_singles_dict("Huf Settings")
		self.set_up(before.get("mail_categories"), before.get("default_model"), self.addCleanup)
		self.set_up(CATEGORIES, make_model(self.server))

	def set_up(self, categories: str | None, model: str | None, call=lambda function, *args: function(*args)):
		call(frappe.db.commit)
		call(frappe.db.set_single_value, "Huf Settings", "default_model", model)
		call(frappe.db.set_single_value, "Huf Settings", "mail_categories", categories)
		call(frappe.db.commit)

	def test_a_mail_that_failed_classification_can_be_processed_again(self):
		self.server.script(text("I cannot say"), text("question"), text("Yes, we do."))
		mail = self.take()
		done = self.work(mail)
		self.assertEqual((done.status, done.category), ("Failed", "unclassified"))
		self.assertIn("named none of the categories", done.reason)
		self.assertEqual(api.run_again(mail)["status"], "Queued")
		self.assertRaises(UsageError, api.run_again, mail)
		frappe.db.commit()
		done = self.work(mail)
		self.assertEqual((done.status, done.category, done.reason), ("Done", "question", None))
		self.assertEqual([each.text for each in outgoing(mail)], ["Yes, we do."])

	def test_setting_the_category_manually_drafts_a_reply(self):
		self.server.script(text("I cannot say"), text("Yes, we do."))
		mail = self.take()
		self.work(mail)
		self.assertRaises(UsageError, api.reclassify, mail, "gone")
		api.reclassify(mail, "question")
		frappe.db.commit()
		done = self.work(mail)
		self.assertEqual((done.status, done.category), ("Done", "question"))
		self.assertEqual([each.text for each in outgoing(mail)], ["Yes, we do."])
		self.assertTrue(replay(done.run).identical, "a run of a mail is replayed like any other")
		self.assertEqual(api.reclassify(mail, "newsletter")["category"], "newsletter")
		self.assertEqual(row(mail).status, "Done")

	def test_a_mail_that_no_model_could_sort_waits_for_a_person_until_it_is_answered(self):
		self.set_up(CATEGORIES, None)
		first = self.take()
		later = self.take(answer_to(first, to=self.address))
		newest = self.take(answer_to(later, to=self.address))
		for mail in (first, later, newest):
			self.assertEqual(self.work(mail).status, "Failed")
		colleague = make_user("Huf User")
		self.as_user(self.user)
		self.assertEqual(self.list_waiting(), [newest, later, first])
		self.assertEqual(drafts_api.count_drafts(), len(api.get_waiting_replies()))
		draft = api.reply(later)["name"]
		self.assertEqual(self.list_waiting(), [draft, newest, first])
		api.approve_draft(draft, text="Yes, we do.")
		frappe.db.commit()
		self.assertTrue(send_approved_mail(draft))
		self.assertEqual([row(each).status for each in (first, later, newest)], ["Done", "Done", "Failed"])
		self.assertEqual(self.list_waiting(), [newest])
		self.as_user(colleague)
		self.assertEqual(self.list_waiting(), [])

	def test_a_thread_with_a_person_waits_for_its_assignee_until_it_is_answered_elsewhere(self):
		self.set_up(CATEGORIES, None)
		colleague, first = make_user("Huf User"), self.take()
		self.work(first)
		api.assign(first, colleague)
		self.assertEqual((row(first).status, row(first).reason), ("With Person", None))
		later = self.take(answer_to(first, to=self.address))
		self.as_user(self.user)
		self.assertEqual(self.list_waiting(), [])
		self.as_user(colleague)
		self.assertEqual(self.list_waiting(), [later, first])
		sender = f"Bob <bob@{self.address.partition('@')[2]}>"
		self.take(answer_to(later, sender=sender, to="anna@customer.example"))
		self.assertEqual((self.list_waiting(), row(later).status, row(later).reason), ([], "Done", None))

	def test_a_mail_that_agents_are_done_with_waits_for_the_colleague_to_whom_it_is_assigned(self):
		self.server.script(text("newsletter"))
		mail, colleague = self.take(), make_user("Huf User")
		self.assertEqual(self.work(mail).status, "Done")
		api.assign(mail, colleague)
		self.as_user(colleague)
		self.assertEqual(self.list_waiting(), [mail])

	def test_a_mail_that_needs_no_answer_is_done_when_its_thread_is_returned(self):
		self.set_up(CATEGORIES, None)
		mail = self.take()
		self.work(mail)
		api.hand_over(mail)
		self.assertEqual(row(mail).status, "Failed")
		api.give_back(mail)
		self.assertEqual(row(mail).status, "Done")

	def list_waiting(self) -> list[str]:
		waiting = [each.name for each in api.get_waiting_replies()]
		return [each for each in waiting if row(each).mailbox == self.mailbox]

	def as_user(self, user: str):
		frappe.set_user(user)
		self.addCleanup(frappe.set_user, "Administrator")

	def test_a_handed_over_thread_cannot_be_processed_again(self):
		self.server.script(text("newsletter"))
		mail = self.take()
		self.work(mail)
		api.hand_over(mail)
		self.assertRaises(UsageError, api.run_again, mail)


class TestProcessing(MailTestCase):
	def test_a_mail_whose_run_was_deleted_fails_and_can_be_processed_again(self):
		self.agent()
		mail = self.take()
		run = open_mail_run(row(mail))
		frappe.delete_doc("Agent Run", run)
		frappe.db.commit()
		recover_mails()
		self.assertEqual(row(mail).status, "Failed")
		self.assertIn("deleted", row(mail).reason)
		self.assertEqual(api.run_again(mail)["status"], "Queued")
		self.assertEqual(self.work(mail).status, "Done")

	def test_a_mail_lists_the_people_to_whom_a_reply_to_its_sender_does_not_go(self):
		mail = self.take(to=f"Office <{self.address.upper()}>, bob@b.example", Cc="Eve <Eve@b.example>")
		self.assertEqual(api.get_mail(mail)["others"], ["bob@b.example", "eve@b.example"])
		self.assertEqual(api.get_mail(api.reply(mail)["name"])["others"], [])

	def test_a_mail_without_a_sender_is_processed_again(self):
		self.agent(rule={"header_match": '{"X-Form": "contact"}'})
		body = frappe.generate_hash(length=8)
		mail = self.take(f"Subject: From a form\nX-Form: contact\n\n{body}".encode())
		self.assertEqual(self.work(mail).status, "Done")
		self.assertIn(body, message_from_row(row(mail)).text)
		self.assertEqual(message_from_row(row(mail)).header("X-Form"), "contact")
		self.assertEqual(api.run_again(mail)["status"], "Queued")

	def test_the_prompt_names_the_attachments_of_a_mail(self):
		agent, mail = self.agent(), EmailMessage()
		mail["From"], mail["To"], mail["Subject"] = "anna@customer.example", self.address, "Invoice"
		mail.set_content("See attached.")
		mail.add_attachment(b"1;2", "application", "pdf", filename="invoice.pdf")
		name = self.take(mail.as_bytes())
		stored = row(name)
		self.assertEqual(prepare_agent_job(stored)[0], agent)
		stored.raw_file = None
		prompts = [prepare_agent_job(each)[1] for each in (row(name), stored)]
		prompts.append(classify_prompt(message_from_row(row(name)), ()))
		for prompt in prompts:
			self.assertTrue(prompt.endswith("See attached.\n\nAttachments: invoice.pdf"), prompt)
