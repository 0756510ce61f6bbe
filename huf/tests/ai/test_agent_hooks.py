"""Document events: from a save to exactly one run, and to none where there must be none."""

import json

import frappe
from frappe.utils.background_jobs import is_job_enqueued

from huf.ai.admission import acting_as
from huf.ai.agent_hooks import decide_all, get_doc_event_agents, run_agent_for_doc, run_hooked_agents
from huf.ai.agent_integration import run_agent_sync
from huf.ai.background import recover, work_on
from huf.ai.event_runs import open_event, recover_events
from huf.ai.firing import job_of
from huf.ai.records.firings import MOST_ATTEMPTS, insert_firings
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
		self.assertFalse(is_job_enqueued(job_of(event.name)))
		frappe.db.commit()
		self.assertTrue(is_job_enqueued(job_of(event.name)))

	def test_a_save_that_is_rolled_back_fires_nothing(self):
		trigger = self.trigger()
		with acting_as(self.user):
			todo()
		(event,) = events_of(trigger)
		frappe.db.rollback()
		frappe.db.commit()
		self.assertEqual(events_of(trigger), [])
		self.assertFalse(is_job_enqueued(job_of(event.name)))

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
		self.assertIn("cannot be evaluated: ValueError", shown.last_error)
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
				trigger = self.trigger(condition=condition)
				with acting_as(self.user):
					doc = todo()
				self.assertEqual(events_of(trigger)[0].status, "Failed")
				self.assertEqual(frappe.db.get_value("ToDo", doc.name, "status"), "Open")


class TestWhoActs(TriggerTestCase):
	def test_what_administrator_saves_fires_only_with_a_chosen_user(self):
		blank, chosen = self.trigger(), self.trigger(run_as=self.user)
		todo()
		self.assertEqual((work_off(blank), len(work_off(chosen))), ([], 1))
		self.assertIn("choose Run As", events_of(blank)[0].reason)
		self.assertEqual(runs_of(chosen)[0].run_as, self.user)

	def test_administrator_acts_where_a_person_chose_so(self):
		trigger = self.trigger(run_as="Administrator")
		with acting_as(self.user):
			todo()
		self.assertEqual(work_off(trigger)[0].run_as, "Administrator")

	def test_who_may_not_use_the_agent_gets_no_run_and_the_trigger_says_why(self):
		trigger, stranger = self.trigger(), make_user()
		with acting_as(stranger):
			todo()
		self.assertEqual(work_off(trigger), [])
		(event,) = events_of(trigger)
		self.assertEqual(event.status, "Failed")
		self.assertIn(f"As {stranger}", event.reason)
		self.assertEqual(frappe.db.get_value("Agent Trigger", trigger.name, "last_error"), event.reason)

	def test_a_disabled_user_is_nobody_to_act_as(self):
		user = make_user("Huf User")
		trigger = self.trigger(run_as=user)
		frappe.db.set_value("User", user, "enabled", 0)
		todo()
		self.assertEqual(work_off(trigger), [])
		self.assertIn("disabled", events_of(trigger)[0].reason)

	def test_each_user_has_a_conversation_and_it_goes_on(self):
		trigger, other = self.trigger(), make_user("Huf User")
		for user in (self.user, other, self.user):
			with acting_as(user):
				todo()
		first, second, third = work_off(trigger)
		self.assertEqual(first.conversation, third.conversation)
		self.assertNotEqual(first.conversation, second.conversation)
		said = frappe.get_doc("Agent Conversation", first.conversation)
		self.assertEqual((said.channel, said.external_id, said.owner), ("doc_event", self.user, self.user))

	def test_without_histories_per_user_all_share_one_that_belongs_to_none_of_them(self):
		agent = make_agent(persist_user_history=0)
		trigger, other = self.trigger(agent=agent), make_user("Huf User")
		for user in (self.user, other):
			with acting_as(user):
				todo()
		first, second = work_off(trigger)
		self.assertEqual(first.conversation, second.conversation)
		said = frappe.get_doc("Agent Conversation", first.conversation)
		self.assertEqual((said.external_id, said.owner), (f"shared:{agent}", "Administrator"))
		with acting_as(self.user):
			self.assertFalse(said.has_permission("read"))

	def test_nobody_gets_into_the_shared_conversation_by_naming_it(self):
		agent = make_agent(persist_user_history=0)
		with acting_as(self.user):
			forged = run_agent_sync(agent, "Hi", channel_id="doc_event", external_id=f"shared:{agent}")
		trigger = self.trigger(agent=agent)
		with acting_as(self.user):
			todo()
		self.assertNotEqual(work_off(trigger)[0].conversation, forged["conversation"])


class TestChains(TriggerTestCase):
	def test_a_change_by_its_own_run_does_not_fire_a_trigger_again(self):
		trigger = self.trigger()
		with acting_as(self.user):
			todo()
		(run,) = work_off(trigger)
		own = self.change_in(run.name)
		event = events_of(trigger, reference_name=own.name)[0]
		self.assertEqual((event.status, event.caused_by_run), ("Skipped", run.name))
		self.assertIn("Not a change of its own run", event.reason)

	def test_unless_it_says_so_and_then_the_chain_ends_at_the_depth_of_the_settings(self):
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
		self.assertIn("At most 3 runs setting one another off", last.reason)

	def test_another_trigger_does_fire_for_what_an_agent_changed(self):
		first, second = self.trigger(doc_event="after_insert"), self.trigger(doc_event="on_update")
		with acting_as(self.user):
			todo()
		(run,) = work_off(first)
		own = self.change_in(run.name)
		self.assertEqual(events_of(second, reference_name=own.name)[0].status, "Queued")

	def test_what_a_person_saves_after_a_run_is_no_change_of_the_run(self):
		trigger = self.trigger()
		with acting_as(self.user):
			run_agent_sync(self.agent, "Hi")
			todo()
		self.assertIsNone(events_of(trigger)[0].caused_by_run)

	def change_in(self, run: str):
		"""What a tool of a run does: save a document, as the run's user."""
		frappe.flags.huf_run = run
		try:
			with acting_as(self.user):
				return todo()
		finally:
			frappe.flags.huf_run = None


class TestRecovery(TriggerTestCase):
	def test_an_event_whose_job_was_lost_is_given_to_a_worker_again(self):
		trigger, event = self.lost_event()
		self.assertNotIn(event, recover_events())
		self.age("Agent Trigger Event", event)
		self.assertIn(event, recover_events())
		self.assertTrue(is_job_enqueued(job_of(event, 1)))
		self.assertNotIn(event, recover_events(), "its job waits")
		self.assertEqual(len(work_off(trigger)), 1)

	def test_an_event_that_cannot_be_started_is_given_up_in_the_end(self):
		trigger, event = self.lost_event()
		self.age("Agent Trigger Event", event, attempts=MOST_ATTEMPTS)
		self.assertNotIn(event, recover_events())
		self.assertEqual(events_of(trigger)[0].status, "Failed")

	def test_a_queued_run_whose_worker_was_lost_is_taken_up(self):
		_trigger, event = self.lost_event()
		run = open_event(event)
		self.assertNotIn(run, recover())
		self.age("Agent Run", run)
		self.assertIn(run, recover())
		self.assertTrue(work_on(run).success)

	def lost_event(self):
		"""An event that was written down but never queued."""
		with acting_as(self.user):
			doc = todo()
			trigger = self.trigger_as_administrator()
			(found,) = [one for one in get_doc_event_agents("on_update") if one.name == trigger.name]
			(event,) = insert_firings(decide_all(doc, "on_update", [found]))
		frappe.db.commit()
		return trigger, event

	def trigger_as_administrator(self):
		with acting_as("Administrator"):
			return self.trigger()

	def age(self, doctype: str, name: str, **values):
		values = {"creation": "2020-01-01 00:00:00", **values}
		frappe.db.set_value(doctype, name, values, update_modified=False)
		frappe.db.commit()


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
