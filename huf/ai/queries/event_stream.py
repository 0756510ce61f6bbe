"""Streams the events of a run to a reader who joins at any time: live where cached, else replayed from the journal."""

import time
from collections.abc import Iterator

import frappe

from huf.ai.core.types import EventKind, RunEvent, RunStatus
from huf.ai.queries.replayed_events import retell
from huf.ai.storage.live_events import find_live_event, first_event_number

POLL_S, RECORD_POLL_S, KEEPALIVE_S = 0.02, 0.5, 15.0
"""How often to look for the next event and at the run's row, and the longest silence."""
LAST_EVENT_GRACE_S = 0.3
"""The last event may follow the run's end on record by this long."""
RUNNING = (RunStatus.QUEUED.value, RunStatus.STARTED.value)


def follow(run: str, after: int = 0) -> Iterator[RunEvent | None]:
	"""A run's events after a number, then each as it happens, until the run ends or waits for a person.

	None comes in long silences. What is not kept any more is retold from the record; that begins with a `run_started` that
	keeps no steps, and its events have no number. The caller has checked who asks.
	"""
	number, heard, over = after, False, False
	look_at_record, sign_of_life = 0.0, time.monotonic() + KEEPALIVE_S
	while True:
		if event := find_live_event(run, number + 1):
			number, heard, over = event.number, True, False
			yield event
			if event.kind is EventKind.RUN_FINISHED or (event.kind is EventKind.RUN_WAITING and waits(run)):
				return
			sign_of_life = time.monotonic() + KEEPALIVE_S
			continue
		if over:
			yield from retell(run)
			return
		now = time.monotonic()
		if now >= look_at_record:
			status, attempts = read_state(run)
			# The last event comes a moment after the record of it.
			over, look_at_record = status not in RUNNING, now + RECORD_POLL_S
			if number < first_event_number(attempts):
				yield from () if heard else retell(run, to_the_end=False)
				number = first_event_number(attempts)
		if now >= sign_of_life:
			yield None
			sign_of_life = now + KEEPALIVE_S
		time.sleep(LAST_EVENT_GRACE_S if over else POLL_S)


def waits(run: str) -> bool:
	return read_state(run)[0] not in RUNNING


def read_state(run: str) -> tuple[str, int]:
	"""(status, attempts) as it is now, and not as it was when this transaction began."""
	frappe.db.rollback()
	row = frappe.db.get_value("Agent Run", run, ["status", "attempts"], as_dict=True)
	return row.status, row.attempts or 1
