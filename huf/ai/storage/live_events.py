"""Stores a run's numbered events in Frappe's cache for an hour, for readers who join late.

The journal is the record: events lost here are replayed from it.
"""

import frappe

from huf.ai.core.events import EventKind, RunEvent
from huf.ai.storage.shared_values import share_value

LIFETIME_S = 3600
NUMBERS_PER_ATTEMPT = 1_000_000
"""Event numbers reserved for each attempt: a new worker cannot know how many events the previous one emitted.
"""


def first_event_number(attempts: int) -> int:
	"""The number before the first event of an attempt, counted from 1."""
	return (attempts - 1) * NUMBERS_PER_ATTEMPT


def store_live_event(event: RunEvent) -> None:
	share_value(live_event_key(event.run, event.number), (event.kind.value, event.data), LIFETIME_S)


def find_live_event(run: str, number: int) -> RunEvent | None:
	stored = frappe.cache.get_value(live_event_key(run, number), expires=True)
	return RunEvent(EventKind(stored[0]), run, stored[1], number) if stored else None


def live_event_key(run: str, number: int) -> str:
	return f"huf_live:{run}:{number}"
