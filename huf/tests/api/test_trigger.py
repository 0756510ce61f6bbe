"""REST endpoints of triggers: lists, manual start, explanations and backtests."""

import json
from datetime import date, datetime, timedelta
from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.core.errors import TooManyRuns, UsageError
from huf.ai.core.session import acting_as
from huf.ai.triggers.backtest import find_decimal_sign, parse_version_value, revert_version
from huf.api import trigger as api
from huf.tests.contract.connections import together
from huf.tests.doctypes import CASE, EDITOR, ORDER, make_doctypes
from huf.tests.factories import make, make_agent, make_user, unique
from huf.tests.triggers import TriggerTestCase, events_of, runs_of, todo, work_off


class TestLists(TriggerTestCase):
	def test_triggers_are_listed_with_their_condition_and_last_event(self):
		trigger = self.trigger(condition="doc.priority == 'High'")
		with acting_as(self.user):
			todo(priority="Low")
		(row,) = api.get_triggers(agent=self.agent)
		self.assertEqual((row.name, row.condition, row.last_error), (trigger.name, trigger.condition, None))
		self.assertEqual(row.last_event.status, "Skipped")
		(event,) = api.get_events(trigger.name, status="Skipped")
		self.assertEqual(event["checks"][0]["saw"], "priority = 'Low'")

	def test_enabling_a_schedule_sets_its_next_time(self):
		trigger = self.trigger("Schedule", cron="0 9 * * *", run_as=self.user, disabled=1)
		self.assertIsNone(trigger.next_execution)
		self.assertTrue(api.set_enabled(trigger.name, True)["next_execution"])
		self.assertIsNone(api.set_enabled(trigger.name, False)["next_execution"])

	def test_users_without_permission_cannot_read_test_or_change_triggers(self):
		trigger = self.trigger()
		with acting_as(self.user):
			for attempt in (
				lambda: api.get_triggers(),
				lambda: api.get_events(trigger.name),
				lambda: api.explain(trigger.name),
				lambda: api.backtest(trigger.name),
				lambda: api.backtest(values={"trigger_type": "Schedule", "cron": "* * * * *"}),
				lambda: api.set_enabled(trigger.name, False),
				lambda: api.fire(trigger.name),
			):
				with self.assertRaises(frappe.PermissionError):
					attempt()

	def test_trigger_events_are_readable_by_their_user_and_by_managers(self):
		trigger = self.trigger()
		with acting_as(self.user):
			todo()
		(event,) = events_of(trigger)
		for user, is_visible in (
			(self.user, True),
			(make_user("Huf User"), False),
			(make_user("Huf Manager"), True),
		):
			with acting_as(user):
				self.assertEqual(
					bool(frappe.get_list("Agent Trigger Event", {"name": event.name})), is_visible
				)
				self.assertEqual(
					frappe.get_doc("Agent Trigger Event", event.name).has_permission("read"), is_visible
				)


def press(trigger: str, user: str) -> dict:
	with acting_as(user):
		return api.fire(trigger, key="one press")


class TestButtons(TriggerTestCase):
	def test_pressing_a_button_twice_starts_one_run_as_the_pressing_user(self):
		trigger = self.trigger("Manual", prompt="Do it for {{ payload.who }}.")
		with acting_as(self.user):
			for _ in range(2):
				event = api.fire(trigger.name, payload='{"who": "Anna"}', key="one press")
		self.assertEqual((event["status"], event["prompt"]), ("Queued", "Do it for Anna."))
		(run,) = work_off(trigger)
		self.assertEqual((run.run_as, run.prompt), (self.user, "Do it for Anna."))
		self.assertEqual(frappe.db.get_value("Agent Conversation", run.conversation, "channel"), "manual")

	def test_the_same_press_at_the_same_moment_is_answered_with_one_event(self):
		trigger = self.trigger("Manual", prompt="Go")
		events = together([(press, trigger.name, self.user)] * 4)
		self.assertEqual({(event["name"], event["prompt"]) for event in events}, {(events[0]["name"], "Go")})
		self.assertEqual(len(work_off(trigger)), 1)

	def test_the_same_key_of_another_user_starts_a_run_of_its_own(self):
		trigger = self.trigger("Manual", prompt="Do it for {{ payload.who }}.")
		with acting_as(self.user):
			api.fire(trigger.name, payload={"who": "Anna"}, key="1")
		with acting_as(make_user("Huf User")):
			event = api.fire(trigger.name, payload={"who": "Bob"}, key="1")
		self.assertEqual(event["prompt"], "Do it for Bob.")

	def test_presses_of_a_button_count_towards_the_runs_per_hour(self):
		trigger = self.trigger("Manual", agent=make_agent(runs_per_hour=1), prompt="Go")
		with acting_as(self.user):
			for _ in range(2):
				api.fire(trigger.name, key="one press")
			with self.assertRaises(TooManyRuns):
				api.fire(trigger.name)

	def test_starting_a_manual_trigger_needs_permission_on_its_agent(self):
		hidden = self.trigger("Manual", agent=make_agent(roles=[{"role": "System Manager"}]))
		with acting_as(self.user), self.assertRaises(frappe.PermissionError):
			api.fire(hidden.name)
		with self.assertRaises(frappe.PermissionError):
			api.fire("There is no such trigger")

	def test_only_managers_can_start_a_trigger_that_runs_as_another_user(self):
		trigger = self.trigger("Manual", run_as=make_user("Huf User"))
		with acting_as(self.user), self.assertRaises(frappe.PermissionError):
			api.fire(trigger.name)
		with acting_as(make_user("Huf Manager")):
			self.assertEqual(api.fire(trigger.name)["status"], "Queued")

	def test_managers_can_start_any_trigger_even_if_it_is_disabled(self):
		manager = make_user("Huf Manager")
		trigger = self.trigger(condition="doc.priority == 'High'", disabled=1)
		with acting_as(manager):
			low, high = todo(priority="Low"), todo(priority="High")
			self.assertIn("Condition not met", api.fire(trigger.name, document=low.name)["reason"])
			self.assertEqual(api.fire(trigger.name, document=high.name)["status"], "Queued")
			with self.assertRaises(UsageError):
				api.fire(trigger.name, document="There is no such to-do")
		self.assertEqual([run.reference_name for run in work_off(trigger)], [high.name])
		self.assertEqual(runs_of(trigger)[0].run_as, manager)


class TestWhy(TriggerTestCase):
	def test_a_document_is_explained_condition_by_condition(self):
		trigger = self.trigger(condition="doc.status == 'Open' and doc.priority == 'High'", disabled=1)
		with acting_as(make_user("Huf Manager")):
			doc = todo(priority="Low")
			explanation = api.explain(trigger.name, document=doc.name)
		self.assertFalse(explanation["would_fire"])
		checks = [(check["text"], check["ok"]) for check in explanation["checks"]]
		self.assertEqual(checks[0], ("The trigger is enabled", False))
		self.assertEqual(checks[-2:], [("doc.status == 'Open'", True), ("doc.priority == 'High'", False)])
		self.assertEqual(events_of(trigger), [], "explaining writes nothing")

	def test_explain_shows_the_values_at_the_time_of_the_event(self):
		trigger = self.trigger(condition="doc.status == 'Closed'")
		with acting_as(self.user):
			doc = todo()
			explanation = api.explain(event=events_of(trigger)[0].name)
			doc.status = "Closed"
			doc.save()
		self.assertEqual(
			(explanation["status"], explanation["checks"][0]["saw"]), ("Skipped", "status = 'Open'")
		)
		explanation = api.explain(trigger.name, document=doc.name)
		self.assertEqual([event["status"] for event in explanation["events"]], ["Queued", "Skipped"])

	def test_explanation_says_that_the_run_as_user_is_disabled(self):
		user = make_user("Huf User")
		trigger, doc = self.trigger(run_as=user), todo()
		self.assertTrue(api.explain(trigger.name, document=doc.name)["would_fire"])
		frappe.db.set_value("User", user, "enabled", 0)
		explanation = api.explain(trigger.name, document=doc.name)
		self.assertFalse(explanation["would_fire"])
		self.assertIn(f"The user {user} is disabled", explanation["reason"])

	def test_a_trigger_on_a_single_record_is_explained_fired_and_backtested(self):
		trigger = self.trigger(reference_doctype="Agent Chat", run_as=self.user)
		self.assertTrue(api.explain(trigger.name)["would_fire"])
		self.assertEqual(api.fire(trigger.name)["status"], "Queued")
		self.assertIn("single record", api.backtest(trigger.name)["notes"][0])


class TestBacktest(TriggerTestCase):
	"""Backtests on a DocType that tracks changes."""

	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		make_doctypes()
		cls.editor = make_user("Huf Manager", EDITOR)
		cls.mark = unique("backtest")
		with acting_as(cls.editor):
			cls.make_history()
		frappe.db.commit()

	@classmethod
	def make_history(cls):
		"""Three cases: one is raised to 7 and lowered, one is raised and submitted, one is unchanged."""
		first, second, _third = [
			frappe.get_doc({"doctype": CASE, "title": cls.mark, "amount": 1}).insert() for _ in range(3)
		]
		for doc, amounts in ((first, (7, 2)), (second, (7,))):
			for amount in amounts:
				doc = frappe.get_doc(CASE, doc.name)
				doc.amount = amount
				doc.save(ignore_version=False)  # Frappe writes no versions in tests by default
		doc.docstatus = 1
		doc.save(ignore_version=False)

	def backtest(self, doc_event, condition="doc.title", **values):
		values = {
			"trigger_type": "Doc Event",
			"agent": self.agent,
			"reference_doctype": CASE,
			"doc_event": doc_event,
			"condition": f"doc.title == {self.mark!r} and {condition}",
			**values,
		}
		with acting_as(self.editor):
			return api.backtest(values=values)

	def test_backtest_counts_matching_changes_and_documents_of_each_event(self):
		for event, times, documents in (
			("after_insert", 3, 3),
			("on_update", 7, 3),
			("on_change", 7, 3),
			("on_submit", 1, 1),
			("on_update_after_submit", 0, 0),
			("on_cancel", 0, 0),
		):
			with self.subTest(event):
				found = self.backtest(event)
				self.assertEqual((found["times"], found["documents"]), (times, documents))
		self.assertIn("would have fired 7 times on 3 documents", self.backtest("on_update")["summary"])

	def test_conditions_are_evaluated_on_historical_values(self):
		found = self.backtest("on_update", "doc.amount == 7 and doc.has_value_changed('amount')")
		self.assertEqual((found["times"], found["documents"]), (2, 2))
		self.assertEqual({each["by"] for each in found["examples"]}, {self.editor})
		found = self.backtest("after_insert", "doc.amount == 1")
		self.assertEqual(found["times"], 3)

	def test_documents_that_the_run_as_user_may_not_read_are_not_counted(self):
		self.assertEqual(self.backtest("after_insert", run_as=self.editor)["times"], 3)
		found = self.backtest("after_insert", run_as=self.user)
		self.assertEqual(found["times"], 0)
		self.assertIn(f"that {self.user} may not read", found["notes"][0])

	def test_at_most_five_examples_are_returned_newest_first(self):
		examples = self.backtest("on_change")["examples"]
		self.assertEqual(len(examples), 5)
		self.assertEqual(
			sorted((each["at"] for each in examples), reverse=True), [each["at"] for each in examples]
		)

	def test_errors_of_a_condition_are_counted_in_the_notes(self):
		found = self.backtest("after_insert", "int(doc.title)")
		self.assertEqual(found["times"], 0)
		self.assertIn("failed 3 times", found["notes"][0])

	def test_changes_older_than_the_requested_days_are_not_counted(self):
		long_ago = now_datetime() - timedelta(days=40)
		names = frappe.get_all(CASE, {"title": self.mark}, pluck="name", order_by="name asc")
		before = {
			name: frappe.db.get_value(CASE, name, ["creation", "modified"], as_dict=True) for name in names
		}
		frappe.db.set_value(
			CASE, names[0], {"creation": long_ago, "modified": long_ago}, update_modified=False
		)
		self.assertEqual(self.backtest("after_insert")["times"], 2)
		for name, times in before.items():
			frappe.db.set_value(CASE, name, dict(times), update_modified=False)

	def test_backtest_needs_read_permission_on_the_doctype(self):
		trigger = {"trigger_type": "Doc Event", "reference_doctype": CASE, "doc_event": "on_update"}
		with acting_as(make_user("Huf Manager")), self.assertRaises(frappe.PermissionError):
			api.backtest(values=trigger)

	def test_backtest_of_a_schedule_returns_its_count_and_next_times(self):
		for values, least in (({"cron": "0 9 * * *"}, 30), ({"cron": "*/10 * * * *"}, 4320)):
			found = api.backtest(values={"trigger_type": "Schedule", "agent": self.agent, **values})
			self.assertIn(found["times"], (least, least + 1))
			self.assertEqual((len(found["examples"]), len(found["coming"])), (5, 5))
		workdays = api.backtest(
			values={"trigger_type": "Schedule", "cron": "0 9 * * *", "condition": "now.weekday() < 5"}, days=7
		)
		self.assertEqual(workdays["times"], 5)

	def test_backtest_ends_after_a_time_and_says_so(self):
		values = {"trigger_type": "Schedule", "cron": "* * * * *", "condition": "now.hour < 99"}
		with patch("huf.ai.triggers.backtest.MAX_SECONDS", 0):
			found = api.backtest(values=values, days=365)
		self.assertLess(found["looked_at"], 100)
		self.assertRegex(found["notes"][0], "Stopped after 0 seconds and .* Choose fewer days")

	def test_changes_by_users_that_triggers_do_not_run_as_are_not_counted(self):
		mark = unique("of a manager")
		with acting_as(make_user("System Manager", EDITOR)):
			frappe.get_doc({"doctype": CASE, "title": mark}).insert()
		values = {"trigger_type": "Doc Event", "reference_doctype": CASE, "doc_event": "after_insert"}
		with acting_as(self.editor):
			found = api.backtest(values={**values, "condition": f"doc.title == {mark!r}"})
		self.assertEqual(found["times"], 0)
		self.assertIn("Not counted: 1 change by users", found["notes"][0])

	def test_historical_numbers_are_parsed_in_the_number_format_of_the_site(self):
		amount = frappe.get_meta(CASE).get_field("amount")
		for number_format, written, value in (
			("#.###,##", "€ 1.234,50", 1234.5),
			("# ###,##", "1 234,50", 1234.5),
			("#,###.##", "Fr. -1,234.50", -1234.5),
			("#,###", "1,234", 1234),
			("#.###", "1.234", 1234),
		):
			with patch.object(frappe.db, "get_singles_dict", return_value={"number_format": number_format}):
				sign = find_decimal_sign()
			self.assertEqual(parse_version_value(written, amount, sign), value, number_format)
		self.assertEqual(parse_version_value(7, amount, "."), 7)
		percent = frappe._dict(fieldtype="Percent")
		self.assertEqual(parse_version_value("12.5%", percent, ","), 12.5)

	def test_dates_in_the_history_are_dates_if_their_format_is_known(self):
		day = frappe._dict(fieldtype="Date")
		self.assertEqual(parse_version_value("2026-02-01", day, "."), date(2026, 2, 1))
		self.assertEqual(parse_version_value("01-02-2026", day, "."), "01-02-2026")

	def test_numbers_of_rows_in_the_history_are_numbers(self):
		values = {"lines": [{"name": "row", "qty": 7}]}
		of_removed_table = ["gone", 0, "row", [["qty", "1", "2"]]]
		changed = {"row_changed": [["lines", 0, "row", [["qty", "1,005", "7"]]], of_removed_table]}
		before = revert_version(values, changed, frappe.get_meta(ORDER), ".")
		self.assertEqual(before["lines"], [{"name": "row", "qty": 1005}])

	def test_times_of_removed_rows_in_the_history_are_times(self):
		removed = {"removed": [["lines", {"name": "row", "creation": "2026-01-01 10:00:00"}]]}
		before = revert_version({"lines": []}, removed, frappe.get_meta(ORDER), ".")
		self.assertEqual(before["lines"][0]["creation"], datetime(2026, 1, 1, 10))

	def test_dates_of_deleted_documents_are_dates(self):
		data = json.dumps({"date": "2020-01-01", "description": self.mark})
		make("Deleted Document", deleted_doctype="ToDo", deleted_name=unique("todo"), data=data)
		condition = f"doc.description == {self.mark!r} and doc.date < now.date()"
		trigger = self.trigger(doc_event="on_trash", condition=condition, run_as=self.user)
		self.assertEqual(api.backtest(trigger.name)["times"], 1)

	def test_backtest_of_deletions_needs_permission_on_deleted_documents(self):
		self.assertIn("may not read deleted documents", self.backtest("on_trash")["notes"][0])

	def test_backtest_refuses_invalid_trigger_values(self):
		with self.assertRaises(frappe.ValidationError):
			self.backtest("on_change", "unknown_name")
		schedule = {"trigger_type": "Schedule"}
		for values in (
			[1],
			{"trigger_type": "Doc Event", "reference_doctype": ["ToDo"], "doc_event": "on_update"},
			{**schedule, "scheduled_interval": "Sometimes"},
			{**schedule, "scheduled_interval": "Daily", "starts_on": "soon"},
			{**schedule, "scheduled_interval": "Yearly", "interval_count": 9_000},
		):
			with self.subTest(str(values)), self.assertRaises((UsageError, frappe.ValidationError)):
				api.backtest(values=json.dumps(values))
		rare = {**schedule, "scheduled_interval": "Yearly", "interval_count": 3_000, "condition": 1}
		self.assertEqual(len(api.backtest(values=rare)["coming"]), 2)
