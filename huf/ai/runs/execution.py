"""Executes a started run: runs its agent with the provider, then finishes or pauses the run."""

import asyncio
import time
from collections.abc import Iterable
from traceback import format_exc

import frappe

from huf.ai.core import telemetry
from huf.ai.core.call_key import CALL_KEY
from huf.ai.core.errors import LeaseLost, RunHeld, RunPaused, UsageError
from huf.ai.core.events import EventKind, Listener
from huf.ai.core.types import (
	OFFLINE,
	OPEN_STATUSES,
	AgentRequest,
	Mode,
	Outcome,
	RunResult,
	RunStatus,
	StopReason,
	Usage,
)
from huf.ai.loop.engine import CUT_BY
from huf.ai.loop.guards import SUM_UP, Cancelled, Deadline, Guard
from huf.ai.loop.run_context import Review, RunContext
from huf.ai.receipts.claims import build_correction
from huf.ai.runs.approvals import Approvals
from huf.ai.runs.finish import describe_waiting, finish_run, hold_run, settle_broken_run
from huf.ai.runs.messages import add_file_reader, build_messages
from huf.ai.runs.provider import RunProvider
from huf.ai.runs.start import OpenRun, start_run
from huf.ai.runs.stop_rules import apply_stop_rules
from huf.ai.runs.summaries import SummaryJournal, summarize
from huf.ai.runs.tracing import TracedJournal, keeps_contents, trace_run
from huf.ai.storage import leases
from huf.ai.storage.drafts import describe_draft, expire_pending, read_pending_below
from huf.ai.storage.events import RunEventEmitter
from huf.ai.storage.journal import RunJournal, elapsed
from huf.ai.storage.limits import Limit, read_limits, translate
from huf.ai.storage.recorded_run import RecordedRun
from huf.ai.storage.run_rows import store_opening, suspend_with_usage
from huf.ai.storage.untrusted_records import mark_conversations
from huf.ai.undo.capture import CallChanges

MAX_ATTEMPTS = 10
"""How many workers a run may lose, plus one per step it has made."""
TOO_MANY_ATTEMPTS = (
	"Too many workers were lost during this run, so it is not resumed again. Find out in the workers' log "
	"why they ended, then send the message again."
)
FAULT = "The run failed because of an internal error. The details are in the Error Log."
CUT_TEXTS = [text for _reason, text in CUT_BY.values() if text]
CHILD_KEYS = ("run", "status", "response", "error")
MAX_DEPTH = 3
"""Depth of nested agent calls."""


async def execute_run(run: OpenRun, listeners: Iterable[Listener] = ()) -> RunResult:
	"""Work on a run until it ends, waits for a person, or is held by a stop. Raises LeaseLost."""
	work = work_on_run(run, listeners)
	return await (trace_run(run, work) if telemetry.is_on() else work)


async def work_on_run(run: OpenRun, listeners: Iterable[Listener]) -> RunResult:
	emit = RunEventEmitter(run.name, run.request, listeners, run.manager, run.attempts)
	emit(EventKind.RUN_STARTED, describe_start(run))
	started, journal = time.monotonic(), make_journal(run)
	# From here on changes belong to this run, and its lease is renewed together with its caller's.
	caller, run.lease.caller = frappe.flags.huf_run, frappe.flags.huf_lease
	frappe.flags.huf_run, frappe.flags.huf_lease = run.name, run.lease
	try:
		outcome = await run_agent_of(run, journal, emit)
	except RunPaused as paused:
		if waits_for_child(run.name, paused):
			suspend_with_usage(run.lease)
			journal.commit(with_messages=True)
		result = describe_waiting(run, paused.drafts, elapsed(started))
		names = [each["draft"] for each in paused.drafts]
		emit(EventKind.RUN_WAITING, {**result.as_dict(), "draft": next(iter(names), None), "drafts": names})
		return result
	except RunHeld as held:
		result = hold_run(run, journal, held.stop, elapsed(started))
		emit(EventKind.RUN_QUEUED, {**describe_start(run), **result.as_dict(), "held": held.stop})
		return result
	finally:
		journal.end()
		frappe.flags.huf_run, frappe.flags.huf_lease = caller, run.lease.caller
		# A later call outside a run must not be sent with this run's key.
		CALL_KEY.set(None)
	duration_ms = round((time.monotonic() - started + run.recorded.seconds) * 1000)
	result = finish_run(run, journal, outcome, duration_ms)
	emit(EventKind.RUN_FINISHED, result.as_dict())
	apply_stop_rules(run.request.agent)
	return result


def describe_start(run: OpenRun) -> dict:
	"""The data of RUN_STARTED. `kept_steps` of a resumed run: how many emitted steps remain valid; later ones
	are void.
	"""
	model = run.manager.model
	resumed = {"kept_steps": len(run.recorded.replies)} if run.is_resumed else {}
	return {
		"conversation": run.conversation,
		"agent": run.request.agent,
		"model": model,
		"offline": model == OFFLINE,
		"mode": run.manager.mode.value,
		"tier": run.request.tier,
		**resumed,
	}


async def run_agent_of(run: OpenRun, journal: RunJournal, emit: RunEventEmitter) -> Outcome:
	"""Run the agent with its provider. An unexpected error ends the run as Failed instead of leaving it
	open.
	"""
	if run.lost_workers >= MAX_ATTEMPTS + len(run.recorded.replies):
		return end_with_record(StopReason.ERROR, run.recorded, error=translate(TOO_MANY_ATTEMPTS))
	if run.is_resumed and journal.cancel_requested(waiting=True):
		expire_pending(run.name, translate("The run was cancelled"))
		return end_with_record(StopReason.CANCELLED, run.recorded, run.recorded.text)
	try:
		outcome = await call_provider(run, journal, emit)
		# The loop knows no languages.
		if outcome.error in CUT_TEXTS:
			outcome.error = translate(outcome.error)
		return outcome
	except UsageError as error:
		return end_with_record(StopReason.ERROR, settle_interrupted(run, journal), error=str(error))
	except asyncio.CancelledError:
		# The calling run was stopped, or timed out.
		return end_with_record(StopReason.CANCELLED, settle_interrupted(run, journal))
	except (LeaseLost, RunHeld, RunPaused):
		raise
	except Exception:  # the boundary around a run
		recorded = settle_interrupted(run, journal)
		# Without a message Frappe adds the values of variables, API keys among them.
		frappe.log_error(f"Agent Run {run.name} failed", format_exc())
		return end_with_record(StopReason.ERROR, recorded, error=translate(FAULT))


def settle_interrupted(run: OpenRun, journal: RunJournal) -> RecordedRun:
	"""Roll back what was open, except for the last reply, and settle the run. Commits."""
	journal.rollback()
	journal.commit()
	return settle_broken_run(run.name)


def end_with_record(
	reason: StopReason, recorded: RecordedRun, text: str = "", error: str | None = None
) -> Outcome:
	"""An outcome with the recorded usage and steps. `text`, if any, is recorded as well."""
	return Outcome(reason, text, bool(text), error, recorded.usage, len(recorded.replies))


async def call_provider(run: OpenRun, journal: RunJournal, emit: RunEventEmitter) -> Outcome:
	manager, messages, spent = run.manager, run.messages, run.recorded.spent
	agent = manager.prepare_agent(run_child)
	emit.tools = agent.tools
	cancelled, spent_s = Cancelled(journal.cancel_requested), run.recorded.seconds
	guards = manager.make_guards(timeout_of(run), None, cancelled, nudge=SUM_UP, spent_s=spent_s)
	approvals = Approvals(agent.tools, journal, guards, emit, run.is_resumed)
	if manager.model != OFFLINE:
		agent = add_file_reader(agent, messages, run.conversation)
		if run.is_long:
			messages, spent = await summarize_first(run, agent, journal.limits)
	context = RunContext(
		agent_name=run.request.agent,
		messages=messages,
		guards=guards,
		journal=journal,
		emit=emit,
		approve=approvals.approve,
		is_streamed=emit.is_watched,
		larger_model=manager.escalate,
		review=choose_review(run),
	)
	outcome = await RunProvider.run(agent, run.request.prompt, manager.provider, manager.model, context)
	outcome.usage = outcome.usage + spent
	return outcome


def choose_review(run: OpenRun) -> Review | None:
	"""With strict receipts, an answer with unconfirmed claims goes back to the model once. One that went back
	before the run was resumed does so again, whatever has changed since.
	"""
	doc, sent_back = run.manager.agent_doc, run.recorded.sent_back
	if not sent_back and not (doc.strict_receipts and doc.agent_tool):
		return None
	return lambda step, answer: build_correction(run.name, answer, run.messages, step, step in sent_back)


def make_journal(run: OpenRun) -> RunJournal:
	manager = run.manager
	limits = read_limits(run.name, run.request.agent, run.request.user, run.request.parent_run)
	parts = (
		run.lease,
		manager.provider,
		manager.model,
		run.conversations,
		run.recorded,
		limits,
		CallChanges(),
	)
	return TracedJournal(keeps_contents(run), *parts) if telemetry.is_on() else RunJournal(*parts)


async def summarize_first(run: OpenRun, agent, limits: list[Limit]) -> tuple[list[dict], Usage]:
	"""Summarize the earlier conversation. Returns (new opening messages, what the run has used so far)."""
	manager, started = run.manager, time.monotonic()
	journal = SummaryJournal(run.lease, manager.provider, manager.model, None, limits=limits)
	half_time = Deadline(timeout_of(run) / 2, started)
	without_runs = [run.name, *leases.read_queued_runs(run.conversation)]
	guards: list[Guard] = [Cancelled(journal.cancel_requested), half_time]
	try:
		used = await summarize(manager, agent, run.conversation, without_runs, journal, guards)
		spent = run.recorded.spent + used
	except (LeaseLost, RunHeld):
		raise
	except Exception:  # the boundary around the summary, which a run can do without
		spent = settle_broken_run(run.name).spent
		title = f"Agent Run {run.name} begins without a summary of its conversation"
		frappe.log_error(title, format_exc())
	run.lease.hold()
	record = frappe.db.get_value("Agent Run", run.name, ["reference_doctype", "reference_name"])
	opening = build_messages(manager, run.conversation, run.request, without_runs, record)
	mark_conversations([run.conversation], opening.origins)
	store_opening(run.name, opening.stored)
	return opening.messages, spent


def timeout_of(run: OpenRun) -> int:
	"""The run's time-out in seconds; shorter if a person or program waits for it."""
	settings = run.manager.settings
	is_awaited = run.manager.mode is Mode.INLINE and not run.request.parent_run
	default = settings.inline_timeout if is_awaited else settings.background_timeout
	return run.manager.agent_doc.run_timeout or default


async def run_child(agent_name: str, prompt: str) -> dict:
	"""Run another agent as a tool of the current run, in a separate conversation.

	Returns {run, status, response, error}. Raises RunPaused if it waits for a person or another worker has
	taken it over: then the current run waits as well, and arrives here again after the other has ended.
	Raises UsageError if calls are nested deeper than MAX_DEPTH.
	"""
	parent, call = frappe.flags.huf_run, CALL_KEY.get()
	if started := find_child(parent, call):
		return read_child(started)
	if depth_of(parent) >= MAX_DEPTH:
		raise UsageError(f"Calls between agents may be nested at most {MAX_DEPTH} levels deep.")
	request = AgentRequest(
		agent_name,
		prompt,
		frappe.session.user,
		channel="agent",
		# Calls of one turn run concurrently, so each needs a separate conversation.
		external_id=call or parent,
		parent_run=parent,
		parent_call=call,
	)
	try:
		result = await execute_run(start_run(request))
	except LeaseLost:
		# What a tool of the called run has written is on record nowhere: its next worker writes it.
		frappe.db.rollback()
		raise RunPaused([]) from None
	if result.status in (RunStatus.WAITING, RunStatus.QUEUED):
		raise RunPaused(list(result.drafts))
	described = result.as_dict()
	return {key: described[key] for key in CHILD_KEYS}


def find_child(parent: str | None, call: str | None) -> str | None:
	"""The run that an earlier worker started for this call, or None."""
	filters = {"parent_run": parent, "parent_call": call}
	return frappe.db.get_value("Agent Run", filters, "name") if parent and call else None


def read_child(run: str) -> dict:
	"""The answer of a called run. Raises RunPaused while it is open."""
	row = frappe.db.get_value("Agent Run", run, ["status", "response", "error_message"], as_dict=True)
	if row.status in OPEN_STATUSES:
		raise RunPaused([describe_draft(each) for each in read_pending_below(run)])
	return {"run": run, "status": row.status, "response": row.response, "error": row.error_message}


def waits_for_child(run: str, paused: RunPaused) -> bool:
	return all(each["run"] != run for each in paused.drafts)


def depth_of(run: str | None) -> int:
	depth = 0
	while run:
		depth, run = depth + 1, frappe.db.get_value("Agent Run", run, "parent_run")
	return depth
