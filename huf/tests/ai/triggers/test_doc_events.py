"""Document events: a save starts exactly one run for each matching trigger, and none otherwise."""

import json
from datetime import date, datetime, time, timedelta
from unittest.mock import patch

import frappe
from frappe.utils.background_jobs import is_job_enqueued

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.knowledge.changes import mark_items
from huf.ai.triggers.conditions import Snapshot, evaluate_condition, validate_condition
from huf.ai.triggers.dispatch import event_job_id
from huf.ai.triggers.doc_events import (
	clear_doc_event_agents_cache,
	get_doc_event_agents,
	run_agent_for_doc,
	run_hooked_agents,
)
from huf.ai.triggers.due_times import check_cron
from huf.ai.triggers.moments import parse_moments, wrap_moment
from huf.ai.triggers.prompts import validate_prompt
from huf.tests.benchmarks.run_cost import count_statements, is_bracket
from huf.tests.contract.connections import elsewhere, together
from huf.tests.doctypes import CASE, EDITOR, make_doctypes
from huf.tests.factories import make, make_agent, make_user, unique
from huf.tests.triggers import TriggerTestCase, events_of, runs_of, todo, work_off


class TestFiring(TriggerTestCase):
	def test_save_starts_one_run_as_the_saving_user(self):
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

	def test_dates_are_compared_alike_for_text_from_a_form_and_stored_values(self):
		trigger = self.trigger(condition="doc.date > now.date() and doc.modified <= now")
		with acting_as(self.user):
			doc = todo(date="2999-01-01")
			stored = frappe.get_doc("ToDo", doc.name)
			stored.description = "Another thing"
			stored.save()
		self.assertEqual([event.status for event in events_of(trigger)], ["Queued", "Queued"])

	def test_dates_are_compared_with_text_whoever_saved_them(self):
		condition = (
			"doc.date == '2999-01-01' and '2026-01-01' < doc.date and doc.date in ['2999-01-01'] and "
			"doc.date.startswith('2999') and doc.date[:4] == '2999' and doc.modified > '2020-01-01'"
		)
		trigger = self.trigger(condition=condition, prompt="{{ doc.date > '2026-01-01' }} {{ doc.date }}")
		with acting_as(self.user):
			doc = todo(date="2999-01-01")
			frappe.get_doc("ToDo", doc.name).save()
		self.assertEqual([event.prompt for event in events_of(trigger)], ["True 2999-01-01"] * 2)

	def test_a_date_that_is_text_as_well_is_compared_with_other_dates_as_a_date(self):
		day = wrap_moment(date(2026, 1, 2))
		self.assertEqual((day, hash(day)), (date(2026, 1, 2), hash(date(2026, 1, 2))))
		self.assertNotEqual(day, datetime(2026, 1, 2))
		with self.assertRaisesRegex(TypeError, r"compared with now\.date\(\)"):
			day < datetime(2026, 1, 3)  # noqa: B015

	def test_condition_that_compares_now_with_a_date_fails_with_advice(self):
		doc = Snapshot({"due": date(2026, 1, 2)})
		for condition in ("now > doc.due", "doc.due < now"):
			_, error = evaluate_condition(condition, doc, "Guest", datetime(2026, 1, 3))
			self.assertIn("compared with now.date()", error)
		checks, error = evaluate_condition("now.date() > doc.due", doc, "Guest", datetime(2026, 1, 3))
		self.assertEqual((checks[0].ok, error), (True, None))

	def test_time_of_day_is_compared_with_the_time_of_now(self):
		doc, now = Snapshot({"at": timedelta(hours=9), "due": date(2026, 1, 2)}), datetime(2026, 1, 3, 10)
		for condition in ("doc.at < now.time()", "now.time() > doc.at", "doc.at != now.time()"):
			checks, error = evaluate_condition(condition, doc, "Guest", now)
			self.assertEqual((checks[0].ok, error), (True, None), condition)
		for condition in ("doc.at < now", "now > doc.at", "doc.due < now.time()"):
			_, error = evaluate_condition(condition, doc, "Guest", now)
			self.assertIn("a time of day with now.time()", error)
		_, error = evaluate_condition("doc.at < 9", doc, "Guest", now)
		self.assertIn("'time' and 'int'", error)

	def test_condition_shows_the_time_and_the_user_that_it_read(self):
		doc, now = Snapshot({"at": timedelta(hours=9)}), datetime(2026, 1, 3, 10, 0, 0, 5)
		checks, _ = evaluate_condition("doc.at > now.time() and user", doc, "anna", now)
		self.assertEqual(checks[0].saw, "at = 09:00:00, now = 2026-01-03 10:00:00")
		checks, _ = evaluate_condition("doc.owner == user", doc, "anna", now)
		self.assertEqual(checks[0].saw, "user = 'anna'")

	def test_a_time_from_a_form_is_read_as_stored_and_other_text_stays(self):
		names = ("at", "to", "zoned", "from_postgres")
		meta = frappe._dict(fields=[frappe._dict(fieldname=name, fieldtype="Time") for name in names])
		values = {"at": "09:30:00", "to": "soon", "zoned": "09:30:00Z", "from_postgres": time(9, 30)}
		parse_moments(values, meta)
		half_past_nine = timedelta(hours=9, minutes=30)
		self.assertEqual(list(values.values()), [half_past_nine, "soon", half_past_nine, half_past_nine])
		self.assertEqual(wrap_moment(half_past_nine), "09:30:00")
		self.assertTrue(wrap_moment(timedelta(0)))

	def test_job_is_enqueued_after_the_commit(self):
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

	def test_later_change_in_the_same_transaction_fires_after_a_skipped_event(self):
		trigger = self.trigger(doc_event="on_change", condition="doc.status == 'Closed'")
		with acting_as(self.user):
			doc = todo()
			self.assertEqual([event.status for event in events_of(trigger)], ["Skipped"])
			doc.db_set("status", "Closed", update_modified=False)
			doc.db_set("priority", "High", update_modified=False)
		(run,) = work_off(trigger)
		self.assertEqual((run.status, [event.status for event in events_of(trigger)]), ("Success", ["Fired"]))

	def test_repeated_dispatch_of_one_save_creates_one_event(self):
		trigger = self.trigger()
		with acting_as(self.user):
			doc = todo()
			run_hooked_agents(doc, "on_update")
			frappe.db.commit()
			run_hooked_agents(doc, "on_update")
			self.assertEqual(len(events_of(trigger)), 1)
			doc.save()
		self.assertEqual(len(events_of(trigger)), 2)

	def test_concurrent_workers_start_one_run_per_event(self):
		trigger = self.trigger()
		with acting_as(self.user):
			todo()
		frappe.db.commit()
		(event,) = events_of(trigger)
		results = together([(run_agent_for_doc, event.name)] * 4)
		frappe.db.rollback()
		self.assertEqual(len([result for result in results if result]), 1)
		self.assertEqual(len(runs_of(trigger)), 1)

	def test_every_selectable_doc_event_fires_with_its_frappe_hook(self):
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

	def test_prompt_contains_changed_fields_and_values_of_a_deleted_document(self):
		saved, deleted = self.trigger(), self.trigger(doc_event="after_delete")
		with acting_as(self.user):
			doc = todo(description="Call Anna")
			doc.reload()
			doc.status = "Closed"
			doc.save()
			frappe.delete_doc("ToDo", doc.name)
		self.assertIn("status: Open → Closed", events_of(saved)[-1].prompt)
		self.assertIn("Call Anna", events_of(deleted)[0].prompt)

	def test_custom_prompt_template_can_read_the_document_but_not_frappe(self):
		own = self.trigger(prompt="Look at {{ doc.name }} of {{ user }}.")
		greedy = self.trigger(prompt="{{ frappe.db.get_value('User', user, 'api_key') }}")
		with acting_as(self.user):
			doc = todo()
		self.assertEqual(events_of(own)[0].prompt, f"Look at {doc.name} of {self.user}.")
		self.assertIn("cannot be rendered", events_of(greedy)[0].reason)
		self.assertEqual(frappe.local.message_log, [], "the saving user sees no message")

	def test_document_referenced_by_runs_can_be_deleted(self):
		trigger = self.trigger()
		with acting_as(self.user):
			doc = todo()
		work_off(trigger)
		frappe.delete_doc("ToDo", doc.name)
		self.assertFalse(frappe.db.exists("ToDo", doc.name))


class TestConditions(TriggerTestCase):
	def test_errors_of_conditions_prompts_and_schedules_are_in_the_language_of_the_user(self):
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"
		for check, reason in (
			(lambda: validate_condition("doc.x ="), "kein Python-Ausdruck"),
			(lambda: validate_condition("other.x"), "aber nicht other"),
			(lambda: validate_prompt("{{ doc.x"), "keine Jinja-Vorlage"),
		):
			with self.assertRaisesRegex(UsageError, reason):
				check()
		self.assertIn("fünf Felder", check_cron("at nine"))

	def test_unmet_condition_is_recorded_clause_by_clause(self):
		trigger = self.trigger(condition="doc.status == 'Open' and doc.priority == 'High' and user")
		with acting_as(self.user):
			todo(priority="Low")
		(event,) = events_of(trigger)
		self.assertEqual((event.status, event.run), ("Skipped", None))
		self.assertIn("doc.priority == 'High' (priority = 'Low')", event.reason)
		self.assertEqual([check["ok"] for check in json.loads(event.checks)], [True, False, None])
		self.assertEqual(work_off(trigger), [])

	def test_condition_error_is_shown_on_the_trigger_and_does_not_disable_it(self):
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

	def test_condition_can_use_has_value_changed(self):
		trigger = self.trigger(condition="doc.has_value_changed('status') and doc.status == 'Closed'")
		with acting_as(self.user):
			doc = todo()
			doc.status = "Closed"
			doc.save()
			doc.priority = "High"
			doc.save()
		self.assertEqual([event.status for event in events_of(trigger)], ["Skipped", "Queued", "Skipped"])

	def test_a_trigger_on_records_that_are_written_without_events_is_refused(self):
		for doctype in ("Agent Mail", "Agent Stop", "Knowledge Item"):
			with self.assertRaisesRegex(frappe.ValidationError, "cannot have triggers"):
				self.trigger(reference_doctype=doctype, doc_event="after_insert")

	def test_a_stored_trigger_on_such_records_can_be_disabled(self):
		trigger = self.trigger()
		frappe.db.set_value("Agent Trigger", trigger.name, "reference_doctype", "Agent Mail")
		stored = frappe.get_doc("Agent Trigger", trigger.name)
		stored.disabled = 1
		stored.save()

	def test_a_stored_condition_that_cannot_be_read_fails_its_event_and_no_save(self):
		trigger = self.trigger()
		frappe.db.set_value("Agent Trigger", trigger.name, "condition", f"doc.status == {'x' * 6000!r}")
		clear_doc_event_agents_cache()
		with acting_as(self.user):
			todo()
		(event,) = events_of(trigger)
		self.assertEqual(event.status, "Failed")
		self.assertIn("longer than", event.reason)

	def test_condition_cannot_change_documents(self):
		for condition in ("doc.save()", "doc.db_set('status', 'Closed')", "doc.delete()"):
			with self.subTest(condition):
				trigger = self.trigger()
				# The form refuses this, but an earlier version may have stored it.
				trigger.db_set("condition", condition)
				frappe.db.commit()
				with acting_as(self.user):
					doc = todo()
				self.assertEqual(events_of(trigger)[0].status, "Failed")
				self.assertEqual(frappe.db.get_value("ToDo", doc.name, "status"), "Open")


class TestMap(TriggerTestCase):
	"""The cached map of triggers is never older than the triggers."""

	def test_save_without_a_matching_trigger_costs_no_query(self):
		self.trigger()
		note = make("Note", title=unique("Note"))
		note.save()

		def dispatch_save():
			note.modified = "2026-01-01 00:00:00.000000"
			run_hooked_agents(note, "on_update")
			run_hooked_agents(note, "on_change")

		self.assertEqual([sql for sql in count_statements(dispatch_save) if not is_bracket(sql)], [])

	def test_a_save_during_a_migration_reads_nothing_and_fires_nothing(self):
		trigger = self.trigger()

		def dispatch_save():
			run_hooked_agents(doc, "on_update")
			run_hooked_agents(doc, "on_change")
			mark_items(doc, "on_change")

		with acting_as(self.user), patch.dict(frappe.local.flags, in_migrate=True):
			doc = todo()
			frappe.clear_cache()
			read = [sql for sql in count_statements(dispatch_save) if not is_bracket(sql)]
		self.assertEqual((read, events_of(trigger)), ([], []), "tables and columns may not exist yet")

	def test_trigger_map_follows_disabling_enabling_and_deletion(self):
		trigger = self.trigger()
		self.assertTrue(self.is_mapped(trigger))
		trigger.disabled = 1
		trigger.save()
		self.assertFalse(self.is_mapped(trigger))
		trigger.disabled = 0
		trigger.save()
		self.assertTrue(self.is_mapped(trigger))
		frappe.delete_doc("Agent Trigger", trigger.name)
		self.assertFalse(self.is_mapped(trigger))

	def test_trigger_of_a_disabled_agent_is_not_in_the_map(self):
		agent = make_agent()
		trigger = self.trigger(agent=agent)
		doc = frappe.get_doc("Agent", agent)
		doc.disabled = 1
		doc.save()
		self.assertFalse(self.is_mapped(trigger))

	def test_trigger_map_follows_commits_of_other_connections(self):
		trigger = self.trigger()
		self.assertTrue(self.is_mapped(trigger))
		elsewhere(lambda: frappe.get_doc("Agent Trigger", trigger.name).update({"disabled": 1}).save())
		frappe.db.rollback()
		self.assertFalse(self.is_mapped(trigger))

	def test_uncommitted_trigger_is_visible_only_to_its_own_connection(self):
		trigger = make("Agent Trigger", **self.values())
		self.assertTrue(self.is_mapped(trigger))
		self.assertFalse(elsewhere(self.is_mapped, trigger))
		frappe.db.rollback()
		self.assertFalse(self.is_mapped(trigger))

	def test_rolled_back_trigger_change_does_not_affect_the_map(self):
		trigger = self.trigger()
		trigger.disabled = 1
		trigger.save()
		frappe.db.rollback()
		self.assertTrue(self.is_mapped(trigger))
		self.assertTrue(elsewhere(self.is_mapped, trigger))

	def test_trigger_map_has_current_agent_instructions(self):
		agent = make_agent()
		trigger = self.trigger(agent=agent)
		doc = frappe.get_doc("Agent", agent)
		doc.instructions = "Be brief."
		doc.save()
		(found,) = [each for each in get_doc_event_agents("on_update") if each.name == trigger.name]
		self.assertEqual(found.instructions, "Be brief.")

	def is_mapped(self, trigger) -> bool:
		return trigger.name in [found.name for found in get_doc_event_agents("on_update")]

	def values(self) -> dict:
		name = unique("Trigger")
		return {
			"trigger_name": name,
			"agent": self.agent,
			"reference_doctype": "ToDo",
			"doc_event": "on_update",
		}
