"""Agent Trigger Event: one row for each event that concerned a trigger. The only writer of these rows.

A row's name is a digest of its trigger, document and key, so the database itself refuses a second one. A row is written in
the transaction of what happened, and comes and goes with it. Its run is opened in one commit with the row's change from
Queued to Fired. Only what clears away old rows commits.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby

import frappe
from frappe.utils import add_to_date, now, now_datetime

from huf.ai.core.mail_types import MailStatus
from huf.ai.core.trigger_types import Origin, TriggerEvent, TriggerEventStatus
from huf.ai.storage.rows import clip, digest, insert_rows, update_document, update_row

EVENT = "Agent Trigger Event"
CHANGED = "on_change"
PATIENCE = 60
"""Seconds after which an event that still has no run is looked after."""
MAX_ATTEMPTS = 5
MAX_REASON_CHARS = 1000


def name_of(trigger_event: TriggerEvent) -> str:
	return digest(
		trigger_event.trigger,
		trigger_event.reference_doctype or "",
		trigger_event.reference_name or "",
		trigger_event.key,
	)


def insert_trigger_events(firings: Sequence[TriggerEvent]) -> list[str]:
	"""Write down what happened, each event once; gives the names, also of those that were there before.

	A document may be changed several times at one time: what was skipped at first counts once it is not.
	"""
	names: list[str] = []
	# One statement for each owner: nearly always one in all.
	for owner, group in groupby(
		firings, key=lambda trigger_event: trigger_event.run_as or trigger_event.initiating_user
	):
		own = list(group)
		names += insert_rows(
			EVENT, map(as_row, own), owner, [name_of(trigger_event) for trigger_event in own]
		)
	for name, trigger_event in zip(names, firings, strict=True):
		if trigger_event.event == CHANGED and trigger_event.status is not TriggerEventStatus.SKIPPED:
			update_row(EVENT, name, as_row(trigger_event), status=TriggerEventStatus.SKIPPED.value)
	return names


def as_row(trigger_event: TriggerEvent) -> dict:
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
		"payload": clip(trigger_event.payload),
	}


def read_trigger_event(name: str):
	"""The row, or None."""
	return frappe.db.get_value(EVENT, name, "*", as_dict=True)


TAKEN = {EVENT: TriggerEventStatus.FIRED.value, "Agent Mail": MailStatus.STARTED.value}
"""What the row of an origin is called once its run is opened."""


def hand_over(origin: Origin, run: str) -> bool:
	"""Let `run` be the run of something that is queued; False where it has one, or must not get any."""
	frappe.db.sql(
		f"update `tab{origin.doctype}` set status = %s, run = %s, modified = %s where name = %s and status = %s",
		(TAKEN[origin.doctype], run, now(), origin.event, TriggerEventStatus.QUEUED.value),
	)
	# The update holds the row, so what is read now stays true until the commit.
	return frappe.db.get_value(origin.doctype, origin.event, "run") == run


def fail_trigger_event(name: str, reason: str) -> None:
	"""A queued event whose run cannot be opened."""
	frappe.db.sql(
		"update `tabAgent Trigger Event` set status = %s, reason = %s, modified = %s where name = %s and status = %s",
		(
			TriggerEventStatus.FAILED.value,
			clip(reason, MAX_REASON_CHARS),
			now(),
			name,
			TriggerEventStatus.QUEUED.value,
		),
	)


def count_attempt(name: str) -> int:
	frappe.db.sql("update `tabAgent Trigger Event` set attempts = attempts + 1 where name = %s", (name,))
	return frappe.db.get_value(EVENT, name, "attempts") or 0


def overdue(now: datetime | None = None) -> list:
	"""Events whose run should be open by now, oldest first: name, attempts."""
	before = add_to_date(now or now_datetime(), seconds=-PATIENCE, as_datetime=True)
	waiting = {"status": TriggerEventStatus.QUEUED.value, "creation": ["<", before]}
	return frappe.get_all(EVENT, waiting, ["name", "attempts"], order_by="creation asc", limit=BATCH)


def move_on(trigger: str, due: datetime) -> None:
	"""Set when a schedule is due next."""
	update_document("Agent Trigger", trigger, {"next_execution": due})


def tell_fired(trigger: str) -> None:
	"""Show on a trigger that it works."""
	update_document("Agent Trigger", trigger, {"last_execution": now(), "last_error": None})


def tell_error(trigger: str, error: str | None) -> None:
	"""Show on a trigger what is wrong with it."""
	update_document("Agent Trigger", trigger, {"last_error": clip(error, MAX_REASON_CHARS)})


def origin_of(run: str | None) -> tuple[str | None, int]:
	"""The trigger that set off a run or one of its parents (None: a person did), and how many runs led to it."""
	depth = 0
	while run:
		row = frappe.db.get_value("Agent Run", run, ["trigger", "depth", "parent_run"], as_dict=True)
		if not row:
			break
		if row.trigger:
			return row.trigger, row.depth or 0
		depth, run = row.depth or 0, row.parent_run
	return None, depth


def forget_trigger(trigger: str) -> None:
	"""A trigger that is deleted takes its events along; its runs stay."""
	frappe.db.delete(EVENT, {"trigger": trigger})


ENDED = (TriggerEventStatus.FIRED.value, TriggerEventStatus.FAILED.value)
BATCH = 1000


def clear_trigger_events(before: datetime, statuses: Sequence[str]) -> int:
	"""Delete events of some statuses from before a time, a batch at a time; gives how many. Commits."""
	old, done = {"status": ["in", statuses], "creation": ["<", before]}, 0
	while names := frappe.get_all(EVENT, filters=old, pluck="name", order_by="creation asc", limit=BATCH):
		frappe.db.delete(EVENT, {"name": ["in", names]})
		frappe.db.commit()
		done += len(names)
	return done


def blank_trigger_events(before: datetime) -> None:
	"""Take the contents out of events that ended before a time; who, when and why stay. Commits."""
	old = {"status": ["in", ENDED], "creation": ["<", before], "prompt": ["is", "set"]}
	while names := frappe.get_all(EVENT, filters=old, pluck="name", order_by="creation asc", limit=BATCH):
		frappe.db.set_value(
			EVENT,
			{"name": ["in", names]},
			{"prompt": None, "payload": None, "checks": None},
			update_modified=False,
		)
		frappe.db.commit()
