"""The door of schedules: each due time of a trigger sets off its agent at most once.

Due times are rows whose name is made of trigger and time, so schedulers may be many and clocks may jump. The next time is
moved on in the transaction that writes the row, before any agent runs: one that fails does not fire at every tick.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.settings import get_settings
from huf.ai.core.trigger_types import TriggerEvent, TriggerEventStatus
from huf.ai.storage import trigger_events
from huf.ai.triggers.dispatch import Happening, decide, fire, skip
from huf.ai.triggers.due_times import Plan
from huf.ai.triggers.registry import read_triggers

PUNCTUAL = timedelta(minutes=10)
"""How late a due time may be looked at and still be on time; schedulers tick every one to four minutes."""
KEEP_SKIPPED_DAYS = 30
SCHEDULE, RUN_ONCE = "schedule", "Run once"


def run_due_triggers(now: datetime | None = None) -> list[str]:
	"""Fire what is due at `now` (the site's time; called every minute); gives the names of the events."""
	now = now or now_datetime()
	events = []
	for trigger in read_triggers("t.trigger_type = 'Schedule' and t.disabled = 0", ()):
		try:
			events += take_turn(trigger, now)
		except ValueError as error:
			trigger_events.tell_error(trigger.name, f"The schedule cannot be read: {error}")
		frappe.db.commit()
	return events


def take_turn(trigger, now: datetime) -> list[str]:
	"""Move the next time on, and fire if it has come. Several missed times are one."""
	plan = plan_of(trigger)
	coming, planned = plan.next_due(now), trigger.next_execution
	if planned and planned <= now:
		trigger_events.move_on(trigger.name, coming)
		due = plan.last_due(now)
		return fire([decide_due(trigger, due, now)]) if due else []
	if planned != coming:
		# Never set, or set by a clock that was ahead. What was fired then is not fired again: its row is there.
		trigger_events.move_on(trigger.name, coming)
	return []


def decide_due(trigger, due: datetime, now: datetime) -> TriggerEvent:
	trigger_event = decide(trigger, happening_at(trigger, due, now))
	late = now - due
	if trigger_event.status is TriggerEventStatus.QUEUED and late > PUNCTUAL and trigger.catch_up != RUN_ONCE:
		trigger_event = skip(
			replace(trigger_event, prompt=None), "On time, or catching up", f"it was missed by {late}"
		)
	return trigger_event


def happening_at(trigger, due: datetime, now: datetime) -> Happening:
	return Happening(
		event=SCHEDULE, key=due.strftime("%Y-%m-%d %H:%M:%S"), user=trigger.owner, now=now, names={"due": due}
	)


def plan_of(trigger) -> Plan:
	"""The plan of an Agent Trigger, as a document or as `trigger_map.FIELDS`."""
	if trigger.cron:
		return Plan(cron=trigger.cron)
	return Plan(
		interval=trigger.scheduled_interval, count=trigger.interval_count or 1, start=trigger.starts_on
	)


def clear_old_events(now: datetime | None = None) -> int:
	"""Forget after a month what was skipped, and the rest as Huf Settings say of runs. Called every day."""
	now, settings = now or now_datetime(), get_settings()
	done = trigger_events.clear_trigger_events(
		days_before(now, KEEP_SKIPPED_DAYS), (TriggerEventStatus.SKIPPED.value,)
	)
	if settings.keep_contents_days:
		trigger_events.blank_trigger_events(days_before(now, settings.keep_contents_days))
	if settings.keep_runs_days:
		done += trigger_events.clear_trigger_events(
			days_before(now, settings.keep_runs_days), trigger_events.ENDED
		)
	return done


def days_before(now: datetime, days: int) -> datetime:
	return add_to_date(now, days=-days, as_datetime=True)
