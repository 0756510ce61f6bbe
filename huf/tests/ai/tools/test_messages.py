"""Agents write to people unprompted: new mail, notifications, and the results of triggered runs."""

import frappe

from huf.ai.mail.outbox import send_approved_mail
from huf.ai.storage import outgoing_mail
from huf.ai.tools import messages
from huf.api import home, notification
from huf.api import mail as mail_api
from huf.tests.doctypes import make_doctype
from huf.tests.factories import make, make_agent, make_model, make_tool, make_user, unique
from huf.tests.mail import MAIL, make_outgoing_account, queued, row
from huf.tests.model_server import ModelServer, error, text, tool_call
from huf.tests.triggers import TriggerTestCase, runs_of, todo, work_off

BOSS = "boss@elsewhere.example"
CONTACT_FIELDS = ("first_name", "full_name", "email_id")


class MessagesTestCase(TriggerTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		make_outgoing_account()

	def fire(self, *answers, tools=(), **trigger):
		"""Runs an agent with these tools as the user, by a trigger of its own; returns the trigger."""
		server = ModelServer().__enter__()
		self.addCleanup(server.__exit__, None, None, None)
		server.script(*answers)
		agent = make_agent(make_model(server), tools=tools)
		values = {"reference_doctype": "ToDo", "doc_event": "after_insert", "run_as": self.user, **trigger}
		trigger = self.trigger("Doc Event", agent=agent, **values)
		frappe.db.commit()
		todo()
		work_off(trigger)
		return trigger

	def notices(self, user: str) -> list:
		frappe.set_user(user)
		self.addCleanup(frappe.set_user, "Administrator")
		found = notification.get_notifications()
		frappe.set_user("Administrator")
		return found


class TestSendMail(MessagesTestCase):
	def test_a_triggered_agent_mails_a_summary_to_an_address_and_a_user(self):
		tool = make_tool("Send Mail", mail_template="{{ body }}\n-- \nThe office")
		mail = {"to": [BOSS, self.user], "subject": "Overdue", "body": "Three to-dos."}
		trigger = self.fire(tool_call(tool, mail), text("Sent."), tools=(tool,))
		(run,) = runs_of(trigger)
		name = frappe.db.get_value(MAIL, {"run": run.name})
		self.assertEqual((row(name).status, row(name).owner), ("Approved", self.user))
		self.assertTrue(send_approved_mail(name))
		(sent,) = queued(name)
		self.assertEqual((sent["To"], sent["Subject"]), (f"{BOSS}, {self.user}", "Overdue"))
		self.assertEqual(sent.get_content().split(), "Three to-dos. -- The office".split())
		self.assertEqual(sent["Auto-Submitted"], "auto-generated")
		frappe.set_user(self.user)
		self.assertIn(name, [each.name for each in mail_api.get_mails()])
		frappe.set_user("Administrator")

	def test_send_mail_that_requires_approval_waits_unsent(self):
		tool = make_tool("Send Mail", requires_approval=1)
		trigger = self.fire(tool_call(tool, {"to": BOSS, "subject": "S", "body": "B"}), tools=(tool,))
		(run,) = runs_of(trigger)
		self.assertEqual((run.status, frappe.db.exists(MAIL, {"run": run.name})), ("Waiting", None))

	def test_draft_of_a_mail_shows_addresses_and_text_as_sent(self):
		user = make("User", email=f"{frappe.generate_hash(length=8)}@b.example", first_name=unique("Zoe"))
		tool = make_tool("Send Mail", requires_approval=1, mail_template="{{ body }}, the office")
		mail = {"to": user.full_name, "subject": "S", "body": "B"}
		trigger = self.fire(tool_call(tool, mail), tools=(tool,))
		(run,) = runs_of(trigger)
		draft = frappe.db.get_value("Agent Draft", {"run": run.name}, "difference")
		sent = {"to": [user.email], "subject": "S", "body": "B, the office"}
		self.assertEqual(frappe.parse_json(draft), {"request": {"tool": tool, "arguments": sent}})

	def test_unknown_or_too_many_recipients_are_refused(self):
		for to in ("", "Nobody At All", ["a@b.example"] * 51, "Guest"):
			with self.subTest(to), self.assertRaises(messages.ToolError):
				messages.send_mail(to, "S", "B")

	def test_user_is_found_by_a_unique_full_name(self):
		name = unique("George")
		frappe.db.set_value("User", self.user, "full_name", name)
		self.assertEqual(messages.find_address(name), self.user)
		frappe.db.set_value("User", make_user(), "full_name", name)
		with self.assertRaises(messages.ToolError):
			messages.find_address(name)
		frappe.db.rollback()

	def test_contact_is_found_by_a_unique_name_with_read_permission(self):
		self.make_contacts()
		name, address = unique("Jana"), f"{frappe.generate_hash(length=8)}@customer.example"
		self.contact(name, address.title())
		sent = messages.send_mail([name, BOSS], "Overdue", "Three to-dos.")
		self.assertEqual(sent["to"], [address, BOSS])
		self.assertEqual(row(sent["mail"]).recipients, f"{address}, {BOSS}")
		self.addCleanup(frappe.set_user, "Administrator")
		frappe.set_user(self.user)
		self.assertRaises(messages.ToolError, messages.send_mail, name, "S", "B")
		frappe.set_user("Administrator")
		self.contact(name, "another@customer.example")
		self.assertRaises(messages.ToolError, messages.send_mail, name, "S", "B")

	def make_contacts(self):
		"""Creates the DocType Contact, which only a bench has."""
		if not frappe.db.exists("DocType", "Contact"):
			fields = [{"fieldname": each, "fieldtype": "Data", "label": each} for each in CONTACT_FIELDS]
			make_doctype("Contact", fields, [{"role": "System Manager", "read": 1, "create": 1}])
			self.addCleanup(frappe.delete_doc, "DocType", "Contact")

	def contact(self, full_name: str, address: str):
		doc = make("Contact", first_name=unique("Contact"))
		self.addCleanup(frappe.delete_doc, "Contact", doc.name)
		# On a bench, both are derived from other fields.
		frappe.db.set_value("Contact", doc.name, {"full_name": full_name, "email_id": address})

	def test_mail_without_an_outgoing_server_is_refused(self):
		frappe.db.set_value("Email Account", {"enable_outgoing": 1}, "enable_outgoing", 0)
		with self.assertRaisesRegex(messages.ToolError, "No outgoing mail server"):
			messages.send_mail(BOSS, "S", "B")
		self.assertIsNone(outgoing_mail.find_sender())
		frappe.db.rollback()


class TestNotify(MessagesTestCase):
	def test_a_user_is_notified_and_only_that_user_reads_it(self):
		tool, other = make_tool("Notify"), make_user("Huf User")
		call = tool_call(tool, {"to": self.user, "subject": "Stock is low", "text": "Two left."})
		self.fire(call, text("Done."), tools=(tool,))
		(notice,) = [each for each in self.notices(self.user) if each.subject == "Stock is low"]
		self.assertEqual(
			(notice.email_content, notice.document_type, notice.read), ("Two left.", "Agent Run", 0)
		)
		self.assertEqual(self.notices(other), [])
		frappe.set_user(other)
		notification.mark_read(notice.name)
		self.assertEqual(self.notices(self.user)[0].read, 0)
		frappe.set_user(self.user)
		notification.mark_read(notice.name)
		self.assertEqual(self.notices(self.user)[0].read, 1)

	def test_notify_by_mail_sends_the_notification_as_mail(self):
		tool = make_tool("Notify", notify_by_mail=1)
		trigger = self.fire(
			tool_call(tool, {"to": self.user, "subject": "Low"}), text("Done."), tools=(tool,)
		)
		self.assertEqual(
			frappe.db.get_value(MAIL, {"run": runs_of(trigger)[0].name}, "recipients"), self.user
		)


class TestResults(MessagesTestCase):
	def test_trigger_notifies_its_user_of_the_result(self):
		other = make_user("Huf User")
		trigger = self.fire(text("All is well."), notify_user=other, notify_by_mail=1)
		(notice,) = self.notices(other)
		self.assertEqual((notice.subject, notice.email_content), (f"{trigger.name}: Success", "All is well."))
		(mail,) = frappe.get_all(
			MAIL, {"run": runs_of(trigger)[0].name}, ["recipients", "text"], order_by="name"
		)
		self.assertEqual((mail.recipients, mail.text), (other, "All is well."))

	def test_notify_on_failure_skips_successful_runs(self):
		other = make_user("Huf User")
		self.fire(text("All is well."), notify_user=other, notify_on="Failure")
		self.assertEqual(self.notices(other), [])

	def test_failed_run_notifies_with_its_error_according_to_notify_on(self):
		both, only, results = (make_user("Huf User") for _ in range(3))
		for user, notify_on in ((both, "Result or failure"), (only, "Failure"), (results, "Result")):
			broken = error(400, "Broken")
			trigger = self.fire(broken, notify_user=user, notify_on=notify_on, notify_by_mail=1)
			(run,) = runs_of(trigger)
			notices = self.notices(user)
			self.assertEqual((run.status, len(notices)), ("Failed", notify_on != "Result"))
			for notice in notices:
				self.assertEqual(notice.subject, f"{trigger.name}: Failed")
				self.assertEqual((notice.document_name, notice.email_content), (run.name, run.error_message))
			mails = frappe.get_all(MAIL, {"run": run.name}, pluck="recipients", order_by="name")
			self.assertEqual(mails, [user] * len(notices))

	def test_result_is_notified_in_the_language_of_its_reader(self):
		other = make_user("Huf User")
		frappe.db.set_value("User", other, "language", "de")
		frappe.clear_document_cache("User", other)
		trigger = self.fire(error(400, "Broken"), notify_user=other, notify_on="Failure")
		(notice,) = self.notices(other)
		self.assertEqual(notice.subject, f"{trigger.name}: Fehlgeschlagen")

	def test_home_page_lists_results_of_own_triggers(self):
		trigger = self.fire(text("All is well."))
		(run,) = [each for each in home.get_home()["results"] if each["trigger"] == trigger.name]
		self.assertEqual(run["response"], "All is well.")
