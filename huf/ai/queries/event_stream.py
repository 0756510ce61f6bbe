"""Streams the events of a run to a reader who joins at any time: live where cached, else replayed from the
journal. Read-only.
"""

import time
from collections.abc import Callable, Iterator

import frappe
from frappe.share import get_shared

from huf.ai.core.event_loops import SILENCE_S
from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.json_text import read_json_or_text
from huf.ai.core.stored_text import shorten_id
from huf.ai.core.types import ACTIVE_STATUSES, CallRequest, RunResult, RunStatus, StopReason, Usage
from huf.ai.queries.runs import describe_runs
from huf.ai.storage.drafts import describe_draft, read_pending_drafts
from huf.ai.storage.events import find_live_event, first_event_number
from huf.ai.storage.recorded_run import read_recorded
from huf.ai.storage.users import has_open_session, list_users_with_role

PERMISSION_POLL_S = 1.0
"""How long the permission of a reader counts after it was checked."""
POLL_S, RECORD_POLL_S, KEEPALIVE_S = 0.02, 0.5, SILENCE_S
"""Intervals for the next event and the run's row, and how long the stream may be silent."""
LAST_EVENT_GRACE_S = 0.3
"""The last event may follow the run's end on record by this long."""
DELETED = "The run was deleted."


def follow_run_events(run: str, after: int = 0) -> Iterator[RunEvent | None]:
	"""Yield a run's events after number `after`, then new ones until the run ends or waits for a person.

	Yields None in long silences. Events that are no longer cached are replayed from the journal: the replay
	begins with a `run_started` that keeps no steps, and its events have no number. A run that is deleted ends
	as a failed one. The caller checks permissions.
	"""
	number, has_live_events, is_over, status = after, False, False, ""
	next_record_poll, next_keepalive = 0.0, time.monotonic() + KEEPALIVE_S
	while True:
		if event := find_live_event(run, number + 1):
			number, has_live_events, is_over = event.number, True, False
			yield event
			if event.kind is EventKind.RUN_FINISHED or (
				event.kind is EventKind.RUN_WAITING and is_paused(run, number)
			):
				return
			next_keepalive = time.monotonic() + KEEPALIVE_S
			continue
		if is_over:
			yield from replay_events(run) if status else [end_of_deleted(run)]
			return
		now = time.monotonic()
		if now >= next_record_poll:
			status, attempts = read_run_state(run)
			# The last event follows the record by a moment, so look for it once more.
			is_over, next_record_poll = status not in ACTIVE_STATUSES, now + RECORD_POLL_S
			if status and number < first_event_number(attempts):
				yield from () if has_live_events else replay_events(run, with_end=False)
				number = first_event_number(attempts)
		if now >= next_keepalive:
			yield None
			next_keepalive = now + KEEPALIVE_S
		time.sleep(LAST_EVENT_GRACE_S if is_over else POLL_S)


def follow_while_permitted(
	run: str, after: int = 0, follow: Callable[[str, int], Iterator[RunEvent | None]] = follow_run_events
) -> Iterator[RunEvent | None]:
	"""The events for the session user. They end with the session, the account or the permission."""
	user, session = frappe.session.user, frappe.session.sid

	def check_and_follow() -> Iterator[RunEvent | None]:
		checked = time.monotonic()
		for event in follow(run, after):
			if time.monotonic() - checked > PERMISSION_POLL_S:
				if not (has_open_session(user, session) and may_still_read(run, user)):
					return
				checked = time.monotonic()
			yield event

	return check_and_follow()


def may_still_read(run: str, user: str) -> bool:
	"""As `huf.permissions` decides it, without Frappe's caches, which a request keeps to its end."""
	owner = frappe.db.get_value("Agent Run", run, "owner")
	# The stream itself says that a run was deleted.
	if owner in (None, user) or user == "Administrator" or user in list_users_with_role("Huf Manager"):
		return True
	return run in get_shared("Agent Run", user)


def is_paused(run: str, number: int) -> bool:
	"""Whether a run still waits as it did at the event of this number: it may have gone on since."""
	status, attempts = read_run_state(run)
	return status == RunStatus.WAITING.value and number > first_event_number(attempts)


def read_run_state(run: str) -> tuple[str, int]:
	"""The current (status, attempts), ("", 1) for a deleted run; the rollback ends the snapshot of this
	transaction.
	"""
	frappe.db.rollback()
	status, attempts = frappe.db.get_value("Agent Run", run, ["status", "attempts"]) or ("", 1)
	return status, attempts or 1


def end_of_deleted(run: str) -> RunEvent:
	result = RunResult(run, "", RunStatus.FAILED, StopReason.ERROR, "", DELETED, Usage(), 0, 0)
	return RunEvent(EventKind.RUN_FINISHED, run, result.as_dict())


def replay_events(run: str, with_end: bool = True) -> Iterator[RunEvent]:
	"""Yield `run_started` (no kept steps), the text and calls of each step and, `with_end`, how it ended or
	waits. The caller checks permissions.
	"""
	row = describe_runs([run], is_checked=True)[run]
	start = {key: row[key] for key in ("conversation", "agent", "model", "offline")}
	yield RunEvent(EventKind.RUN_STARTED, run, {**start, "kept_steps": 0})
	recorded = read_recorded(run)
	for step, reply in sorted(recorded.replies.items()):
		# An answer after which the run went on was refused, and never shown.
		is_displayed = bool(reply.calls) or step == max(recorded.replies)
		if reply.reasoning and is_displayed:
			yield RunEvent(EventKind.REASONING_DELTA, run, {"step": step, "text": reply.reasoning})
		if reply.text and is_displayed:
			yield RunEvent(EventKind.TEXT_DELTA, run, {"step": step, "text": reply.text})
		for position, request in enumerate(reply.calls):
			if call := recorded.calls.get((step, position)):
				yield from replay_call(run, request, call)
	if with_end and row["status"] == RunStatus.WAITING.value:
		pending = read_pending_drafts(run)
		for draft in pending:
			yield RunEvent(EventKind.DRAFT_CREATED, run, describe_draft(draft))
		names = [draft.name for draft in pending]
		yield RunEvent(EventKind.RUN_WAITING, run, {**row, "draft": next(iter(names), None), "drafts": names})
	elif with_end:
		yield RunEvent(EventKind.RUN_FINISHED, run, row)


def replay_call(run: str, request: CallRequest, call) -> Iterator[RunEvent]:
	call_data = {"step": call.step, "call_id": shorten_id(request.id), "tool": call.tool}
	arguments = call.arguments
	if (arguments or "").startswith("{"):
		arguments = read_json_or_text(arguments)
	reason = {"reason": request.reason} if request.reason else {}
	started = {**call_data, "effect": call.effect, "arguments": arguments, **reason}
	yield RunEvent(EventKind.TOOL_STARTED, run, started)
	ended = {"ok": call.status == "Success", "result": call.result or "", "duration_ms": call.duration_ms}
	yield RunEvent(EventKind.TOOL_FINISHED, run, {**call_data, **ended})
