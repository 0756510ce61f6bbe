"""Dispatches schedules: each due time of a trigger starts its agent at most once.

An event's name derives from trigger and due time, so several schedulers and clock changes cannot repeat it.
The next due time is stored in the same transaction, before the agent runs: a failing agent is not started
again at every tick.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.settings import get_settings
from huf.ai.core.times import to_utc
from huf.ai.core.trigger_types import TriggerEvent, TriggerEventStatus
from huf.ai.storage import trigger_events
from huf.ai.triggers.dispatch import SourceEvent, dispatch_events, evaluate_trigger, mark_skipped
from huf.ai.triggers.due_times import Plan
from huf.ai.triggers.registry import read_triggers

MAX_DELAY = timedelta(minutes=10)
"""A due time that is seen later than this was missed; schedulers tick every one to four minutes."""
KEEP_SKIPPED_DAYS = 30
SCHEDULE, RUN_ONCE = "schedule", "Run once"


def run_due_triggers(now: datetime | None = None) -> list[str]:
	"""Dispatch the schedules that are due at `now` (site time) and return the names of their events.

	Scheduled every minute; commits after each trigger.
	"""
	now = now or now_datetime()
	events = []
	for trigger in read_triggers("t.trigger_type = 'Schedule' and t.disabled = 0", ()):
		try:
			events += dispatch_if_due(trigger, now)
		except (ValueError, OverflowError) as error:
			trigger_events.record_trigger_error(trigger.name, f"The schedule cannot be read: {error}")
		frappe.db.commit()
	return events


def dispatch_if_due(trigger, now: datetime) -> list[str]:
	"""Store the next due time, and dispatch the latest one that has passed; several missed times count as
	one.
	"""
	plan = build_plan(trigger)
	coming, planned = plan.next_due(now), trigger.next_execution
	if planned and planned <= now:
		trigger_events.set_next_execution(trigger.name, coming)
		due = plan.last_due(now)
		return dispatch_events([evaluate_due_time(trigger, due, now)]) if due else []
	if planned != coming:
		# Never set, or set by a clock that was ahead: the events of those times exist and are not repeated.
		trigger_events.set_next_execution(trigger.name, coming)
	return []


def evaluate_due_time(trigger, due: datetime, now: datetime) -> TriggerEvent:
	source = SourceEvent(
		event=SCHEDULE, key=due.strftime("%Y-%m-%d %H:%M:%S"), user=trigger.owner, now=now, names={"due": due}
	)
	trigger_event = evaluate_trigger(trigger, source)
	# Where clocks are set forward, a time in the hour that they skip is due an hour later by the clock.
	delay = to_utc(now) - to_utc(due)
	is_queued = trigger_event.status is TriggerEventStatus.QUEUED
	if is_queued and delay > MAX_DELAY and trigger.catch_up != RUN_ONCE:
		without_prompt = replace(trigger_event, prompt=None)
		return mark_skipped(without_prompt, "On time, or catching up", f"it was missed by {delay}")
	return trigger_event


def build_plan(trigger) -> Plan:
	"""The plan of an Agent Trigger: a document or a row of `registry.FIELDS`."""
	if trigger.cron:
		return Plan(cron=trigger.cron)
	return Plan(
		interval=trigger.scheduled_interval, count=trigger.interval_count or 1, start=trigger.starts_on
	)


def clear_old_events(now: datetime | None = None) -> int:
	"""Delete skipped events after a month, others as Huf Settings say of runs; return how many. Scheduled
	daily.
	"""
	now, settings = now or now_datetime(), get_settings()
	deleted = trigger_events.clear_trigger_events(
		subtract_days(now, KEEP_SKIPPED_DAYS), (TriggerEventStatus.SKIPPED.value,)
	)
	if settings.keep_contents_days:
		trigger_events.blank_trigger_events(subtract_days(now, settings.keep_contents_days))
	if settings.keep_runs_days:
		deleted += trigger_events.clear_trigger_events(
			subtract_days(now, settings.keep_runs_days), trigger_events.ENDED
		)
	return deleted


def subtract_days(now: datetime, days: int) -> datetime:
	return add_to_date(now, days=-days, as_datetime=True)
