"""The runs of events: each opened once, by a worker, after what happened was committed.

Opening the run and marking the event as fired are one commit. What a lost worker or queue left undone is taken up again.
"""

from datetime import datetime

import frappe
from frappe.utils.background_jobs import get_job_status

from huf.ai.core.errors import RunAlreadyOpened, UsageError
from huf.ai.core.trigger_types import Origin, TriggerEventStatus
from huf.ai.core.types import AgentRequest, RunResult, RunStatus
from huf.ai.runs.admission import acting_as
from huf.ai.runs.execution import open_run
from huf.ai.runs.queue import work_on
from huf.ai.storage import trigger_events
from huf.ai.triggers.dispatch import enqueue_event, job_of

WAITING = "queued"
"""What Frappe says of a job that no worker has taken yet."""


def carry_out_event(name: str) -> RunResult | None:
	"""Open the run of an event, unless it has one, and work on it. None: there was nothing to do, or another does it."""
	run = open_event(name)
	return work_on(run) if run else None


def open_event(name: str) -> str | None:
	"""Open the run of a queued event, in one commit with the event's mark that it has fired; gives the run's name."""
	row = trigger_events.read_trigger_event(name)
	if not row or row.status != TriggerEventStatus.QUEUED.value:
		tell_failure(row)
		return None
	try:
		with acting_as(row.run_as):
			run = open_run(request_of(row), RunStatus.QUEUED).name
	except RunAlreadyOpened:
		frappe.db.rollback()
		return None
	except (UsageError, frappe.PermissionError, frappe.DoesNotExistError) as error:
		frappe.db.rollback()
		trigger_events.fail_trigger_event(name, f"As {row.run_as}: {error}")
		tell_failure(trigger_events.read_trigger_event(name))
		return None
	trigger_events.tell_fired(row.trigger)
	frappe.db.commit()
	return run


def tell_failure(row) -> None:
	"""Show a failed event on its trigger. Not done where it happened: that would keep other writers waiting."""
	if row and row.status == TriggerEventStatus.FAILED.value:
		trigger_events.tell_error(row.trigger, row.reason)
		frappe.db.commit()


def request_of(row) -> AgentRequest:
	"""The wish that an event is. Raises UsageError for a user who is gone."""
	if not frappe.db.get_value("User", row.run_as, "enabled"):
		raise UsageError(
			f"The user {row.run_as} is disabled. Choose another Run As on the trigger {row.trigger}."
		)
	per_user = frappe.get_cached_value("Agent", row.agent, "persist_user_history")
	kind = frappe.get_cached_value("Agent Trigger", row.trigger, "trigger_type")
	return AgentRequest(
		agent=row.agent,
		prompt=row.prompt,
		user=row.run_as,
		channel=frappe.scrub(kind or "trigger"),
		external_id=row.initiating_user if per_user else f"shared:{row.agent}",
		shared=not per_user,
		origin=Origin(
			row.name, row.trigger, row.caused_by_run, row.depth, row.reference_doctype, row.reference_name
		),
	)


def recover_events(now: datetime | None = None) -> list[str]:
	"""Give events to a worker again whose run was never opened: a worker or the queue was lost. Called every minute.

	Opening is the first thing a job does, so one that has begun a while ago, and did not, was lost too.
	"""
	again = []
	for event in trigger_events.overdue(now):
		if get_job_status(job_of(event.name, event.attempts)) == WAITING:
			continue
		attempt = trigger_events.count_attempt(event.name)
		if attempt > trigger_events.MAX_ATTEMPTS:
			trigger_events.fail_trigger_event(
				event.name, "Its run could not be opened. A manager finds the reason in the Error Log."
			)
		else:
			enqueue_event(event.name, attempt)
			again.append(event.name)
	frappe.db.commit()
	return again
