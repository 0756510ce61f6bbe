"""Document events: from a save to exactly one run, and to none where there must be none."""

import json

import frappe
from frappe.utils.background_jobs import is_job_enqueued

from huf.ai.runs.admission import acting_as
from huf.ai.triggers.dispatch import event_job_id
from huf.ai.triggers.doc_events import get_doc_event_agents, run_agent_for_doc, run_hooked_agents
from huf.tests.benchmarks.run_cost import count_statements, is_bracket
from huf.tests.contract.connections import elsewhere, together
from huf.tests.doctypes import CASE, EDITOR, make_doctypes
from huf.tests.factories import make, make_agent, make_user, unique
from huf.tests.triggers import TriggerTestCase, events_of, runs_of, todo, work_off


class TestFiring(TriggerTestCase):
	def test_a_save_sets_off_one_run_with_the_rights_of_who_saved(self):
		trigger = self.trigger(condition="doc.priority == 'High'")
		with acting_as(self.user):
			doc = todo(priority="High")
		(run,) = work_off(trigger)
		self.assertEqual((run.status, run.run_as, run.owner), ("Success", self.user, self.user))
		self.assertEqual((run.reference_doctype, run.reference_name, run.depth), ("ToDo", doc.name, 0))
		for word in (self.user, "saved", "ToDo", doc.name, "on_update"):
			self.assertIn(word, run.prompt)
		(event,) = events_of(trigger)
		self.assertEqual((event.status, event.run, event.initiating_user), ("Fired", run.name, self.user))
		shown = frappe.db.get_value(
			"Agent Trigger", trigger.name, ["last_execution", "last_error"], as_dict=True
		)
		self.assertTrue(shown.last_execution and not shown.last_error)

	def test_the_work_is_queued_with_the_commit_and_not_before(self):
		trigger = self.trigger()
		with acting_as(self.user):
			todo()
		(event,) = events_of(trigger)
		self.assertFalse(is_job_enqueued(event_job_id(event.name)))
		frappe.db.commit()
		self.assertTrue(is_job_enqueued(event_job_id(event.name)))

	def test_a_save_that_is_rolled_back_fires_nothing(self):
		trigger = self.trigger()
		with acting_as(self.user):
			todo()
		(event,) = events_of(trigger)
		frappe.db.rollback()
		frappe.db.commit()
		self.assertEqual(events_of(trigger), [])
		self.assertFalse(is_job_enqueued(event_job_id(event.name)))

	def test_what_is_changed_again_in_the_same_moment_counts_although_it_was_skipped_before(self):
		trigger = self.trigger(doc_event="on_change", condition="doc.status == 'Closed'")
		with acting_as(self.user):
			doc = todo()
			self.assertEqual([event.status for event in events_of(trigger)], ["Skipped"])
			doc.db_set("status", "Closed", update_modified=False)
			doc.db_set("priority", "High", update_modified=False)
		(run,) = work_off(trigger)
		self.assertEqual((run.status, [event.status for event in events_of(trigger)]), ("Success", ["Fired"]))

	def test_a_save_is_one_event_however_often_it_is_told(self):
		trigger = self.trigger()
		with acting_as(self.user):
			doc = todo()
			run_hooked_agents(doc, "on_update")
			frappe.db.commit()
			run_hooked_agents(doc, "on_update")
			self.assertEqual(len(events_of(trigger)), 1)
			doc.save()
		self.assertEqual(len(events_of(trigger)), 2)

	def test_an_event_has_one_run_however_many_workers_take_it_up(self):
		trigger = self.trigger()
		with acting_as(self.user):
			todo()
		frappe.db.commit()
		(event,) = events_of(trigger)
		results = together([(run_agent_for_doc, event.name)] * 4)
		frappe.db.rollback()
		self.assertEqual(len([result for result in results if result]), 1)
		self.assertEqual(len(runs_of(trigger)), 1)

	def test_every_event_that_can_be_chosen_fires_when_frappe_calls_it(self):
		make_doctypes()
		editor = make_user("Huf User", EDITOR)
		events = (
			"after_insert",
			"on_update",
			"on_change",
			"on_submit",
			"on_update_after_submit",
			"on_cancel",
		)
		triggers = {
			event: self.trigger(reference_doctype=CASE, doc_event=event)
			for event in (*events, "on_trash", "after_delete")
		}

		def fired(act) -> set:
			before = {event: len(events_of(trigger)) for event, trigger in triggers.items()}
			act()
			return {event for event, trigger in triggers.items() if len(events_of(trigger)) > before[event]}

		with acting_as(editor):
			doc = frappe.get_doc({"doctype": CASE, "title": "Roof"})
			self.assertEqual(fired(doc.insert), {"after_insert", "on_update", "on_change"})
			self.assertEqual(fired(doc.save), {"on_update", "on_change"})
			self.assertEqual(fired(lambda: doc.db_set("amount", 3)), {"on_change"})
			self.assertEqual(fired(doc.submit), {"on_update", "on_submit", "on_change"})
			self.assertEqual(fired(doc.save), {"on_update_after_submit", "on_change"})
			self.assertEqual(fired(doc.cancel), {"on_cancel", "on_change"})
			self.assertEqual(fired(lambda: frappe.delete_doc(CASE, doc.name)), {"on_trash", "after_delete"})

	def test_the_prompt_tells_what_changed_and_what_a_deleted_document_was(self):
		saved, deleted = self.trigger(), self.trigger(doc_event="after_delete")
		with acting_as(self.user):
			doc = todo(description="Call Anna")
			doc.reload()
			doc.status = "Closed"
			doc.save()
			frappe.delete_doc("ToDo", doc.name)
		self.assertIn("status: Open → Closed", events_of(saved)[-1].prompt)
		self.assertIn("Call Anna", events_of(deleted)[0].prompt)

	def test_a_prompt_of_one_s_own_sees_the_document_and_reaches_nothing_else(self):
		own = self.trigger(prompt="Look at {{ doc.name }} of {{ user }}.")
		greedy = self.trigger(prompt="{{ frappe.db.get_value('User', user, 'api_key') }}")
		with acting_as(self.user):
			doc = todo()
		self.assertEqual(events_of(own)[0].prompt, f"Look at {doc.name} of {self.user}.")
		self.assertIn("cannot be rendered", events_of(greedy)[0].reason)
		self.assertEqual(frappe.local.message_log, [], "who saves is not bothered")

	def test_a_document_can_be_deleted_although_runs_tell_of_it(self):
		trigger = self.trigger()
		with acting_as(self.user):
			doc = todo()
		work_off(trigger)
		frappe.delete_doc("ToDo", doc.name)
		self.assertFalse(frappe.db.exists("ToDo", doc.name))


class TestConditions(TriggerTestCase):
	def test_what_is_not_met_is_recorded_condition_by_condition(self):
		trigger = self.trigger(condition="doc.status == 'Open' and doc.priority == 'High' and user")
		with acting_as(self.user):
			todo(priority="Low")
		(event,) = events_of(trigger)
		self.assertEqual((event.status, event.run), ("Skipped", None))
		self.assertIn("doc.priority == 'High' (priority = 'Low')", event.reason)
		self.assertEqual([check["ok"] for check in json.loads(event.checks)], [True, False, None])
		self.assertEqual(work_off(trigger), [])

	def test_a_condition_that_raises_disables_nothing_and_is_shown_on_the_trigger(self):
		trigger = self.trigger(condition="int(doc.description) > 5")
		with acting_as(self.user):
			doc = todo(description="seven")
		self.assertEqual(work_off(trigger), [])
		shown = frappe.get_doc("Agent Trigger", trigger.name)
		self.assertIn("failed: ValueError", shown.last_error)
		self.assertFalse(shown.disabled)
		with acting_as(self.user):
			doc.description = "7"
			doc.save()
		self.assertEqual([event.status for event in events_of(trigger)], ["Failed", "Queued"])
		self.assertEqual(len(work_off(trigger)), 1)
		self.assertIsNone(frappe.db.get_value("Agent Trigger", trigger.name, "last_error"))

	def test_a_condition_can_ask_what_changed(self):
		trigger = self.trigger(condition="doc.has_value_changed('status') and doc.status == 'Closed'")
		with acting_as(self.user):
			doc = todo()
			doc.status = "Closed"
			doc.save()
			doc.priority = "High"
			doc.save()
		self.assertEqual([event.status for event in events_of(trigger)], ["Skipped", "Queued", "Skipped"])

	def test_a_condition_changes_nothing(self):
		for condition in ("doc.save()", "doc.db_set('status', 'Closed')", "doc.delete()"):
			with self.subTest(condition):
				trigger = self.trigger()
				# The form refuses it; it may have been stored before.
				trigger.db_set("condition", condition)
				frappe.db.commit()
				with acting_as(self.user):
					doc = todo()
				self.assertEqual(events_of(trigger)[0].status, "Failed")
				self.assertEqual(frappe.db.get_value("ToDo", doc.name, "status"), "Open")


class TestMap(TriggerTestCase):
	"""What is kept of triggers is never older than they are."""

	def test_a_save_nobody_watches_costs_no_query(self):
		self.trigger()
		note = make("Note", title=unique("Note"))
		note.save()

		def save_is_told():
			note.modified = "2026-01-01 00:00:00.000000"
			run_hooked_agents(note, "on_update")
			run_hooked_agents(note, "on_change")

		self.assertEqual([sql for sql in count_statements(save_is_told) if not is_bracket(sql)], [])

	def test_disabling_enabling_and_deleting_count_at_once(self):
		trigger = self.trigger()
		self.assertTrue(self.is_known(trigger))
		trigger.disabled = 1
		trigger.save()
		self.assertFalse(self.is_known(trigger))
		trigger.disabled = 0
		trigger.save()
		self.assertTrue(self.is_known(trigger))
		frappe.delete_doc("Agent Trigger", trigger.name)
		self.assertFalse(self.is_known(trigger))

	def test_a_disabled_agent_is_not_set_off(self):
		agent = make_agent()
		trigger = self.trigger(agent=agent)
		doc = frappe.get_doc("Agent", agent)
		doc.disabled = 1
		doc.save()
		self.assertFalse(self.is_known(trigger))

	def test_what_another_connection_commits_counts_at_once(self):
		trigger = self.trigger()
		self.assertTrue(self.is_known(trigger))
		elsewhere(lambda: frappe.get_doc("Agent Trigger", trigger.name).update({"disabled": 1}).save())
		frappe.db.rollback()
		self.assertFalse(self.is_known(trigger))

	def test_nobody_else_sees_a_trigger_before_its_commit(self):
		trigger = make("Agent Trigger", **self.values())
		self.assertTrue(self.is_known(trigger))
		self.assertFalse(elsewhere(self.is_known, trigger))
		frappe.db.rollback()
		self.assertFalse(self.is_known(trigger))

	def test_a_change_that_is_rolled_back_changes_nothing(self):
		trigger = self.trigger()
		trigger.disabled = 1
		trigger.save()
		frappe.db.rollback()
		self.assertTrue(self.is_known(trigger))
		self.assertTrue(elsewhere(self.is_known, trigger))

	def test_an_agent_s_new_instructions_are_in_what_is_known(self):
		agent = make_agent()
		trigger = self.trigger(agent=agent)
		doc = frappe.get_doc("Agent", agent)
		doc.instructions = "Be brief."
		doc.save()
		(found,) = [one for one in get_doc_event_agents("on_update") if one.name == trigger.name]
		self.assertEqual(found.instructions, "Be brief.")

	def is_known(self, trigger) -> bool:
		return trigger.name in [found.name for found in get_doc_event_agents("on_update")]

	def values(self) -> dict:
		name = unique("Trigger")
		return {
			"trigger_name": name,
			"agent": self.agent,
			"reference_doctype": "ToDo",
			"doc_event": "on_update",
		}
