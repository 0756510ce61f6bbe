"""Which worker holds a run, and which run holds a conversation: compare-and-set, so that it is always one.

A lease is a worker's name and a time on Agent Run. Who lets it run out has lost the run: another may take it up, and what
the first writes afterwards is refused (`hold`).
"""

import os
import socket
import threading
import time
from datetime import datetime

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.errors import LeaseLost

OPEN_STATUSES = ("Queued", "Started", "Waiting")
"""Of a run that has not ended."""
LEASE_S = 90
RENEW_AFTER_S = 25


class Lease:
	"""One worker's hold on one run. `caller`: that on the run which has called it, and waits for it."""

	def __init__(self, run: str, worker: str):
		self.run, self.worker = run, worker
		self.caller: Lease | None = None
		self.until = time.monotonic() + LEASE_S

	def renew(self, during: float = 0) -> None:
		"""Make it last, if a good part of it is gone; also for something that takes so many seconds. So does the caller's.

		Raises LeaseLost; commits only when it writes.
		"""
		if self.caller:
			self.caller.renew(during)
		if self.until - time.monotonic() < max(LEASE_S - RENEW_AFTER_S, during):
			self.hold(during)
			frappe.db.commit()

	def hold(self, during: float = 0) -> None:
		"""Make it last, and keep others out until the commit. Raises LeaseLost where the run is another's by now."""
		seconds = during + LEASE_S
		frappe.db.sql(
			"update `tabAgent Run` set lease_until = %s where name = %s and worker = %s",
			(lease_expiry(seconds=seconds), self.run, self.worker),
		)
		# A locking read: any other may see the row as it was when this transaction began, and it must stay true.
		if frappe.db.get_value("Agent Run", self.run, "worker", for_update=True) != self.worker:
			raise LeaseLost(self.run)
		self.until = time.monotonic() + seconds


def new_worker() -> str:
	"""A name no other hold on a run has: where it is, and a random part."""
	return f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}:{frappe.generate_hash(length=8)}"


def lease_expiry(now: datetime | None = None, seconds: float = LEASE_S) -> datetime:
	return add_to_date(now or now_datetime(), seconds=seconds, as_datetime=True)


def acquire_lease(run: str, now: datetime | None = None) -> Lease | None:
	"""Take up a run that nobody holds; None where somebody does, or it has ended. Commits."""
	now, worker = now or now_datetime(), new_worker()
	frappe.db.sql(
		"""update `tabAgent Run` set worker = %s, lease_until = %s, status = 'Started', attempts = attempts + 1,
		started_at = coalesce(started_at, %s)
		where name = %s and status in ('Queued', 'Started') and (lease_until is null or lease_until < %s)""",
		(worker, lease_expiry(now), now, run, now),
	)
	mine = frappe.db.get_value("Agent Run", run, "worker") == worker
	frappe.db.commit()
	return Lease(run, worker) if mine else None


def suspend_run(lease: Lease) -> None:
	"""Let a run wait for a person, held by no worker. Raises LeaseLost; does not commit.

	No worker was lost over it so far: it is the next one's first attempt to go on. A run that is to be cancelled does not wait.
	"""
	lease.hold()
	frappe.db.sql(
		"""update `tabAgent Run` set worker = null, lease_until = null, attempts = 1,
		status = case when cancel_requested = 1 then 'Queued' else 'Waiting' end
		where name = %s and worker = %s""",
		(lease.run, lease.worker),
	)


def wake_run(run: str) -> None:
	"""Let a run that waits be taken up again. Does not commit."""
	frappe.db.sql(
		"update `tabAgent Run` set status = 'Queued' where name = %s and status = 'Waiting'", (run,)
	)


def claim_conversation(conversation: str, run: str, now: datetime | None = None) -> bool:
	"""Let `run` be the one that goes on in a conversation; False while another does. Does not commit."""
	frappe.db.sql(
		"""update `tabAgent Conversation` set active_run = %s where name = %s and (
		active_run is null or active_run = '' or active_run = %s or not exists (
			select 1 from `tabAgent Run` other where other.name = active_run
			and (other.status = 'Waiting' or (other.status = 'Started' and other.lease_until >= %s))))""",
		(run, conversation, run, now or now_datetime()),
	)
	return frappe.db.get_value("Agent Conversation", conversation, "active_run", for_update=True) == run


def release_conversation(conversation: str, run: str) -> None:
	"""Let the next run go on. Does not commit."""
	frappe.db.sql(
		"update `tabAgent Conversation` set active_run = null where name = %s and active_run = %s",
		(conversation, run),
	)


def read_queued_runs(conversation: str | None) -> list[str]:
	"""The queued runs of a conversation, the one that has waited longest first; none of one that was deleted."""
	if not conversation:
		return []
	waiting = {"conversation": conversation, "status": "Queued"}
	return frappe.get_all("Agent Run", filters=waiting, pluck="name", order_by="creation asc")


def read_open_runs(conversation: str) -> list[str]:
	"""The runs of a conversation that have not ended, oldest first."""
	still = {"conversation": conversation, "status": ["in", OPEN_STATUSES]}
	return frappe.get_all("Agent Run", filters=still, pluck="name", order_by="creation asc")


def read_abandoned_runs(now: datetime | None = None) -> list[str]:
	"""Runs whose worker let the lease run out, oldest first."""
	lost = {"status": "Started", "lease_until": ["<", now or now_datetime()]}
	return frappe.get_all("Agent Run", filters=lost, pluck="name", order_by="creation asc", limit=100)


def read_stuck_runs(now: datetime | None = None) -> list[str]:
	"""The first queued run of each conversation where none goes on, if it has waited for a while: its worker was lost.

	It calls the next one when it ends.
	"""
	before = add_to_date(now or now_datetime(), seconds=-LEASE_S, as_datetime=True)
	return frappe.db.sql(
		"""select run.name from `tabAgent Run` run
		left join `tabAgent Conversation` conversation on conversation.name = run.conversation
		where run.status = 'Queued' and run.creation < %s and not exists (
			select 1 from `tabAgent Run` other where other.name = conversation.active_run
			and other.status in ('Started', 'Waiting'))
		and not exists (
			select 1 from `tabAgent Run` earlier where earlier.conversation = run.conversation
			and earlier.status = 'Queued' and earlier.creation < run.creation)
		order by run.creation limit 100""",
		(before,),
		pluck=True,
	)
