"""Leases: which worker holds a run, and which run is active in a conversation. Both change by
compare-and-set.

A lease is a worker's name and an expiry time on Agent Run, renewed at every step together with its caller's.
When it expires, another worker may take the run over; whatever the first one writes afterwards is refused
(`Lease.hold`). Expiry times are in UTC, so that daylight saving neither ends leases nor prolongs them; `now`
is in the site's time zone, as everywhere in Frappe.

After a compare-and-set, read a value that is new, or read `for_update`: on MariaDB other reads see the
snapshot of the transaction's beginning.
"""

import os
import re
import socket
import threading
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.errors import LeaseLost, RunHeld
from huf.ai.core.times import to_utc
from huf.ai.core.types import OPEN_STATUSES
from huf.ai.storage.rows import update_row
from huf.ai.storage.stops import SWITCH_NAME, ensure_switch, find_stop, parse_stops

LEASE_S = 25
"""After this time a run whose worker was killed can continue. Guards renew the lease of a waiting run."""
RENEW_AFTER_S = 5
MAX_READ_RUNS = 100
"""Limit of runs that a worker looks at, or a job recovers, at once."""
SHARED_LOCK = {"mariadb": "lock in share mode", "postgres": "for share"}


class Lease:
	"""One worker's hold on one run. `caller` is the lease of the run that called it and waits for it."""

	def __init__(self, run: str, worker: str):
		self.run, self.worker = run, worker
		self.caller: Lease | None = None
		self.until = time.monotonic() + LEASE_S
		self.row: Any = None

	def renew(self) -> None:
		"""Extend the lease, and the caller's, if it is old. Raises LeaseLost; commits only if it writes."""
		if self.caller:
			self.caller.renew()
		if self.is_old():
			self.hold()
			frappe.db.commit()

	def is_old(self) -> bool:
		return self.until - time.monotonic() < LEASE_S - RENEW_AFTER_S

	def hold(self) -> None:
		"""Extend the lease and lock the run until the commit. Raises LeaseLost."""
		update_row("Agent Run", self.run, {"lease_until": lease_expiry()}, worker=self.worker)
		self.read()
		self.until = time.monotonic() + LEASE_S

	def read(self) -> None:
		"""Read the run, with the active stops. Raises LeaseLost."""
		self.row = read_run_with_stops(self.run)
		if self.row is None or self.row.worker != self.worker:
			raise LeaseLost(self.run)

	def check_stops(self, tool: str | None = None, provider: str | None = None) -> None:
		"""Raises RunHeld if a stop covers the run, or a call of `tool` or of a model of `provider`, as of the
		last `hold` or `read`.
		"""
		if not (self.row and self.row.stops):
			return
		stops = parse_stops(self.row.stops)
		# A run may have changed to a model of another provider.
		for row in (self.row, {**self.row, "provider": provider}):
			if stop := find_stop(stops, row, tool):
				raise RunHeld(stop)


def read_run_with_stops(run: str) -> Any:
	"""The run's columns that stops compare, and the JSON of the active `stops`; None without the run.

	A locking read, as last committed: any other may see the rows as they were when this transaction began.
	"""
	query = f"""select run.worker, run.cancel_requested, run.agent, run.provider, run.run_as, run.`trigger`,
		switch.stops from `tabAgent Run` run, `tabAgent Stop Switch` switch
		where run.name = %s and switch.name = %s {SHARED_LOCK.get(frappe.db.db_type, "")}"""
	rows = frappe.db.sql(query, (run, SWITCH_NAME), as_dict=True)
	if not rows and frappe.db.exists("Agent Run", run):
		ensure_switch()
		rows = frappe.db.sql(query, (run, SWITCH_NAME), as_dict=True)
	return rows[0] if rows else None


def new_worker() -> str:
	"""A unique name: host, process, thread and a random part."""
	return f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}:{frappe.generate_hash(length=8)}"


def lease_expiry(now: datetime | None = None) -> datetime:
	return lease_time(now) + timedelta(seconds=LEASE_S)


def lease_time(now: datetime | None = None) -> datetime:
	"""A time as leases store it: in UTC and naive."""
	moment = to_utc(now) if now else datetime.now(timezone.utc)
	return moment.replace(tzinfo=None)


@lru_cache(maxsize=64)
def has_skip_locked(site: str) -> bool:
	"""Whether the database of the current site has SKIP LOCKED: Postgres, MariaDB 10.6, MySQL 8."""
	if frappe.db.db_type != "mariadb":
		return frappe.db.db_type == "postgres"
	version = frappe.db.sql("select version()")[0][0]
	major, minor = re.findall(r"\d+", version)[:2]
	return (int(major), int(minor)) >= ((10, 6) if "MariaDB" in version else (8, 0))


def lock_free_runs(runs: Sequence[str]) -> list[str]:
	"""Those of the runs that no other transaction has locked, locked until the commit, without waiting.

	Where the database has no SKIP LOCKED: all of them, not locked.
	"""
	if not runs or not has_skip_locked(frappe.local.site):
		return list(runs)
	return frappe.db.sql(
		"select name from `tabAgent Run` where name in %s for update skip locked",
		(tuple(runs),),
		pluck=True,
	)


def acquire_lease(run: str, now: datetime | None = None) -> Lease | None:
	"""Acquire the lease of a run; None if another worker holds it, or the run has ended. Commits."""
	now, worker = now or now_datetime(), new_worker()
	frappe.db.sql(
		"""update `tabAgent Run` set worker = %s, lease_until = %s, held_by = null, attempts = attempts + 1,
		lost_workers = lost_workers + case when status = 'Started' then 1 else 0 end,
		status = 'Started', started_at = coalesce(started_at, %s), modified = %s
		where name = %s and status in ('Queued', 'Started') and (lease_until is null or lease_until < %s)""",
		(worker, lease_expiry(now), now, now, run, lease_time(now)),
	)
	mine = frappe.db.get_value("Agent Run", run, "worker") == worker
	frappe.db.commit()
	return Lease(run, worker) if mine else None


def renew_leases(held: Sequence[Lease]) -> dict[str, bool]:
	"""Extend old leases together; {run: whether it is to be cancelled} of those that are still held. Commits.

	A lease whose run is locked stays as it is until the next time.
	"""
	old = [lease for lease in held if lease.is_old()]
	if runs := lock_free_runs([lease.run for lease in old]):
		frappe.db.sql(
			"update `tabAgent Run` set lease_until = %s where name in %s and worker in %s",
			(lease_expiry(), tuple(runs), tuple(lease.worker for lease in old)),
		)
	until = time.monotonic() + LEASE_S
	filters = {"name": ["in", [lease.run for lease in held]]}
	fields = ["name", "worker", "cancel_requested"]
	found = {row.name: row for row in frappe.get_all("Agent Run", filters, fields, order_by="name asc")}
	frappe.db.commit()
	mine = [lease for lease in held if lease.run in found and found[lease.run].worker == lease.worker]
	for lease in mine:
		if lease.run in runs:
			lease.until = until
	return {lease.run: bool(found[lease.run].cancel_requested) for lease in mine}


def release_leases(held: Sequence[Lease]) -> None:
	"""Queue runs again whose worker stops; another one resumes them. Commits."""
	frappe.db.sql(
		"""update `tabAgent Run` set worker = null, lease_until = null, status = 'Queued', modified = %s
		where name in %s and worker in %s""",
		(now_datetime(), tuple(lease.run for lease in held), tuple(lease.worker for lease in held)),
	)
	frappe.db.commit()


def suspend_run(lease: Lease) -> None:
	"""Let a run wait for a person without a worker. Raises LeaseLost; does not commit.

	A run with a cancel request is queued instead of waiting.
	"""
	lease.hold()
	frappe.db.sql(
		"""update `tabAgent Run` set worker = null, lease_until = null,
		status = case when cancel_requested = 1 then 'Queued' else 'Waiting' end, modified = %s
		where name = %s and worker = %s""",
		(now_datetime(), lease.run, lease.worker),
	)


def requeue_run(lease: Lease, stop: str) -> None:
	"""Queue a run that a stop holds, to be resumed after the release. Does not commit."""
	values = {"worker": None, "lease_until": None, "status": "Queued", "held_by": stop}
	update_row("Agent Run", lease.run, {**values, "modified": now_datetime()}, worker=lease.worker)


def hold_unclaimed_run(run: str, stop: str, now: datetime | None) -> None:
	"""Record on a queued run which stop holds it; an abandoned one is queued. Does not commit.

	Otherwise abandoned runs that a stop covers would be offered to workers again and again, before others.
	"""
	frappe.db.sql(
		"""update `tabAgent Run` set held_by = %s, worker = null, lease_until = null,
		lost_workers = lost_workers + case when status = 'Started' then 1 else 0 end,
		modified = case when status = 'Started' then %s else modified end, status = 'Queued'
		where name = %s and (status = 'Queued' or (status = 'Started' and lease_until < %s))""",
		(stop, now or now_datetime(), run, lease_time(now)),
	)


def read_all_queued_runs() -> list[str]:
	"""Every queued run, oldest first."""
	return select_runs("status = 'Queued'")


def wake_run(run: str) -> None:
	"""Queue a run that waits. Does not commit."""
	update_row("Agent Run", run, {"status": "Queued", "modified": now_datetime()}, status="Waiting")


def claim_conversation(conversation: str, run: str, now: datetime | None = None) -> bool:
	"""Make `run` the active run of a conversation; False while another one is active. Does not commit."""
	frappe.db.sql(
		"""update `tabAgent Conversation` set active_run = %s where name = %s and (
		active_run is null or active_run = '' or active_run = %s or not exists (
			select 1 from `tabAgent Run` other where other.name = active_run
			and (other.status = 'Waiting' or (other.status = 'Started' and other.lease_until >= %s))))""",
		(run, conversation, run, lease_time(now)),
	)
	return frappe.db.get_value("Agent Conversation", conversation, "active_run", for_update=True) == run


def is_occupied(conversation: str) -> bool:
	"""Whether a run is active in a conversation. Locks nothing: `claim_conversation` decides."""
	rows = frappe.db.sql(
		"""select 1 from `tabAgent Conversation` conversation
		join `tabAgent Run` run on run.name = conversation.active_run where conversation.name = %s
		and (run.status = 'Waiting' or (run.status = 'Started' and run.lease_until >= %s))""",
		(conversation, lease_time()),
	)
	return bool(rows)


def read_active_run(conversation: str) -> str | None:
	"""The active run of a conversation, as last committed and locked against changes."""
	rows = frappe.db.sql(
		f"""select active_run from `tabAgent Conversation` where name = %s
		{SHARED_LOCK.get(frappe.db.db_type, "")}""",
		(conversation,),
	)
	return rows[0][0] if rows else None


def release_conversation(conversation: str, run: str) -> None:
	"""Let the next run of the conversation become active. Does not commit."""
	update_row("Agent Conversation", conversation, {"active_run": None}, active_run=run)


def select_runs(condition: str, *values: Any) -> list[str]:
	"""The runs that fulfil a condition in SQL, oldest first."""
	query = f"select name from `tabAgent Run` where {condition} order by creation"
	return frappe.db.sql(query, values, pluck=True)


def read_queued_runs(conversation: str | None) -> list[str]:
	"""The queued runs of a conversation, oldest first."""
	return select_runs("conversation = %s and status = 'Queued'", conversation) if conversation else []


def read_open_runs(conversation: str) -> list[str]:
	"""The runs of a conversation that have not ended, oldest first."""
	return select_runs("conversation = %s and status in %s", conversation, OPEN_STATUSES)


def read_children(run: str) -> list[str]:
	"""The runs called by a run that have not ended, oldest first."""
	return select_runs("parent_run = %s and status in %s", run, OPEN_STATUSES)


def read_abandoned_runs(now: datetime | None = None) -> list[str]:
	"""Runs whose lease has expired, oldest first."""
	lost = {"status": "Started", "lease_until": ["<", lease_time(now)]}
	return frappe.get_all(
		"Agent Run", filters=lost, pluck="name", order_by="creation asc", limit=MAX_READ_RUNS
	)


def read_answered_runs() -> list[str]:
	"""Waiting runs whose drafts are all answered and whose called runs have ended, oldest first.

	Their worker was lost before it could wake them.
	"""
	return frappe.db.sql(
		f"""select run.name from `tabAgent Run` run where run.status = 'Waiting'
		and not exists (select 1 from `tabAgent Draft` draft
			where draft.run = run.name and draft.status = 'Pending')
		and not exists (select 1 from `tabAgent Run` child
			where child.parent_run = run.name and child.status in ('Queued', 'Started', 'Waiting'))
		order by run.creation
		limit {MAX_READ_RUNS}""",
		pluck=True,
	)


def read_stuck_runs(now: datetime | None) -> list[str]:
	"""The first queued run of each conversation in which no run is active, if it has waited longer than a
	lease.

	A run that ends enqueues the next one, unless its worker is lost before it can.
	"""
	before = add_to_date(now or now_datetime(), seconds=-LEASE_S, as_datetime=True)
	return frappe.db.sql(
		f"""select run.name from {BEGINNABLE} and run.creation < %s order by run.creation
		limit {MAX_READ_RUNS}""",
		(before,),
		pluck=True,
	)


def read_claimable_runs() -> list[str]:
	"""At most MAX_READ_RUNS that a worker may start: abandoned ones, then those of chats, then the oldest."""
	queued = frappe.db.sql(
		f"""select run.name from {BEGINNABLE}
		order by case conversation.channel when 'chat' then 0 else 1 end, run.creation
		limit {MAX_READ_RUNS}""",
		pluck=True,
	)
	return [*read_abandoned_runs(), *queued][:MAX_READ_RUNS]


BEGINNABLE = """`tabAgent Run` run
	left join `tabAgent Conversation` conversation on conversation.name = run.conversation
	where run.status = 'Queued' and not exists (
		select 1 from `tabAgent Run` other where other.name = conversation.active_run
		and other.status in ('Started', 'Waiting'))
	and not exists (
		select 1 from `tabAgent Run` earlier where earlier.conversation = run.conversation
		and earlier.status = 'Queued' and earlier.creation < run.creation)
	and not exists (
		select 1 from `tabAgent Stop` held where held.name = run.held_by and held.released_at is null)"""
"""The first queued run of each conversation in which no run is active, unless a stop holds it."""
