"""Runs of one process that wait for a model: without a database connection, their leases renewed together.

A process may carry hundreds of them, while only as many as it has slots work with the database.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import frappe

from huf.ai.core.database_connections import let_updates_wait
from huf.ai.core.errors import LeaseLost
from huf.ai.storage.leases import Lease, release_leases, renew_leases

waiting_runs: ContextVar["WaitingRuns | None"] = ContextVar("huf_waiting_runs", default=None)
"""Those of the worker that executes the present run; None where a run keeps its connection while it waits."""


@dataclass(eq=False)
class Wait:
	"""`leases`: that of the run, and those of the runs that called it and wait for it."""

	leases: list[Lease]
	lost: set[str] = field(default_factory=set)
	is_cancelled: bool = False

	def check_cancelled(self) -> bool:
		"""Whether the run is to be cancelled. Raises LeaseLost."""
		if self.lost:
			raise LeaseLost(min(self.lost))
		return self.is_cancelled


class WaitingRuns:
	"""Which runs of this process wait. `on_free` is called when a slot becomes free."""

	def __init__(self, slots: int, on_free: Callable[[], None]):
		self.slots, self.on_free = threading.Semaphore(slots), on_free
		self.waits: set[Wait] = set()
		self.lock = threading.Lock()

	@contextmanager
	def wait(self, lease: Lease) -> Iterator[Wait]:
		"""Give up the connection and the slot for the block; what follows may have to wait for a slot.

		Raises LeaseLost.
		"""
		wait = Wait(list_chain(lease))
		disconnect(frappe.local.db)
		with self.lock:
			self.waits.add(wait)
		self.free_slot()
		try:
			yield wait
		finally:
			self.slots.acquire()
			with self.lock:
				self.waits.discard(wait)
			let_updates_wait()
		wait.check_cancelled()

	def free_slot(self) -> None:
		self.slots.release()
		self.on_free()

	def renew(self) -> None:
		"""Renew the leases of the waiting runs, and note which were cancelled or lost. Commits."""
		waits, held = self.list_held()
		cancelled = renew_leases(list(held.values())) if held else {}
		for wait in waits:
			wait.lost |= {lease.run for lease in wait.leases} - cancelled.keys()
			wait.is_cancelled = cancelled.get(wait.leases[0].run, False)

	def release(self) -> None:
		"""Put the waiting runs back into the queue, except those that another run has called. Commits."""
		with self.lock:
			released = [wait for wait in self.waits if not wait.lost and len(wait.leases) == 1]
			for wait in released:
				# First of all: it must not go on while it is released.
				wait.lost.add(wait.leases[0].run)
		if released:
			release_leases([wait.leases[0] for wait in released])

	def list_held(self) -> tuple[list[Wait], dict[str, Lease]]:
		with self.lock:
			waits = [wait for wait in self.waits if not wait.lost]
		return waits, {lease.run: lease for wait in waits for lease in wait.leases}


def disconnect(db: Any) -> None:
	"""Close a connection, which opens again with its next statement. SQLite's costs nothing and stays."""
	if db.db_type != "sqlite":
		db.close()


def list_chain(lease: Lease) -> list[Lease]:
	"""A lease and those of its callers."""
	return [lease, *(list_chain(lease.caller) if lease.caller else ())]
