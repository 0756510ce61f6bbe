from datetime import timedelta

import frappe
from frappe.utils import get_datetime, now_datetime

from huf.ai.core.session import acting_as
from huf.api.trigger import propose_run_as, set_enabled
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, make_agent, make_user, unique


class TestAgentTrigger(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.agent = make_agent()
		# Administrator alone starts no agent unless chosen.
		make_user("Huf User")

	def make(self, trigger_type="Doc Event", **values):
		if trigger_type == "Doc Event":
			values = {"reference_doctype": "ToDo", "doc_event": "on_update", **values}
		name = values.pop("trigger_name", None) or unique("Trigger")
		return make("Agent Trigger", trigger_name=name, agent=self.agent, trigger_type=trigger_type, **values)

	def test_invalid_triggers_are_refused_with_the_reason(self):
		webhook = {"trigger_type": "Webhook", "run_as": make_user("Huf User"), "webhook_secret": "s" * 16}
		for values, reason in (
			({"doc_event": None}, "needs Event"),
			({"reference_doctype": None}, "needs Reference DocType"),
			({"reference_doctype": "Agent Tool"}, "child table"),
			({"reference_doctype": "Agent Run"}, "cannot have triggers"),
			({"reference_doctype": "Version"}, "cannot have triggers"),
			({"doc_event": "on_submit"}, "not submittable"),
			({"condition": "doc.status =="}, "not a Python expression"),
			({"condition": "doc.stat == 'Open'"}, "ToDo has no field stat.* Similar fields: status"),
			({"condition": "doc.get('prioriti')"}, "no field prioriti.*priority"),
			({"condition": "frappe.db.count('User')"}, "but not frappe"),
			({"condition": "doc._values"}, "not allowed"),
			({"prompt": "{% if doc %}"}, "not a Jinja template"),
			({"prompt": "{{ doc.__class__ }}"}, "not allowed"),
			({"run_as": "Guest"}, "not an enabled user"),
			({"trigger_type": "App Event"}, "needs"),
			({"trigger_type": "Schedule"}, "cron expression or an interval"),
			({"trigger_type": "Schedule", "cron": "* * *"}, "five fields"),
			({"trigger_type": "Schedule", "cron": "* * * * *"}, "Choose Run As"),
			({**webhook, "webhook_secret": ""}, "webhook secret"),
			({**webhook, "webhook_secret": "short"}, "16 characters"),
			({**webhook, "webhook_slug": "Not a slug"}, "lowercase letters"),
			({**webhook, "webhook_slug": 1}, "lowercase letters"),
			({"trigger_type": "Schedule", "cron": 5}, "not a cron expression"),
		):
			with self.subTest(values), self.assertRaisesRegex(frappe.ValidationError, reason):
				self.make(**values)

	def test_webhook_slug_is_generated_from_the_name_and_must_be_unique(self):
		values = {"run_as": make_user("Huf User"), "webhook_secret": "s" * 16}
		name = unique("Orders from the Shop")
		first = self.make("Webhook", trigger_name=name, **values)
		self.assertRegex(first.webhook_slug, r"orders-from-the-shop-[0-9a-z]+")
		with self.assertRaisesRegex(frappe.ValidationError, "Choose another"):
			self.make("Webhook", webhook_slug=first.webhook_slug, **values)

	def test_a_secret_stays_when_the_form_is_saved_again(self):
		trigger = self.make("Webhook", run_as=make_user("Huf User"), webhook_secret="a secret of the test")
		trigger.reload()
		trigger.save()
		self.assertEqual(trigger.get_password("webhook_secret"), "a secret of the test")

	def test_run_as_defaults_to_the_creator_for_schedules_only(self):
		with acting_as(make_user("Huf Manager")):
			trigger = self.make("Schedule", scheduled_interval="Daily")
			self.assertEqual(trigger.run_as, frappe.session.user)
			document = self.make()
			self.assertIsNone(document.run_as)

	def test_run_as_another_user_needs_the_system_manager_role(self):
		other = make_user("Huf User")
		with acting_as(make_user("Huf Manager")):
			for user in (other, "Administrator"):
				with self.assertRaisesRegex(frappe.PermissionError, "Only a System Manager"):
					self.make(run_as=user)
			self.make(run_as=frappe.session.user)
		with acting_as(make_user("Huf Manager", "System Manager")):
			self.make(run_as=other)

	def test_only_system_managers_change_what_a_trigger_does_that_acts_as_one(self):
		admin, manager = make_user("System Manager"), make_user("Huf Manager")
		trigger = self.make("Webhook", run_as=admin, webhook_secret="a secret of the test")
		changes = {"prompt": "Other", "agent": make_agent(), "webhook_secret": "a secret of another"}
		for fieldname, value in changes.items():
			with acting_as(manager), self.subTest(fieldname):
				trigger.reload()
				trigger.set(fieldname, value)
				with self.assertRaisesRegex(frappe.PermissionError, f"acts as {admin}"):
					trigger.save()
		for values in ({"disabled": 1}, {"disabled": 0}, {"prompt": "Other", "run_as": manager}):
			with acting_as(manager):
				trigger.reload()
				trigger.update(values).save()
		self.assertEqual((trigger.run_as, trigger.prompt), (manager, "Other"))

	def test_a_trigger_keeps_its_author_until_somebody_changes_what_it_does(self):
		author = make_user("Huf Manager")
		with acting_as(author):
			trigger = self.make("Doc Event", disabled=1, condition="doc.priority == 'High'")
		set_enabled(trigger.name, True)
		trigger.reload()
		self.assertEqual((trigger.disabled, trigger.modified_by), (0, author))
		with acting_as(make_user("System Manager")):
			todo = make("ToDo", description="Tea", priority="High")
		event = {"trigger": trigger.name, "reference_name": todo.name}
		self.assertRegex(frappe.db.get_value("Agent Trigger Event", event, "reason"), "^A user to act as")
		trigger.update({"notify_user": author, "notify_on": "Failure"}).save()
		self.assertEqual(frappe.db.get_value("Agent Trigger", trigger.name, "modified_by"), author)
		trigger.update({"condition": "doc.priority == 'Low'"}).save()
		self.assertEqual(frappe.db.get_value("Agent Trigger", trigger.name, "modified_by"), "Administrator")

	def test_users_without_the_manager_role_cannot_read_or_create_triggers(self):
		trigger = self.make()
		with acting_as(make_user("Huf User")):
			self.assertFalse(trigger.has_permission("read"))
			with self.assertRaises(frappe.PermissionError):
				self.make()

	def test_next_execution_is_kept_on_save_and_reset_by_a_new_cron(self):
		trigger = self.make("Schedule", cron="0 9 * * *", run_as=make_user("Huf User"))
		self.assertGreater(get_datetime(trigger.next_execution), now_datetime())
		moved = get_datetime(trigger.next_execution) + timedelta(days=2)
		frappe.db.set_value("Agent Trigger", trigger.name, "next_execution", moved, update_modified=False)
		trigger.prompt = "Good morning."
		trigger.save()
		self.assertEqual(get_datetime(trigger.next_execution), moved)
		trigger.cron = "0 10 * * *"
		trigger.save()
		self.assertEqual(get_datetime(trigger.next_execution).hour, 10)
		self.assertLess(get_datetime(trigger.next_execution), moved)

	def test_an_interval_begins_one_interval_from_now(self):
		trigger = self.make(
			"Schedule", scheduled_interval="Hourly", interval_count=2, run_as=make_user("Huf User")
		)
		ahead = get_datetime(trigger.next_execution) - now_datetime()
		self.assertTrue(timedelta(minutes=119) < ahead <= timedelta(hours=2), ahead)

	def test_fields_of_another_trigger_type_are_cleared(self):
		trigger = self.make(cron="* * * * *", event_name="x")
		self.assertEqual((trigger.cron, trigger.event_name), (None, None))

	def test_saving_clears_the_last_error(self):
		trigger = self.make()
		frappe.db.set_value("Agent Trigger", trigger.name, "last_error", "It broke", update_modified=False)
		trigger.save()
		self.assertIsNone(frappe.db.get_value("Agent Trigger", trigger.name, "last_error"))

	def test_deleting_a_trigger_deletes_its_events(self):
		trigger = self.make(run_as=make_user("Huf User"))
		make("ToDo", description="x")
		self.assertTrue(frappe.db.count("Agent Trigger Event", {"trigger": trigger.name}))
		frappe.delete_doc("Agent Trigger", trigger.name)
		self.assertFalse(frappe.db.count("Agent Trigger Event", {"trigger": trigger.name}))

	def test_document_trigger_without_another_enabled_user_needs_run_as(self):
		manager = make_user("Huf Manager")
		self.assertTrue(
			self.make(condition="doc.status == 'Open' and doc.has_value_changed('priority')").name
		)
		frappe.db.sql("update `tabUser` set enabled = 0 where name not in ('Administrator', %s)", (manager,))
		self.addCleanup(frappe.db.rollback)
		self.assertEqual(propose_run_as(), manager)
		frappe.db.sql("update `tabUser` set enabled = 0 where name = %s", (manager,))
		self.assertRaisesRegex(frappe.ValidationError, "Choose Run As", self.make)
		self.assertEqual(propose_run_as(), "Administrator")
		self.assertTrue(self.make(run_as="Administrator").name)
