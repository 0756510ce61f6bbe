"""Stores the numbered events of a running run in Frappe's cache for an hour, for readers who join late.

The journal is the record: an event that is lost here is replayed from there.
"""

import frappe

from huf.ai.core.types import EventKind, RunEvent

LASTS = 3600
ATTEMPT = 1_000_000
"""Numbers of events an attempt at a run has to itself: who takes a run up again cannot ask how far the first one came."""


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
