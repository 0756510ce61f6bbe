"""Runs of trigger events: their users, their chains, and their recovery after a lost worker."""

import frappe
from frappe.utils import now_datetime
from frappe.utils.background_jobs import is_job_enqueued

from huf.ai.core.session import acting_as
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import recover_runs, work_on
from huf.ai.storage.trigger_events import MAX_ATTEMPTS, insert_trigger_events
from huf.ai.triggers.conditions import evaluate_condition, take_snapshot
from huf.ai.triggers.dispatch import event_job_id
from huf.ai.triggers.doc_events import evaluate_triggers, get_doc_event_agents
from huf.ai.triggers.runs import open_event_run, recover_events
from huf.api.trigger import backtest, explain, fire
from huf.tests.doctypes import CASE, EDITOR, make_case, make_doctypes, make_order
from huf.tests.factories import make_agent, make_user, unique
from huf.tests.triggers import TriggerTestCase, events_of, runs_of, todo, work_off


class TestWhoActs(TriggerTestCase):
	def test_trigger_of_a_manager_does_not_run_as_the_system_manager_who_saves(self):
		admin, manager = make_user("System Manager", "Huf User"), make_user("Huf Manager")
		with acting_as(manager):
			trigger = self.trigger()
		with acting_as(admin):
			todo()
		self.assertEqual(work_off(trigger), [])
		self.assertIn("choose Run As", events_of(trigger)[0].reason)
		with acting_as(admin):
			fire(trigger.name, document=todo().name)
		self.assertEqual([run.run_as for run in work_off(trigger)], [admin])
		with acting_as(admin):
			frappe.get_doc("Agent Trigger", trigger.name).save()
			todo()
		self.assertEqual([run.run_as for run in work_off(trigger)], [admin, admin])

	def test_trigger_skips_documents_that_its_user_cannot_read(self):
		manager = make_user("Huf Manager")
		with acting_as(manager):
			trigger = self.trigger(
				run_as=manager, condition="doc.description == 'S4711'", prompt="{{ doc.description }}"
			)
		with acting_as(self.user):
			todo(description="S4711")
		self.assertEqual(work_off(trigger), [])
		(event,) = events_of(trigger)
		self.assertEqual((event.status, event.prompt), ("Skipped", None))
		self.assertNotIn("4711", str(event.checks) + event.reason)

	def test_trigger_reads_no_fields_above_the_permlevel_of_its_user(self):
		make_doctypes()
		manager = make_user("Huf Manager", EDITOR)
		with acting_as(manager):
			trigger = self.trigger(
				reference_doctype=CASE, run_as=manager, prompt="Saw {{ doc.fee }} {{ doc.as_dict() }}"
			)
		case = make_case(title=unique("Roof"), fee="S4711")
		with acting_as(manager):
			shown = explain(trigger.name, case.name)
			tested = backtest(values={**trigger.as_dict(), "condition": "doc.fee"})
		(run,) = work_off(trigger)
		self.assertIn(case.title, run.prompt)
		self.assertNotIn("4711", run.prompt + str(shown))
		self.assertEqual(tested["times"], 0)

	def test_events_show_no_values_above_the_permlevel_of_their_readers(self):
		make_doctypes()
		trigger = self.trigger(
			reference_doctype=CASE, condition="doc.title != '' and doc.fee == 'other'", run_as="Administrator"
		)
		case = make_case(title="Roof", fee="S4711")
		(event,) = events_of(trigger, reference_name=case.name)
		self.assertIn("title = 'Roof'", event.checks)
		self.assertEqual((event.status, "4711" in event.checks + event.reason), ("Skipped", False))
		broken = self.trigger(reference_doctype=CASE, condition="int(doc.get('fee'))", run_as="Administrator")
		make_case(title="Roof", fee="S4711")
		(event,) = events_of(broken)
		self.assertEqual(event.reason, "The condition int(doc.get('fee')) failed: ValueError")

	def test_errors_of_rows_keep_their_message_unless_the_rows_have_hidden_fields(self):
		make_doctypes()
		agent, order = frappe.get_doc("Agent", make_agent()), make_order()
		for doc, table, message in (
			(agent, "chat_models", "IndexError: list index out of range"),
			(order, "lines", "IndexError"),
		):
			checks, _error = evaluate_condition(
				f"doc.{table} is not None and doc.{table}[99]", take_snapshot(doc), "x", now_datetime()
			)
			self.assertEqual([check.saw for check in checks], ["", message])

	def test_saves_by_administrator_need_a_run_as_user(self):
		blank, chosen = self.trigger(), self.trigger(run_as=self.user)
		todo()
		self.assertEqual((work_off(blank), len(work_off(chosen))), ([], 1))
		self.assertIn("choose Run As", events_of(blank)[0].reason)
		self.assertEqual(runs_of(chosen)[0].run_as, self.user)

	def test_run_as_can_be_administrator(self):
		trigger = self.trigger(run_as="Administrator")
		with acting_as(self.user):
			todo()
		self.assertEqual(work_off(trigger)[0].run_as, "Administrator")

	def test_user_without_agent_access_gets_no_run_and_the_trigger_has_the_error(self):
		trigger, stranger = self.trigger(), make_user()
		with acting_as(stranger):
			todo()
		self.assertEqual(work_off(trigger), [])
		(event,) = events_of(trigger)
		self.assertEqual(event.status, "Failed")
		self.assertIn(f"Run as {stranger}", event.reason)
		self.assertEqual(frappe.db.get_value("Agent Trigger", trigger.name, "last_error"), event.reason)

	def test_trigger_does_not_run_as_a_disabled_user(self):
		user = make_user("Huf User")
		trigger = self.trigger(run_as=user)
		frappe.db.set_value("User", user, "enabled", 0)
		todo()
		self.assertEqual(work_off(trigger), [])
		self.assertIn("disabled", events_of(trigger)[0].reason)

	def test_runs_of_one_user_share_a_conversation(self):
		trigger, other = self.trigger(), make_user("Huf User")
		for user in (self.user, other, self.user):
			with acting_as(user):
				todo()
		first, second, third = work_off(trigger)
		self.assertEqual(first.conversation, third.conversation)
		self.assertNotEqual(first.conversation, second.conversation)
		conversation_doc = frappe.get_doc("Agent Conversation", first.conversation)
		self.assertEqual(
			(conversation_doc.channel, conversation_doc.external_id, conversation_doc.owner),
			("doc_event", self.user, self.user),
		)

	def test_runs_without_user_history_share_a_conversation_that_users_cannot_read(self):
		agent = make_agent(persist_user_history=0)
		trigger, other = self.trigger(agent=agent), make_user("Huf User")
		for user in (self.user, other):
			with acting_as(user):
				todo()
		first, second = work_off(trigger)
		self.assertEqual(first.conversation, second.conversation)
		conversation_doc = frappe.get_doc("Agent Conversation", first.conversation)
		self.assertEqual(
			(conversation_doc.external_id, conversation_doc.owner), (f"shared:{agent}", "Administrator")
		)
		with acting_as(self.user):
			self.assertFalse(conversation_doc.has_permission("read"))

	def test_shared_conversation_cannot_be_joined_by_its_external_id(self):
		agent = make_agent(persist_user_history=0)
		with acting_as(self.user):
			forged = run_agent_sync(agent, "Hi", channel_id="doc_event", external_id=f"shared:{agent}")
		trigger = self.trigger(agent=agent)
		with acting_as(self.user):
			todo()
		self.assertNotEqual(work_off(trigger)[0].conversation, forged["conversation"])


class TestChains(TriggerTestCase):
	def test_change_by_a_run_does_not_fire_its_own_trigger(self):
		trigger = self.trigger()
		with acting_as(self.user):
			todo()
		(run,) = work_off(trigger)
		own = self.change_in(run.name)
		event = events_of(trigger, reference_name=own.name)[0]
		self.assertEqual((event.status, event.caused_by_run), ("Skipped", run.name))
		self.assertIn("Not a change of its own run", event.reason)

	def test_fire_on_own_changes_stops_at_the_maximum_chain_depth(self):
		trigger = self.trigger(fire_on_own_changes=1)
		with acting_as(self.user):
			todo()
		runs = work_off(trigger)
		for _ in range(4):
			self.change_in(runs[-1].name)
			runs = work_off(trigger)
		self.assertEqual([run.depth for run in runs], [0, 1, 2, 3])
		self.assertEqual([run.caused_by for run in runs[1:]], [run.name for run in runs[:-1]])
		last = events_of(trigger)[-1]
		self.assertEqual((last.status, last.depth), ("Skipped", 4))
		self.assertIn("At most 3 runs that start one another", last.reason)

	def test_change_by_a_run_fires_other_triggers(self):
		first, second = self.trigger(doc_event="after_insert"), self.trigger(doc_event="on_update")
		with acting_as(self.user):
			todo()
		(run,) = work_off(first)
		own = self.change_in(run.name)
		self.assertEqual(events_of(second, reference_name=own.name)[0].status, "Queued")

	def test_save_after_a_run_is_not_attributed_to_the_run(self):
		trigger = self.trigger()
		with acting_as(self.user):
			run_agent_sync(self.agent, "Hi")
			todo()
		self.assertIsNone(events_of(trigger)[0].caused_by_run)

	def change_in(self, run: str):
		"""Saves a document as a tool of the run would, as the run's user."""
		frappe.flags.huf_run = run
		try:
			with acting_as(self.user):
				return todo()
		finally:
			frappe.flags.huf_run = None


class TestRecovery(TriggerTestCase):
	def test_event_with_a_lost_job_is_enqueued_again(self):
		trigger, event = self.lost_event()
		self.assertNotIn(event, recover_events())
		self.age("Agent Trigger Event", event)
		self.assertIn(event, recover_events())
		self.assertTrue(is_job_enqueued(event_job_id(event, 1)))
		self.assertNotIn(event, recover_events(), "its job is queued")
		self.assertEqual(len(work_off(trigger)), 1)

	def test_event_fails_after_the_maximum_attempts(self):
		trigger, event = self.lost_event()
		self.age("Agent Trigger Event", event, attempts=MAX_ATTEMPTS)
		self.assertNotIn(event, recover_events())
		self.assertEqual(events_of(trigger)[0].status, "Failed")

	def test_queued_run_of_a_lost_worker_is_recovered(self):
		_trigger, event = self.lost_event()
		run = open_event_run(event)
		self.assertNotIn(run, recover_runs())
		self.age("Agent Run", run)
		self.assertIn(run, recover_runs())
		self.assertTrue(work_on(run).success)

	def test_recovery_enqueues_only_the_first_run_of_a_conversation(self):
		trigger = self.trigger()
		with acting_as(self.user):
			todo()
			todo()
		frappe.db.commit()
		first, second = (open_event_run(event.name) for event in events_of(trigger))
		self.age("Agent Run", first)
		self.age("Agent Run", second, creation="2020-01-02 00:00:00")
		self.assertEqual([run for run in recover_runs() if run in (first, second)], [first])
		self.assertTrue(is_job_enqueued(f"huf-recover-{first}-0"))
		self.assertFalse(is_job_enqueued(f"huf-recover-{second}-0"))

	def lost_event(self):
		"""Returns a trigger and an event of it that is stored but was never queued."""
		with acting_as(self.user):
			doc = todo()
			trigger = self.trigger_as_administrator()
			(found,) = [each for each in get_doc_event_agents("on_update") if each.name == trigger.name]
			(event,) = insert_trigger_events(evaluate_triggers(doc, "on_update", [found]))
		frappe.db.commit()
		return trigger, event

	def trigger_as_administrator(self):
		with acting_as("Administrator"):
			return self.trigger()

	def age(self, doctype: str, name: str, **values):
		values = {"creation": "2020-01-01 00:00:00", **values}
		frappe.db.set_value(doctype, name, values, update_modified=False)
		frappe.db.commit()
