"""The queue of runs: enqueues them, executes them in workers, and recovers those whose worker was lost."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from traceback import format_exc
from typing import TypeVar

import frappe
from frappe.utils import now_datetime

from huf.ai.core.errors import LeaseLost, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.events import EventKind, Listener, RunEvent
from huf.ai.core.session import acting_as
from huf.ai.core.times import subtract_seconds
from huf.ai.core.types import AgentRequest, Mode, RunResult, RunStatus
from huf.ai.runs.execution import MAX_ATTEMPTS, TOO_MANY_ATTEMPTS, describe_start, execute_run
from huf.ai.runs.finish import fail_run
from huf.ai.runs.routing import find_takeover, route_request
from huf.ai.runs.start import OpenRun, load_run, start_run
from huf.ai.runs.tracing import continuing, trace_of_request
from huf.ai.storage import leases, stops
from huf.ai.storage.budgets import settle_abandoned_calls, settle_lost_runs
from huf.ai.storage.chats import is_run_of_chat
from huf.ai.storage.drafts import has_pending
from huf.ai.storage.events import publish_new_run
from huf.ai.storage.jobs import enqueue_job
from huf.ai.storage.leases import Lease
from huf.ai.storage.limits import translate

Started = TypeVar("Started")

CLAIM_ATTEMPTS = 3
"""Attempts after deadlocks."""
JOB_TIMEOUT_S = 3600
"""Seconds a job may take before the queue ends it; a run has limits of its own."""


def enqueue_run(request: AgentRequest) -> OpenRun:
	"""Store a run and enqueue its job. Raises what prevents it from starting."""
	run = start_run(route_request(request), RunStatus.QUEUED)
	enqueue_work(run.name)
	return run


def queue_behind(request: AgentRequest) -> OpenRun:
	"""Queue a run behind the open one of its conversation, whose pages show its message from now on."""
	run = enqueue_run(replace(request, mode=Mode.BACKGROUND))
	publish_new_run(RunEvent(EventKind.RUN_QUEUED, run.name, describe_start(run)))
	return run


def enqueue_work(run: str, **how) -> None:
	"""Enqueue the job of a run. Chats go to the front of the queue, because a person is waiting."""
	if trace := trace_of_request():
		how["trace"] = trace
	how.update(queue="long", timeout=JOB_TIMEOUT_S, at_front=is_run_of_chat(run))
	enqueue_job("huf.ai.runs.queue.work_on", run=run, **how)


def work_on(run: str, now: datetime | None = None, trace: dict | None = None) -> RunResult | None:
	"""Execute a queued or abandoned run unless another worker has it. The job's outermost function.

	Returns None if another worker has it, if it has ended, if a stop holds it, or if another run of its
	conversation is active, which will enqueue it when it ends. `trace`: the trace that the run belongs to.
	"""
	lease = claim(run, now)
	return work_with(lease, trace) if lease else None


def work_with(lease: Lease, trace: dict | None = None) -> RunResult | None:
	"""Execute a run that was claimed; None if its lease was lost on the way."""
	user = frappe.db.get_value("Agent Run", lease.run, "run_as")
	with acting_as(user), continuing(trace):
		try:
			return execute_claimed_run(lease)
		except LeaseLost:
			frappe.db.rollback()
			return None


def claim_at_once(run: str) -> Lease | None:
	"""Like `claim`, but returns None without waiting if another transaction has locked the run."""
	return claim(run) if leases.lock_free_runs([run]) else None


def claim(run: str, now: datetime | None = None) -> Lease | None:
	"""The lease of a run; None if another worker has it or its conversation, or a stop holds it. Commits."""
	if stop := stops.find_stop_of_run(run):
		hold_unstarted(run, stop, now)
		return None
	row = frappe.db.get_value("Agent Run", run, ["conversation", "cancel_requested"])
	conversation, is_cancelled = row or (None, 0)
	for _ in range(CLAIM_ATTEMPTS):
		try:
			# A cancelled run only ends, also behind one that waits for a person.
			if is_cancelled or activate_run(run, conversation, now):
				return leases.acquire_lease(run, now)
		except frappe.QueryDeadlockError:
			# A run of the conversation is ending: it locks its own row first, while a claim locks the
			# conversation first.
			frappe.db.rollback()
		else:
			frappe.db.rollback()
			return None
	return None


def activate_run(run: str, conversation: str | None, now: datetime | None) -> bool:
	"""Make a run the active one of its conversation; False while another one is. Does not commit.

	A run whose conversation was deleted may go on, to fail.
	"""
	if not conversation or leases.claim_conversation(conversation, run, now):
		return True
	return not frappe.db.exists("Agent Conversation", conversation)


def hold_unstarted(run: str, stop: dict, now: datetime | None) -> None:
	"""Let a run that no worker has wait for the release of a stop. Commits."""
	leases.hold_unclaimed_run(run, stop["name"], now)
	if frappe.db.get_value("Agent Run", run, "status") == RunStatus.QUEUED.value:
		# The lost worker of an abandoned run may have reserved budget; nobody else has.
		settle_lost_runs([run])
	frappe.db.commit()


def execute_claimed_run(lease: Lease) -> RunResult:
	"""Load a run and execute it; it fails if something it needs was deleted. Raises LeaseLost."""
	try:
		run = load_run(lease)
	except (UsageError, frappe.PermissionError, frappe.DoesNotExistError) as error:
		return end_unloaded(lease, str(error))
	except Exception:  # the boundary around loading: it is tried again when the lease has run out
		frappe.db.rollback()
		if frappe.db.get_value("Agent Run", lease.run, "lost_workers") < MAX_ATTEMPTS:
			raise
		frappe.log_error(f"Agent Run {lease.run} could not be loaded", format_exc())
		return end_unloaded(lease, translate(TOO_MANY_ATTEMPTS))
	result = run_coroutine(end_run(run))
	# Its first worker would have gone on with the agent; messages that were queued are not escalated.
	if run.manager.mode is Mode.INLINE and is_run_of_chat(run.name):
		take_over(run.request, result.as_dict(), queue_behind)
	return result


def take_over(request: AgentRequest, ended: dict, start: Callable[[AgentRequest], Started]) -> Started | None:
	"""The agent's run that `start` returns, if it takes over from a chat; None if the chat's answer stays,
	also because the agent's run cannot start.
	"""
	agent = find_takeover(request, ended)
	try:
		return start(agent) if agent else None
	except (UsageError, frappe.PermissionError):
		frappe.db.rollback()
		return None


def end_unloaded(lease: Lease, error: str) -> RunResult:
	result = fail_run(lease, error)
	follow_up(result, frappe.db.get_value("Agent Run", lease.run, "parent_run"))
	return result


async def end_run(run: OpenRun, listeners: Iterable[Listener] = ()) -> RunResult:
	"""Execute an open run to its end, then enqueue what waits for it."""
	result = await execute_run(run, listeners)
	follow_up(result, run.request.parent_run)
	return result


def follow_up(result: RunResult, parent: str | None) -> None:
	"""After a run has ended, enqueue the runs that wait for it: the next of its conversation, and its
	caller `parent`.
	"""
	call_next(result.conversation)
	if result.status is RunStatus.WAITING:
		# A called run may have ended while this one was being suspended.
		if not has_pending(result.run) and not leases.read_children(result.run):
			wake(result.run)
	elif parent and frappe.db.get_value("Agent Run", parent, "status") == RunStatus.WAITING.value:
		wake(parent)


def wake(run: str) -> None:
	"""Enqueue a waiting run. Commits first, so that the worker sees what it waited for."""
	leases.wake_run(run)
	frappe.db.commit()
	enqueue_work(run)


def call_next(conversation: str) -> None:
	if waiting := leases.read_queued_runs(conversation):
		enqueue_work(waiting[0])


def recover_runs(now: datetime | None = None) -> list[str]:
	"""Enqueue runs that lost their worker, or the worker that was to wake them, and return their names.
	Scheduled every minute.
	"""
	lost = [*settle_lost(now), *leases.read_stuck_runs(now)]
	attempts = frappe.get_all(
		"Agent Run", {"name": ["in", lost]}, ["name", "attempts"], order_by="creation asc"
	)
	for run in attempts:
		# Deduplicated: a run that waits in a long queue for minutes must not be enqueued again each minute.
		# The queue may list a killed job as running for a long time, so each attempt has its own job ID.
		enqueue_work(run.name, job_id=f"huf-recover-{run.name}-{run.attempts}", deduplicate=True)
	return lost


def settle_lost(now: datetime | None = None) -> list[str]:
	"""Charge the reservations of lost workers, and queue the runs they should have woken. Returns the runs
	that can continue. Commits.
	"""
	abandoned = leases.read_abandoned_runs(now)
	# Other runs must not wait for budget that lost calls have reserved. A commit each: reservations that
	# need the same budgets in another order would deadlock with several at once.
	for run in abandoned:
		settle_lost_runs([run])
		frappe.db.commit()
	settle_abandoned_calls(subtract_seconds(now or now_datetime(), JOB_TIMEOUT_S))
	answered = leases.read_answered_runs()
	for run in answered:
		leases.wake_run(run)
	frappe.db.commit()
	return [*abandoned, *answered]
