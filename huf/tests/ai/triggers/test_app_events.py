"""App events: from `huf.emit` to a run."""

import frappe

import huf
from huf.ai.core.session import acting_as
from huf.tests.benchmarks.run_cost import count_statements, is_bracket
from huf.tests.doctypes import EDITOR, make_case, make_doctypes
from huf.tests.factories import make_user, unique
from huf.tests.triggers import EVENT, TriggerTestCase, events_of, runs_of, todo, work_off

TEMPLATE = "{{ doc.title }} {{ doc.fee }} {{ payload_text }}"


class TestAppEvents(TriggerTestCase):
	def setUp(self):
		super().setUp()
		self.event = unique("payment received")

	def test_emitted_event_starts_one_run_as_the_session_user(self):
		trigger = self.trigger("App Event", event_name=self.event)
		with acting_as(self.user):
			(event,) = huf.emit(self.event, {"invoice": "INV-1"})
		(run,) = work_off(trigger)
		self.assertEqual((run.run_as, run.trigger), (self.user, trigger.name))
		self.assertIn("INV-1", run.prompt)
		self.assertIn(self.event, run.prompt)
		self.assertEqual(events_of(trigger)[0].name, event)

	def test_event_emitted_in_a_rolled_back_transaction_starts_no_run(self):
		trigger = self.trigger("App Event", event_name=self.event, run_as=self.user)
		huf.emit(self.event)
		frappe.db.rollback()
		self.assertEqual(work_off(trigger), [])

	def test_events_with_the_same_key_start_one_run(self):
		trigger = self.trigger("App Event", event_name=self.event, run_as=self.user)
		for key in ("a", "a", "b", None, None):
			huf.emit(self.event, key=key)
		self.assertEqual(len(work_off(trigger)), 4)

	def test_emitted_document_is_checked_by_the_condition_and_referenced(self):
		trigger = self.trigger("App Event", event_name=self.event, condition="doc.priority == 'High'")
		with acting_as(self.user):
			doc = todo(priority="High")
			huf.emit(self.event, doc)
		(event,) = events_of(trigger)
		self.assertEqual((event.status, event.reference_name), ("Queued", doc.name))

	def test_unmet_condition_names_the_value_within_an_object(self):
		condition = "doc.order.total > 10 and doc.order.items[0].price > 5"
		trigger = self.trigger("App Event", event_name=self.event, condition=condition, run_as=self.user)
		huf.emit(self.event, {"order": {"total": 5}})
		huf.emit(self.event, {"order": {"total": 50, "items": [{"price": 3}]}})
		small, cheap = (event.reason for event in events_of(trigger))
		self.assertEqual(small, "Condition not met: doc.order.total > 10 (order.total = 5)")
		self.assertEqual(cheap, "Condition not met: doc.order.items[0].price > 5")

	def test_trigger_of_a_manager_gets_what_its_user_may_read_of_an_emitted_document(self):
		make_doctypes()
		readers = make_user("Huf Manager", EDITOR), make_user("Huf Manager")
		case = make_case(title="Roof", fee="S4711")
		for reader in readers:
			with acting_as(reader):
				self.trigger("App Event", event_name=self.event, run_as=reader, prompt=TEMPLATE)
		huf.emit(self.event, case)
		found = {e.run_as: e for e in frappe.get_all(EVENT, {"reference_name": case.name}, ["*"])}
		seen, unseen = (found[reader] for reader in readers)
		self.assertIn("Roof", seen.prompt)
		self.assertNotIn("4711", seen.prompt + seen.payload)
		self.assertEqual((unseen.status, unseen.prompt), ("Skipped", None))
		self.assertNotIn("Roof", unseen.payload or "")

	def test_rows_of_a_list_and_keys_of_any_type_are_emitted(self):
		trigger = self.trigger("App Event", event_name=self.event, run_as=self.user)
		huf.emit(self.event, frappe._dict(invoice="INV-1"), key=4711)
		(event,) = events_of(trigger)
		self.assertEqual((event.event_key, "INV-1" in event.prompt), ("4711", True))

	def test_event_without_a_trigger_costs_no_query(self):
		self.trigger("App Event", event_name=self.event)
		huf.emit("something else")
		self.assertEqual(
			[s for s in count_statements(lambda: huf.emit("something")) if not is_bracket(s)], []
		)

	def test_event_emitted_by_a_run_does_not_start_its_own_trigger(self):
		trigger = self.trigger("App Event", event_name=self.event, run_as=self.user)
		huf.emit(self.event)
		(run,) = work_off(trigger)
		frappe.flags.huf_run = run.name
		self.addCleanup(frappe.flags.update, {"huf_run": None})
		huf.emit(self.event)
		self.assertEqual(events_of(trigger)[-1].status, "Skipped")
		self.assertEqual(len(runs_of(trigger)), 1)
