"""Stores Agent Trigger Event: one row per event and trigger. The only writer of these rows. Also claims the
mail that begins a run.

Nothing here commits, except the functions that clear old rows.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby

import frappe
from frappe.utils import add_to_date, now, now_datetime

from huf.ai.core.database_connections import let_statements_wait
from huf.ai.core.mail_types import MailStatus
from huf.ai.core.stored_text import clip, digest
from huf.ai.core.trigger_types import RunCause, TriggerEvent, TriggerEventStatus
from huf.ai.storage.outgoing_mail import find_sending_run
from huf.ai.storage.rows import blank_rows, delete_rows, insert_rows, update_cached_row, update_row

EVENT = "Agent Trigger Event"
CHANGED = "on_change"
OVERDUE_AFTER_S = 60
"""After this time a queued event without a run is enqueued again."""
MAX_OVERDUE_EVENTS = 1000
MAX_ATTEMPTS = 5
MAX_REASON_CHARS = 1000
CLAIMED_STATUS = {EVENT: TriggerEventStatus.FIRED.value, "Agent Mail": MailStatus.STARTED.value}
"""The status of an origin's row once its run is open, by DocType."""
ENDED = (TriggerEventStatus.FIRED.value, TriggerEventStatus.FAILED.value)


def trigger_event_name(trigger_event: TriggerEvent) -> str:
	"""A digest of trigger, document and key, so that the primary key refuses the same event twice."""
	return digest(
		trigger_event.trigger,
		trigger_event.reference_doctype or "",
		trigger_event.reference_name or "",
		trigger_event.key,
	)


@let_statements_wait()
def insert_trigger_events(trigger_events: Sequence[TriggerEvent]) -> list[str]:
	"""Insert each event once, in the caller's transaction; return all names, also of rows that were there
	before.

	A document can change several times within one `modified`: a later change that is not skipped replaces a
	skipped row.
	"""
	names: list[str] = []
	# One statement per owner; there is nearly always only one.
	for owner, group in groupby(trigger_events, key=lambda event: event.run_as or event.initiating_user):
		own = list(group)
		rows = [as_trigger_event_row(event) for event in own]
		names += insert_rows(EVENT, rows, owner, [trigger_event_name(event) for event in own])
	for name, event in zip(names, trigger_events, strict=True):
		if event.event == CHANGED and event.status is not TriggerEventStatus.SKIPPED:
			update_row(EVENT, name, as_trigger_event_row(event), status=TriggerEventStatus.SKIPPED.value)
	return names


def as_trigger_event_row(trigger_event: TriggerEvent) -> dict:
	checks = [asdict(check) for check in trigger_event.checks]
	return {
		"trigger": trigger_event.trigger,
		"agent": trigger_event.agent,
		"status": trigger_event.status.value,
		"event": trigger_event.event,
		"event_key": trigger_event.key[:140],
		"initiating_user": trigger_event.initiating_user,
		"run_as": trigger_event.run_as,
		"reference_doctype": trigger_event.reference_doctype,
		"reference_name": trigger_event.reference_name,
		"caused_by_run": trigger_event.caused_by,
		"depth": trigger_event.depth,
		"attempts": 0,
		"reason": clip(trigger_event.reason, MAX_REASON_CHARS),
		"checks": json.dumps(checks, ensure_ascii=False) if checks else None,
		"prompt": trigger_event.prompt,
		"conversation_key": trigger_event.conversation_key,
		"payload": clip(trigger_event.payload),
	}


def read_trigger_event(name: str):
	"""The whole row, or None."""
	return frappe.db.get_value(EVENT, name, "*", as_dict=True)


def claim_cause(cause: RunCause, run: str) -> bool:
	"""Make `run` the run of a queued event or mail; False if it has a run already or is not queued.

	The caller commits this together with the new run, so that an event never gets two runs.
	"""
	claimed = {"status": CLAIMED_STATUS[cause.doctype], "run": run, "modified": now()}
	update_row(cause.doctype, cause.event, claimed, status=TriggerEventStatus.QUEUED.value)
	# The update locks the row, so this read stays true until the commit.
	return frappe.db.get_value(cause.doctype, cause.event, "run") == run


def fail_trigger_event(name: str, reason: str) -> None:
	"""Mark a queued event as failed: its run cannot be opened."""
	values = {
		"status": TriggerEventStatus.FAILED.value,
		"reason": clip(reason, MAX_REASON_CHARS),
		"modified": now(),
	}
	update_row(EVENT, name, values, status=TriggerEventStatus.QUEUED.value)


def count_event_attempt(name: str) -> None:
	"""Count one more attempt to open the event's run."""
	frappe.db.sql("update `tabAgent Trigger Event` set attempts = attempts + 1 where name = %s", (name,))


def read_overdue_events(now: datetime | None) -> list:
	"""Queued events whose run is overdue, oldest first: [{name, attempts, run_as}]."""
	before = add_to_date(now or now_datetime(), seconds=-OVERDUE_AFTER_S, as_datetime=True)
	waiting = {"status": TriggerEventStatus.QUEUED.value, "creation": ["<", before]}
	return frappe.get_all(
		EVENT, waiting, ["name", "attempts", "run_as"], order_by="creation asc", limit=MAX_OVERDUE_EVENTS
	)


def set_next_execution(trigger: str, due: datetime) -> None:
	update_cached_row("Agent Trigger", trigger, {"next_execution": due})


def record_execution(trigger: str) -> None:
	"""Record that the trigger has run, and clear its last error."""
	update_cached_row("Agent Trigger", trigger, {"last_execution": now(), "last_error": None})


def record_trigger_error(trigger: str, error: str | None) -> None:
	"""Show the error on the trigger."""
	update_cached_row("Agent Trigger", trigger, {"last_error": clip(error, MAX_REASON_CHARS)})


def find_cause(run: str) -> tuple[str | None, int]:
	"""(the trigger that started a run or one of its parents, or None; how many runs led to it)."""
	depth, parent = 0, run
	while parent:
		row = frappe.db.get_value("Agent Run", parent, ["trigger", "depth", "parent_run"], as_dict=True)
		if not row:
			break
		if row.trigger:
			return row.trigger, row.depth or 0
		depth, parent = row.depth or 0, row.parent_run
	return None, depth


def find_mail_cause(message_id: str) -> tuple[str | None, int]:
	"""(the run of this site that sent a mail, or None; how many runs led to the mail)."""
	run = find_sending_run(message_id) if message_id else None
	return run, find_cause(run)[1] + 1 if run else 0


def delete_events_of(trigger: str) -> None:
	"""Delete the events of a deleted trigger; their runs stay."""
	frappe.db.delete(EVENT, {"trigger": trigger})


def clear_trigger_events(before: datetime, statuses: Sequence[str]) -> int:
	"""Delete events with one of `statuses` from before a time and return how many. Commits each batch."""
	return delete_rows(EVENT, {"status": ["in", statuses], "creation": ["<", before]})


def blank_trigger_events(before: datetime) -> None:
	"""Blank prompt, payload, checks and reason (which quotes them) of older events that wait for no run.

	Commits each batch.
	"""
	ended = {"status": ["!=", TriggerEventStatus.QUEUED.value], "creation": ["<", before]}
	for field in ("prompt", "payload", "checks", "reason"):
		blank_rows(EVENT, {**ended, field: ["is", "set"]}, [field])
