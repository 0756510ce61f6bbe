"""Streams the events of a run to a reader who joins at any time: live where cached, else replayed from the
journal.
"""

import time
from collections.abc import Iterator

import frappe

from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.types import ACTIVE_STATUSES
from huf.ai.queries.replayed_events import replay_events
from huf.ai.storage.events import find_live_event, first_event_number

POLL_S, RECORD_POLL_S, KEEPALIVE_S = 0.02, 0.5, 15.0
"""Intervals for the next event and the run's row, and how long the stream may be silent."""
LAST_EVENT_GRACE_S = 0.3
"""The last event may follow the run's end on record by this long."""


def follow_run_events(run: str, after: int = 0) -> Iterator[RunEvent | None]:
	"""Yield a run's events after number `after`, then new ones until the run ends or waits for a person.

	Yields None in long silences. Events that are no longer cached are replayed from the journal: the replay
	begins with a `run_started` that keeps no steps, and its events have no number. The caller checks
	permissions.
	"""
	number, has_live_events, is_over = after, False, False
	next_record_poll, next_keepalive = 0.0, time.monotonic() + KEEPALIVE_S
	while True:
		if event := find_live_event(run, number + 1):
			number, has_live_events, is_over = event.number, True, False
			yield event
			if event.kind is EventKind.RUN_FINISHED or (
				event.kind is EventKind.RUN_WAITING and is_paused(run)
			):
				return
			next_keepalive = time.monotonic() + KEEPALIVE_S
			continue
		if is_over:
			yield from replay_events(run)
			return
		now = time.monotonic()
		if now >= next_record_poll:
			status, attempts = read_run_state(run)
			# The last event follows the record by a moment, so look for it once more.
			is_over, next_record_poll = status not in ACTIVE_STATUSES, now + RECORD_POLL_S
			if number < first_event_number(attempts):
				yield from () if has_live_events else replay_events(run, with_end=False)
				number = first_event_number(attempts)
		if now >= next_keepalive:
			yield None
			next_keepalive = now + KEEPALIVE_S
		time.sleep(LAST_EVENT_GRACE_S if is_over else POLL_S)


def is_paused(run: str) -> bool:
	return read_run_state(run)[0] not in ACTIVE_STATUSES


def read_run_state(run: str) -> tuple[str, int]:
	"""The current (status, attempts); the rollback ends the snapshot of this transaction."""
	frappe.db.rollback()
	row = frappe.db.get_value("Agent Run", run, ["status", "attempts"], as_dict=True)
	return row.status, row.attempts or 1
