"""The events of a run while it goes on, numbered, for those who join it late: in Frappe's cache, and for an hour.

The journal is the record. What is kept here only reaches a reader sooner; where it is lost, the run is retold.
"""

import time
from collections.abc import Iterator

import frappe

from huf.ai.records.retelling import retell
from huf.ai.types import EventKind, RunEvent, RunStatus

LASTS = 3600
ATTEMPT = 1_000_000
"""Numbers of events an attempt at a run has to itself: who takes a run up again cannot ask how far the first one came."""
LOOK, LOOK_AT_RECORD, SIGN_OF_LIFE = 0.02, 0.5, 15.0
"""Seconds between looks for the next event and at the record, and until a sign of life."""
GRACE = 0.3
"""Seconds in which the last event follows the end of a run, or its waiting, on record."""
GOES_ON = (RunStatus.QUEUED.value, RunStatus.STARTED.value)


def first_number(attempts: int) -> int:
	"""What comes before the first event of an attempt."""
	return (attempts - 1) * ATTEMPT


def keep(event: RunEvent) -> None:
	frappe.cache.set_value(
		key_of(event.run, event.number), (event.kind.value, event.data), expires_in_sec=LASTS
	)


def find(run: str, number: int) -> RunEvent | None:
	kept = frappe.cache.get_value(key_of(run, number), expires=True)
	return RunEvent(EventKind(kept[0]), run, kept[1], number) if kept else None


def key_of(run: str, number: int) -> str:
	return f"huf_live:{run}:{number}"


def follow(run: str, after: int = 0) -> Iterator[RunEvent | None]:
	"""A run's events after a number, then each as it happens, until the run ends or waits for a person.

	None comes in long silences. What is not kept any more is retold from the record; that begins with a `run_started` that
	keeps no steps, and its events have no number. The caller has checked who asks.
	"""
	number, heard, over = after, False, False
	look_at_record, sign_of_life = 0.0, time.monotonic() + SIGN_OF_LIFE
	while True:
		if event := find(run, number + 1):
			number, heard, over = event.number, True, False
			yield event
			if event.kind is EventKind.RUN_FINISHED or (event.kind is EventKind.RUN_WAITING and waits(run)):
				return
			sign_of_life = time.monotonic() + SIGN_OF_LIFE
			continue
		if over:
			yield from retell(run)
			return
		now = time.monotonic()
		if now >= look_at_record:
			status, attempts = read_state(run)
			# The last event comes a moment after the record of it.
			over, look_at_record = status not in GOES_ON, now + LOOK_AT_RECORD
			if number < first_number(attempts):
				yield from () if heard else retell(run, to_the_end=False)
				number = first_number(attempts)
		if now >= sign_of_life:
			yield None
			sign_of_life = now + SIGN_OF_LIFE
		time.sleep(GRACE if over else LOOK)


def waits(run: str) -> bool:
	return read_state(run)[0] not in GOES_ON


def read_state(run: str) -> tuple[str, int]:
	"""(status, attempts) as it is now, and not as it was when this transaction began."""
	frappe.db.rollback()
	row = frappe.db.get_value("Agent Run", run, ["status", "attempts"], as_dict=True)
	return row.status, row.attempts or 1
