"""Stores the numbered events of a running run in Frappe's cache for an hour, for readers who join late.

The journal is the record: an event that is lost here is replayed from there.
"""

import frappe

from huf.ai.core.types import EventKind, RunEvent

LIFETIME_S = 3600
NUMBERS_PER_ATTEMPT = 1_000_000
"""Numbers of events an attempt at a run has to itself: who takes a run up again cannot ask how far the first one came."""


def first_event_number(attempts: int) -> int:
	"""What comes before the first event of an attempt."""
	return (attempts - 1) * NUMBERS_PER_ATTEMPT


def store_live_event(event: RunEvent) -> None:
	frappe.cache.set_value(
		live_event_key(event.run, event.number), (event.kind.value, event.data), expires_in_sec=LIFETIME_S
	)


def find_live_event(run: str, number: int) -> RunEvent | None:
	kept = frappe.cache.get_value(live_event_key(run, number), expires=True)
	return RunEvent(EventKind(kept[0]), run, kept[1], number) if kept else None


def live_event_key(run: str, number: int) -> str:
	return f"huf_live:{run}:{number}"
