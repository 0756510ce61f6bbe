"""Schedules at given times: at most one run per due time, whatever the clock and the schedulers do."""

from datetime import datetime, timedelta
from unittest.mock import patch

import frappe
from frappe.utils import get_datetime, now_datetime

from huf.ai.storage.rows import insert_row
from huf.ai.triggers.schedules import clear_old_events, run_due_triggers
from huf.tests.contract.connections import together
from huf.tests.factories import make_agent, unique
from huf.tests.triggers import TriggerTestCase, events_of, work_off

DAY = datetime(2031, 3, 3)
"""In the future, so that the site's own scheduler, which uses the real time, leaves these triggers alone."""


def at(clock: str) -> datetime:
	hours, minutes = map(int, clock.split(":"))
	return DAY + timedelta(hours=hours, minutes=minutes, seconds=3)


class TestSchedule(TriggerTestCase):
	def schedule(self, first: str = "10:00", **values):
		"""Makes a trigger that is due every ten minutes, next at `first` of `DAY`."""
		trigger = self.trigger("Schedule", run_as=self.user, **{"cron": "*/10 * * * *", **values})
		due = at(first).replace(second=0)
		frappe.db.set_value("Agent Trigger", trigger.name, "next_execution", due, update_modified=False)
		frappe.db.commit()
		return trigger

	def fired(self, trigger) -> list[str]:
		return [event.event_key[11:16] for event in events_of(trigger, status=["!=", "Skipped"])]

	def next_of(self, trigger) -> datetime:
		return get_datetime(frappe.db.get_value("Agent Trigger", trigger.name, "next_execution"))

	def test_due_schedule_starts_one_run_as_the_run_as_user(self):
		trigger = self.schedule()
		run_due_triggers(at("09:59"))
		self.assertEqual(self.fired(trigger), [])
		run_due_triggers(at("10:00"))
		(run,) = work_off(trigger)
		self.assertEqual((run.status, run.run_as), ("Success", self.user))
		self.assertIn("2031-03-03 10:00", run.prompt)
		conversation_doc = frappe.get_doc("Agent Conversation", run.conversation)
		self.assertEqual(
			(conversation_doc.channel, conversation_doc.external_id, conversation_doc.owner),
			("schedule", "Administrator", self.user),
		)

	def test_next_execution_is_advanced_before_the_run_starts(self):
		trigger = self.schedule()
		run_due_triggers(at("10:00"))
		self.assertEqual(events_of(trigger)[0].status, "Queued")
		self.assertEqual(self.next_of(trigger), at("10:10").replace(second=0))

	def test_failing_schedule_fires_once_per_due_time(self):
		trigger = self.schedule(prompt="{{ '' }}")
		for minute in range(25):
			run_due_triggers(at(f"10:{minute:02}"))
		self.assertEqual(self.fired(trigger), ["10:00", "10:10", "10:20"])
		self.assertIn("is empty", events_of(trigger)[0].reason)

	def test_clock_set_back_repeats_no_due_time(self):
		trigger = self.schedule()
		for clock in ("10:00", "10:10", "10:20", "10:05", "10:10", "10:20", "10:25", "10:30"):
			run_due_triggers(at(clock))
		self.assertEqual(self.fired(trigger), ["10:00", "10:10", "10:20", "10:30"])

	def test_clock_that_jumped_ahead_does_not_block_later_due_times(self):
		trigger = self.schedule()
		for moment in (at("10:00"), at("10:03") + timedelta(days=1), at("10:05"), at("10:10"), at("10:20")):
			run_due_triggers(moment)
		keys = [event.event_key for event in events_of(trigger)]
		self.assertEqual(
			keys, [f"2031-03-{day}:00" for day in ("03 10:00", "04 10:00", "03 10:10", "03 10:20")]
		)

	def test_scheduler_outage_is_caught_up_with_one_run_or_skipped(self):
		once, skip = self.schedule(catch_up="Run once"), self.schedule(catch_up="Skip")
		hourly = self.schedule(cron="0 * * * *", catch_up="Skip")
		for clock in ("10:00", "16:25", "16:26", "16:30"):
			run_due_triggers(at(clock))
		self.assertEqual(self.fired(once), ["10:00", "16:20", "16:30"])
		self.assertEqual(self.fired(skip), ["10:00", "16:20", "16:30"], "16:20 is on time")
		self.assertEqual(self.fired(hourly), ["10:00"])
		(missed,) = events_of(hourly, status="Skipped")
		self.assertIn("it was missed by 0:25", missed.reason)

	def test_missed_due_time_is_caught_up_once(self):
		trigger = self.schedule(cron="0 10 * * *")
		for clock in ("16:25", "16:26", "17:00"):
			run_due_triggers(at(clock))
		self.assertEqual(self.fired(trigger), ["10:00"])
		self.assertEqual(self.next_of(trigger), DAY + timedelta(days=1, hours=10))

	def test_concurrent_schedulers_fire_each_due_time_once(self):
		trigger = self.schedule()
		for clock in ("10:00", "10:10", "10:20"):
			together([(run_due_triggers, at(clock))] * 2)
			frappe.db.rollback()
		self.assertEqual(self.fired(trigger), ["10:00", "10:10", "10:20"])
		self.assertEqual(len(work_off(trigger)), 3)

	def test_schedule_condition_can_use_the_current_time(self):
		trigger = self.schedule(condition="now.hour == 11")
		for clock in ("10:50", "11:00"):
			run_due_triggers(at(clock))
		self.assertEqual(self.fired(trigger), ["11:00"])

	def test_disabled_schedule_is_not_due(self):
		trigger = self.schedule()
		trigger.reload()
		trigger.disabled = 1
		trigger.save()
		self.assertIsNone(trigger.next_execution)
		agent = make_agent()
		other = self.schedule(agent=agent)
		frappe.get_doc("Agent", agent).update({"disabled": 1}).save()
		frappe.db.commit()
		run_due_triggers(at("10:30"))
		self.assertEqual((events_of(trigger), self.fired(other)), ([], []))

	def test_one_broken_schedule_does_not_stop_the_others(self):
		broken, good = self.schedule(trigger_name=unique("A")), self.schedule(trigger_name=unique("B"))
		frappe.db.set_value("Agent Trigger", broken.name, "cron", "nonsense")
		frappe.db.commit()
		run_due_triggers(at("10:00"))
		self.assertEqual(self.fired(good), ["10:00"])
		shown = frappe.db.get_value("Agent Trigger", broken.name, "last_error")
		self.assertIn("The schedule cannot be read", shown)
		endless = {"cron": None, "scheduled_interval": "Weekly", "interval_count": 2_000_000_000}
		frappe.db.set_value("Agent Trigger", broken.name, {**endless, "starts_on": at("09:00")})
		frappe.db.commit()
		run_due_triggers(at("10:10"))
		self.assertEqual(self.fired(good), ["10:00", "10:10"])

	def test_interval_whose_next_time_is_after_year_9999_is_refused(self):
		for interval, number in (("Weekly", 2_000_000_000), ("Yearly", 9_000)):
			values = {"cron": None, "scheduled_interval": interval, "interval_count": number}
			for start in (None, at("10:00")):
				with (
					self.subTest(f"{interval} {start}"),
					self.assertRaisesRegex(frappe.ValidationError, "9999"),
				):
					self.trigger("Schedule", run_as=self.user, starts_on=start, **values)

	def test_due_time_in_the_dst_gap_fires_after_the_gap(self):
		trigger = self.schedule(cron="30 2 * * *", catch_up="Skip")
		zone = patch.dict(frappe.local.conf, {"time_zone": "Europe/Berlin"})
		with zone, patch("huf.ai.core.times.get_system_timezone", return_value="Europe/Berlin"):
			frappe.db.set_value("Agent Trigger", trigger.name, "next_execution", datetime(2031, 3, 30, 2, 30))
			run_due_triggers(datetime(2031, 3, 30, 3, 0, 20))
			self.assertEqual(self.fired(trigger), ["02:30"])
			frappe.db.set_value("Agent Trigger", trigger.name, "next_execution", datetime(2031, 3, 31, 2, 30))
			run_due_triggers(datetime(2031, 3, 31, 3, 0, 20))
			self.assertEqual(self.fired(trigger), ["02:30"])

	def test_skipped_events_are_deleted_after_30_days_fired_ones_are_kept(self):
		trigger = self.schedule(condition="now.minute == 0")
		for clock in ("10:00", "10:10"):
			run_due_triggers(at(clock))
		work_off(trigger)
		clear_old_events(now_datetime() + timedelta(days=29))
		self.assertEqual(len(events_of(trigger)), 2)
		clear_old_events(now_datetime() + timedelta(days=31))
		(event,) = events_of(trigger)
		self.assertEqual((event.status, bool(event.prompt)), ("Fired", True))

	def test_retention_of_runs_clears_event_contents_and_then_events(self):
		trigger = self.schedule()
		run_due_triggers(at("10:00"))
		work_off(trigger)
		self.set_retention(contents=10, runs=20)
		self.addCleanup(self.set_retention, contents=0, runs=0)
		(event,) = events_of(trigger)
		contents = {"payload": "what a service has sent", "reason": "Condition not met: what it has sent"}
		without_prompt = [
			insert_row("Agent Trigger Event", {"trigger": trigger.name, "status": status, **contents})
			for status in ("Failed", "Skipped")
		]
		clear_old_events(now_datetime() + timedelta(days=11))
		remaining = frappe.get_all(
			"Agent Trigger Event",
			{"trigger": trigger.name},
			["name", "prompt", "payload", "reason"],
			order_by="name",
		)
		self.assertEqual({row.name for row in remaining}, {event.name, *without_prompt})
		self.assertEqual({(row.prompt, row.payload, row.reason) for row in remaining}, {(None, None, None)})
		clear_old_events(now_datetime() + timedelta(days=21))
		self.assertEqual([event.name for event in events_of(trigger)], without_prompt[1:])

	def set_retention(self, contents: int, runs: int):
		frappe.db.set_single_value("Huf Settings", {"keep_contents_days": contents, "keep_runs_days": runs})
		frappe.db.commit()
