"""A run from its opening to its end: written down, worked on by whoever holds it, closed.

Opening and working are apart, so that another worker can do the work, or take it up again.
"""

import asyncio
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import frappe

from huf.ai.agents.manager import AgentManager
from huf.ai.concurrency.tool_threads import is_tool_running
from huf.ai.core.attachments import read_message_files
from huf.ai.core.errors import LeaseLost, RunAlreadyOpened, RunPaused, UsageError
from huf.ai.core.types import (
	OFFLINE,
	AgentRequest,
	EventKind,
	Listener,
	Mode,
	Outcome,
	Routed,
	RunResult,
	RunStatus,
	StopReason,
	Usage,
)
from huf.ai.loop.guards import NUDGE, Cancelled, Deadline, Guard, Stall, StepCap, ToolFailures
from huf.ai.runs import admission
from huf.ai.runs.approvals import Approvals
from huf.ai.runs.attached_files import bring, with_reading
from huf.ai.runs.finish import break_off, close
from huf.ai.runs.provider import RunProvider
from huf.ai.runs.summaries import SummaryJournal, sum_up, tell_past
from huf.ai.storage import leases, trigger_events
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.drafts import close_drafts, expire_pending
from huf.ai.storage.events import RunEventEmitter
from huf.ai.storage.journal import (
	RunJournal,
	elapsed,
	insert_run,
	mark_lost_calls,
	store_opening,
)
from huf.ai.storage.leases import Lease
from huf.ai.storage.limits import Limit, read_limits
from huf.ai.storage.message_files import attach_files
from huf.ai.storage.recorded_run import RecordedRun, read_recorded

BUSY = "The agent is still at work on what was said before. Wait for its answer, or cancel that run."
MAX_ATTEMPTS = 5
LOST_AGAIN = f"{MAX_ATTEMPTS} workers were lost over this run, so no other takes it up."
FAULT = "The run broke off by a fault inside Huf. A manager finds it in the Error Log."


WAITS = "It waits for a person to allow something, and will go on by itself. Its answer will not come here."
MAX_DEPTH = 3
"""How many agents may have called one another."""


@dataclass(frozen=True)
class OpenRun:
	"""A run that is on record and not ended; `messages` is what its model is told first.

	`is_long`: the conversation is to be summed up before.
	"""

	request: AgentRequest
	manager: AgentManager
	conversations: ConversationManager
	lease: Lease
	messages: list[dict]
	recorded: RecordedRun = field(default_factory=RecordedRun)
	attempts: int = 1
	mode: Mode = Mode.INLINE
	is_long: bool = False

	@property
	def name(self) -> str:
		return self.lease.run

	@property
	def conversation(self) -> str:
		return self.conversations.conversation


def open_run(request: AgentRequest, status: RunStatus = RunStatus.STARTED) -> OpenRun:
	"""Admit the request and write down the run and what the person said. Commits.

	A Started run is this worker's, and has the conversation to itself; a Queued one waits for `load_run`.
	Raises PermissionError or UsageError for what cannot be started, AlreadyOpened for the event of a trigger that has
	its run; then nothing is written.
	"""
	if not (request.prompt or "").strip() and not request.attachments:
		raise UsageError("There is nothing to do: the prompt is empty.")
	agent = admission.admit(request.agent, request.user)
	mode = request.mode or (Mode.INLINE if status is RunStatus.STARTED else Mode.BACKGROUND)
	manager = AgentManager(request.agent, request.provider, request.model, request.tier, mode)
	message_files = bring(request.attachments, request.user, manager.provider, manager.model)
	conversations = ConversationManager(
		request.agent, request.channel, request.external_id, request.user, request.shared
	)
	conversation = conversations.get_or_create_conversation(
		request.conversation,
		title=request.prompt or message_files.title,
		persist=bool(agent.persist_conversation),
	)
	request = replace(request, message_files=attach_files(conversation, message_files, request.user))
	messages, is_long = tell_past(manager, conversation, request)
	admission.count_run(request, agent)
	lease = insert_run(
		replace(request, mode=mode), conversation, manager.provider, manager.model, status, messages
	)
	if status is RunStatus.STARTED and not leases.claim_conversation(conversation, lease.run):
		frappe.db.rollback()
		raise UsageError(BUSY)
	if request.origin and not trigger_events.claim_origin(request.origin, lease.run):
		frappe.db.rollback()
		raise RunAlreadyOpened(request.origin.event)
	conversations.add_message("user", request.prompt, run=lease.run, message_files=request.message_files)
	conversations.persist_conversation()
	return OpenRun(request, manager, conversations, lease, messages, mode=mode, is_long=is_long)


def load_run(name: str, lease: Lease) -> OpenRun:
	"""A run from its records, as the worker who holds it now goes on with it.

	Raises UsageError, PermissionError and DoesNotExistError where it cannot go on, because something it needs is gone.
	"""
	row = frappe.get_doc("Agent Run", name)
	if row.attempts > 1:
		admission.check_enabled(row.run_as)
	else:
		admission.admit(row.agent, row.run_as)
	# Who deletes a conversation deletes what was said in it.
	said = (
		frappe.db.get_value(
			"Agent Message",
			{"run": name, "role": "user"},
			["content", "attachments", "attached_text"],
			order_by="sequence asc",
			as_dict=True,
		)
		or {}
	)
	model = None if row.model == OFFLINE else row.model
	request = AgentRequest(
		row.agent,
		said.get("content", ""),
		row.run_as,
		row.conversation,
		history=None if row.conversation else (),
		provider=row.provider,
		model=model,
		parent_run=row.parent_run,
		tier=row.tier or None,
		routed=Routed(row.confidence, tuple(json.loads(row.plan or "[]"))) if row.route else None,
		message_files=read_message_files(said),
	)
	mode = Mode(row.mode or Mode.INLINE)
	manager = AgentManager(row.agent, row.provider, model, request.tier, mode)
	conversations = ConversationManager(row.agent, user=row.run_as)
	conversations.conversation = row.conversation
	if row.attempts > 1:
		# It has begun, and goes on from what it began with, whatever was said or changed since.
		mark_lost_calls(name)
		return OpenRun(
			request,
			manager,
			conversations,
			lease,
			json.loads(row.opening),
			read_recorded(name),
			row.attempts,
			mode,
		)
	to_come = [name, *leases.read_queued_runs(row.conversation)]
	messages, is_long = tell_past(manager, row.conversation, request, to_come)
	store_opening(name, messages)
	return OpenRun(request, manager, conversations, lease, messages, mode=mode, is_long=is_long)


async def carry_out(run: OpenRun, listeners: Iterable[Listener] = ()) -> RunResult:
	"""Work on a run to its end, and write down how it ended; or until it waits for a person."""
	announce = RunEventEmitter(run.name, run.request, listeners, run.manager, run.attempts)
	announce(EventKind.RUN_STARTED, started(run))
	began = time.monotonic()
	# What is changed meanwhile is this run's doing; what comes after it is not.
	before, run.lease.caller = frappe.flags.huf_run, frappe.flags.huf_lease
	frappe.flags.huf_run, frappe.flags.huf_lease = run.name, run.lease
	try:
		outcome = await work(run, announce)
	except RunPaused as paused:
		return wait(run, paused.draft, elapsed(began), announce)
	finally:
		frappe.flags.huf_run, frappe.flags.huf_lease = before, run.lease.caller
	result = finish(run, outcome, elapsed(began) + round(run.recorded.seconds * 1000))
	announce(EventKind.RUN_FINISHED, result.as_dict())
	return result


def wait(run: OpenRun, draft: dict, duration_ms: int, announce: RunEventEmitter) -> RunResult:
	"""The run has been given back, and whoever waited for it is told what it waits for."""
	recorded = read_recorded(run.name)
	result = RunResult(
		run=run.name,
		conversation=run.conversation,
		status=RunStatus.WAITING,
		stop_reason=None,
		response=recorded.text,
		error=None,
		usage=recorded.usage,
		steps=len(recorded.replies),
		duration_ms=duration_ms,
		provider=run.manager.provider,
		model=run.manager.model,
		draft=draft,
	)
	announce(EventKind.RUN_WAITING, {**result.as_dict(), "draft": draft["draft"]})
	return result


def started(run: OpenRun) -> dict:
	"""`kept_steps`: of a run that was taken up again, how many steps stay as they were told; what came after is void."""
	model = run.manager.model
	again = {"kept_steps": len(run.recorded.replies)} if run.attempts > 1 else {}
	return {
		"conversation": run.conversation,
		"agent": run.request.agent,
		"model": model,
		"offline": model == OFFLINE,
		"mode": run.mode.value,
		"tier": run.request.tier,
		**again,
	}


async def work(run: OpenRun, announce: RunEventEmitter) -> Outcome:
	"""Have the provider run the agent. An error nobody foresaw ends the run as Failed, never as an open one."""
	manager, conversations = run.manager, run.conversations
	limits = read_limits(run.name, run.request.agent, run.request.user, run.request.parent_run)
	journal = RunJournal(
		run.lease,
		manager.provider,
		manager.model,
		lambda *step: conversations.add_step(run.name, *step),
		run.recorded,
		limits,
	)
	guards, resumed = guards_of(run, journal), run.attempts > 1
	context = {
		"agent_name": run.request.agent,
		"messages": run.messages,
		"journal": journal,
		"guards": guards,
		"emit": announce,
		"stream": announce.is_watched,
		"climb": manager.escalate,
	}
	if run.attempts > MAX_ATTEMPTS:
		return Outcome(
			StopReason.ERROR, error=LOST_AGAIN, usage=run.recorded.usage, steps=len(run.recorded.replies)
		)
	if resumed and journal.cancel_requested(waiting=False):
		# It may have waited for a person: what it has done and used so far is on record.
		recorded = run.recorded
		expire_pending(run.name, "The run was cancelled")
		return Outcome(
			StopReason.CANCELLED, recorded.text, True, usage=recorded.usage, steps=len(recorded.replies)
		)
	try:
		agent, spent = manager.create_agent(run_child), run.recorded.spent
		context["clear"] = Approvals(agent.tools, journal, guards, announce, resumed).clear
		if manager.model != OFFLINE:
			agent = with_reading(agent, run.messages, run.conversation)
		if run.is_long and manager.model != OFFLINE:
			context["messages"], spent = await begin_anew(run, agent, limits)
		outcome = await RunProvider.run(agent, run.request.prompt, manager.provider, manager.model, context)
		outcome.usage = outcome.usage + spent
		return outcome
	except UsageError as error:
		return Outcome(StopReason.ERROR, error=str(error))
	except asyncio.CancelledError:
		# The run that has called this one was stopped, or took too long.
		recorded = break_off(run.name)
		return Outcome(StopReason.CANCELLED, usage=recorded.usage, steps=len(recorded.replies))
	except (LeaseLost, RunPaused):
		raise
	except Exception:  # the boundary around a run
		recorded = break_off(run.name)
		frappe.log_error(f"Agent Run {run.name} failed")
		return Outcome(StopReason.ERROR, error=FAULT, usage=recorded.usage, steps=len(recorded.replies))


async def begin_anew(run: OpenRun, agent, limits: list[Limit]) -> tuple[list[dict], Usage]:
	"""Sum up what was said before; gives what the model is told first, which is on record then, and what that used."""
	manager, began = run.manager, time.monotonic()
	journal = SummaryJournal(run.lease, manager.provider, manager.model, None, limits=limits)
	half = Deadline(timeout_of(run) / 2, lambda: time.monotonic() - began)
	without = [run.name, *leases.read_queued_runs(run.conversation)]
	used = await sum_up(manager, agent, run.conversation, without, journal, [cancelled(journal), half])
	run.lease.hold()
	messages, _ = tell_past(manager, run.conversation, run.request, without)
	store_opening(run.name, messages)
	return messages, used


def cancelled(journal: RunJournal) -> Cancelled:
	# While a tool has the database to itself, nobody can look there for a wish.
	return Cancelled(lambda waiting: not is_tool_running() and journal.cancel_requested(waiting))


def guards_of(run: OpenRun, journal: RunJournal) -> list[Guard]:
	manager, began = run.manager, time.monotonic() - run.recorded.seconds
	return [
		StepCap(manager.steps),
		cancelled(journal),
		Deadline(timeout_of(run), lambda: time.monotonic() - began),
		ToolFailures(manager.settings.max_tool_failures),
		Stall(manager.agent_doc.stall_message or NUDGE),
	]


def timeout_of(run: OpenRun) -> int:
	"""Seconds a run may be worked on; a person waits for one that nothing but a request has called."""
	manager = run.manager
	waited_for = run.mode is Mode.INLINE and not run.request.parent_run
	settings = manager.settings
	return manager.agent_doc.run_timeout or (
		settings.inline_timeout if waited_for else settings.background_timeout
	)


def finish(run: OpenRun, outcome: Outcome, duration_ms: int) -> RunResult:
	"""Close the run with its answer; where the step cap cut that short, it says so."""
	if outcome.stop_reason is StopReason.MAX_STEPS:
		outcome.text, outcome.told = f"{step_warning(outcome.steps)}\n\n{outcome.text}".strip(), False
		if run.mode is Mode.INLINE and (offer := run.manager.agent_doc.cap_message):
			outcome.text = f"{outcome.text}\n\n{offer}"
	if run.attempts > 1:
		close_drafts(run.name)
	return close(run.lease, run.conversations, outcome, duration_ms, run.manager.provider, run.manager.model)


def step_warning(steps: int) -> str:
	"""The line before an answer that the step cap cut short; other front ends look for it."""
	return f"[WARNING: Max steps ({steps}) reached. Response may be incomplete.]"


async def run_child(agent_name: str, prompt: str) -> dict:
	"""Run another agent as a tool of the present run, in a conversation of its own."""
	parent = frappe.flags.huf_run
	if depth_of(parent) >= MAX_DEPTH:
		raise UsageError(f"Agents may call one another {MAX_DEPTH} deep, no further.")
	request = AgentRequest(
		agent_name, prompt, frappe.session.user, channel="agent", external_id=parent, parent_run=parent
	)
	result = await carry_out(open_run(request))
	told = {
		key: value for key, value in result.as_dict().items() if key in ("run", "status", "response", "error")
	}
	return {**told, "note": WAITS} if result.status is RunStatus.WAITING else told


def depth_of(run: str | None) -> int:
	depth = 0
	while run:
		depth, run = depth + 1, frappe.db.get_value("Agent Run", run, "parent_run")
	return depth
