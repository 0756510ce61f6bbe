"""Opens the run of each trigger event once, in a worker, after the event was committed.

The run and the event's change from Queued to Fired are one commit. Events that lost their worker or their job
are enqueued again by `recover_events`.
"""

from datetime import datetime

import frappe

from huf.ai.core.errors import RunAlreadyOpened, UsageError
from huf.ai.core.session import acting_as
from huf.ai.core.trigger_types import RunCause, TriggerEventStatus, TriggerType
from huf.ai.core.types import AgentRequest, RunResult, RunStatus
from huf.ai.runs.queue import work_on
from huf.ai.runs.start import start_run
from huf.ai.storage import trigger_events
from huf.ai.storage.jobs import is_job_waiting
from huf.ai.triggers.dispatch import enqueue_event, event_job_id


def run_event(name: str) -> RunResult | None:
	"""Open the run of an event and execute it; None if there is nothing to do or another worker does it."""
	run = open_event_run(name)
	return work_on(run) if run else None


def open_event_run(name: str) -> str | None:
	"""Open the run of a queued event and return its name; None if the event has one or cannot get one.
	Commits.
	"""
	row = trigger_events.read_trigger_event(name)
	if not row or row.status != TriggerEventStatus.QUEUED.value:
		show_failure(row)
		return None
	try:
		with acting_as(row.run_as):
			run = start_run(build_event_request(row), RunStatus.QUEUED).name
	except RunAlreadyOpened:
		frappe.db.rollback()
		return None
	except (UsageError, frappe.PermissionError, frappe.DoesNotExistError) as error:
		frappe.db.rollback()
		trigger_events.fail_trigger_event(name, f"Run as {row.run_as}: {error}")
		show_failure(trigger_events.read_trigger_event(name))
		return None
	trigger_events.record_execution(row.trigger)
	frappe.db.commit()
	return run


def show_failure(row) -> None:
	"""Show a failed event on its trigger. Commits.

	Not done while the event is dispatched: that would lock the trigger's row until the end of somebody's
	save.
	"""
	if row and row.status == TriggerEventStatus.FAILED.value:
		trigger_events.record_trigger_error(row.trigger, row.reason)
		frappe.db.commit()


def build_event_request(row) -> AgentRequest:
	"""The request of an Agent Trigger Event. Raises UsageError if its user is disabled."""
	if not frappe.db.get_value("User", row.run_as, "enabled"):
		raise UsageError(
			f"The user {row.run_as} is disabled. Choose another Run As on the trigger {row.trigger}."
		)
	per_user = frappe.get_cached_value("Agent", row.agent, "persist_user_history")
	trigger_type = frappe.get_cached_value("Agent Trigger", row.trigger, "trigger_type")
	return AgentRequest(
		agent=row.agent,
		prompt=row.prompt,
		user=row.run_as,
		channel=frappe.scrub(trigger_type or "trigger"),
		external_id=choose_session(row, trigger_type, per_user),
		shared=not per_user,
		cause=RunCause(
			row.name, row.trigger, row.caused_by_run, row.depth, row.reference_doctype, row.reference_name
		),
	)


def choose_session(row, trigger_type: str | None, per_user: bool) -> str:
	"""The session whose conversation the event's run continues.

	Deliveries of a webhook concern different things, and come from different people, unless the trigger's
	conversation key connects them.
	"""
	if trigger_type == TriggerType.WEBHOOK.value:
		return row.conversation_key or row.name
	return row.initiating_user if per_user else f"shared:{row.agent}"


def recover_events(now: datetime | None = None) -> list[str]:
	"""Enqueue events again whose run was not opened in time, and return their names. Scheduled every minute;
	commits.

	Opening the run is the first thing a job does, so a job that began a while ago and has not done so was
	lost.
	"""
	enqueued = []
	for event in trigger_events.read_overdue_events(now):
		if is_job_waiting(event_job_id(event.name, event.attempts)):
			continue
		if event.attempts >= trigger_events.MAX_ATTEMPTS:
			trigger_events.fail_trigger_event(
				event.name, "Its run could not be opened. A manager finds the reason in the Error Log."
			)
		elif enqueue_event(event.name, event.run_as, event.attempts + 1, after_commit=False):
			trigger_events.count_event_attempt(event.name)
			enqueued.append(event.name)
	frappe.db.commit()
	return enqueued
