"""Finishes or pauses a run: writes its last message and its row in one commit, and notifies."""

from collections.abc import Collection
from dataclasses import replace
from traceback import format_exc

import frappe

from huf.ai.core.events import EventKind
from huf.ai.core.types import AgentRequest, Call, Mode, Outcome, RunResult, RunStatus, StopReason
from huf.ai.receipts.claims import check_run
from huf.ai.runs.start import OpenRun
from huf.ai.storage import leases, notifications, outgoing_mail
from huf.ai.storage.budgets import settle_lost_runs
from huf.ai.storage.conversations import ConversationManager, build_message_row
from huf.ai.storage.drafts import close_drafts
from huf.ai.storage.events import RunEventEmitter
from huf.ai.storage.journal import RunJournal
from huf.ai.storage.leases import Lease
from huf.ai.storage.recorded_run import RecordedRun, read_recorded
from huf.ai.storage.route_decisions import read_decisions
from huf.ai.storage.run_rows import close_run, end_children
from huf.ai.storage.stops import describe_stop

ON_RESULT, ON_FAILURE, ON_BOTH = "Result", "Failure", "Result or failure"


def finish_run(run: OpenRun, journal: RunJournal, outcome: Outcome, duration_ms: int) -> RunResult:
	"""Store the answer and close the run. Raises LeaseLost; commits."""
	if run.manager.agent_doc.agent_tool:
		outcome.claims = check_claims(run, outcome.text)
	if outcome.stop_reason is StopReason.MAX_STEPS:
		outcome.text, outcome.is_recorded = f"{step_warning(outcome.steps)}\n\n{outcome.text}".strip(), False
		if run.manager.mode is Mode.INLINE and (offer := run.manager.agent_doc.cap_message):
			outcome.text = f"{outcome.text}\n\n{offer}"
	if run.is_resumed:
		close_drafts(run.name)
		add_recorded_steps(run.conversations, run.recorded, journal.finished_steps)
	journal.write_reply()
	manager = run.manager
	result = store_end(run.lease, run.conversations, outcome, duration_ms, manager.provider, manager.model)
	return add_decision(run, result)


def check_claims(run: OpenRun, answer: str) -> list[dict]:
	"""The claims of an answer, whatever the run's status: a partial answer is shown too."""
	try:
		return check_run(run.name, answer, run.messages)
	except Exception:  # an answer that was paid for is stored, even if its check fails
		frappe.log_error(f"The answer of Agent Run {run.name} could not be checked", format_exc())
		return []


def add_decision(run: OpenRun, result: RunResult) -> RunResult:
	"""The result, with the router's decision if there was one."""
	if not run.request.routed:
		return result
	return replace(result, route=read_decisions([run.name]).get(run.name))


def step_warning(steps: int) -> str:
	"""The first line of an answer that the step limit cut short. Clients look for it."""
	return f"[WARNING: Max steps ({steps}) reached. Response may be incomplete.]"


def describe_waiting(run: OpenRun, drafts: list[dict], duration_ms: int) -> RunResult:
	"""The result of a run that waits for a person; its lease has been released."""
	result = describe_open(run, RunStatus.WAITING, read_recorded(run.name), duration_ms)
	result = replace(result, drafts=tuple(drafts))
	return add_decision(run, result)


def hold_run(run: OpenRun, journal: RunJournal, stop: dict, duration_ms: int) -> RunResult:
	"""Queue a run that a stop holds; it resumes from its journal. Commits."""
	journal.rollback()
	settle_lost_runs([run.name])
	leases.requeue_run(run.lease, stop["name"])
	journal.commit(with_messages=True)
	result = describe_open(run, RunStatus.QUEUED, read_recorded(run.name), duration_ms)
	return replace(result, error=describe_stop(stop))


def describe_open(run: OpenRun, status: RunStatus, recorded: RecordedRun, duration_ms: int = 0) -> RunResult:
	"""The result of a run that has not ended, as far as it is recorded."""
	return RunResult(
		run=run.name,
		conversation=run.conversation,
		status=status,
		stop_reason=None,
		response=recorded.text,
		error=None,
		usage=recorded.usage,
		steps=len(recorded.replies),
		duration_ms=duration_ms,
		provider=run.manager.provider,
		model=run.manager.model,
	)


def fail_run(lease: Lease, error: str) -> RunResult:
	"""Close a run as Failed because something it needs was deleted. Raises LeaseLost; commits."""
	recorded = settle_broken_run(lease.run)
	close_drafts(lease.run)
	fields = ["agent", "run_as", "conversation", "provider", "model", "attempts"]
	row = frappe.db.get_value("Agent Run", lease.run, fields, as_dict=True)
	conversations = ConversationManager(row.agent, user=row.run_as, conversation=row.conversation)
	add_recorded_steps(conversations, recorded, recorded.steps_in_conversation)
	outcome = Outcome(
		StopReason.ERROR, recorded.text, True, error, recorded.usage, steps=len(recorded.replies)
	)
	duration_ms = round(recorded.seconds * 1000)
	result = store_end(lease, conversations, outcome, duration_ms, row.provider, row.model)
	emit = RunEventEmitter(lease.run, AgentRequest(row.agent, "", row.run_as), (), None, row.attempts)
	emit(EventKind.RUN_FINISHED, result.as_dict())
	return result


def refuse_run(run: OpenRun, error: str) -> None:
	"""Close a run that has just begun as Cancelled, so that its request may be repeated. Commits."""
	frappe.db.set_value("Agent Run", run.name, "request_key", None, update_modified=False)
	outcome = Outcome(StopReason.CANCELLED, error=error)
	store_end(run.lease, run.conversations, outcome, 0, run.manager.provider, run.manager.model)


def add_recorded_steps(
	conversations: ConversationManager, recorded: RecordedRun, known: Collection[int]
) -> None:
	"""Add the messages of steps that an earlier worker recorded, except the `known` ones."""
	for step, reply in sorted(recorded.replies.items()):
		calls = [Call(request, place) for place, request in enumerate(reply.calls)]
		results = [result for call in calls if (result := recorded.tool_result(step, call))]
		if calls and len(results) == len(calls) and step not in known:
			conversations.add_step(step, reply, results)


def settle_broken_run(run: str) -> RecordedRun:
	"""Read the record of a run that broke off, and settle it.

	The reservation of its last call counts as spent. Commits.
	"""
	frappe.db.rollback()
	settle_lost_runs([run])
	frappe.db.commit()
	return read_recorded(run)


def store_end(
	lease: Lease,
	conversations: ConversationManager,
	outcome: Outcome,
	duration_ms: int,
	provider: str | None,
	model: str,
) -> RunResult:
	"""Write the answer or the error into the conversation, and close the run. Raises LeaseLost; commits."""
	run, conversation = lease.run, conversations.conversation or ""
	lease.hold()
	end_children(run, "The run that called it has ended")
	last = []
	if outcome.text and not outcome.is_recorded:
		last.append(build_message_row("agent", outcome.text, step=outcome.steps))
	if outcome.error:
		last.append(build_message_row("system", outcome.error, "Error", outcome.steps))
	conversations.write_steps(run, *last)
	models = close_run(run, conversations.agent_name, outcome, duration_ms)
	if lease.row.trigger:
		send_result_notice(run, lease.row.trigger, outcome)
	leases.release_conversation(conversation, run)
	frappe.db.commit()
	return RunResult(
		run=run,
		conversation=conversation,
		status=outcome.status,
		stop_reason=outcome.stop_reason,
		response=outcome.text,
		error=outcome.error,
		usage=outcome.usage,
		steps=outcome.steps,
		duration_ms=duration_ms,
		provider=provider,
		model=model,
		claims=tuple(outcome.claims),
		models=tuple(models),
		tool_results=tuple(outcome.tool_results) if outcome.stop_reason is StopReason.TOOL_FAILURES else (),
	)


def send_result_notice(run: str, trigger: str, outcome: Outcome) -> None:
	"""Write the notification when a triggered run ends. Does not commit."""
	if not frappe.db.exists("Agent Trigger", trigger):
		return
	doc = frappe.get_cached_doc("Agent Trigger", trigger)
	is_good = outcome.status is RunStatus.SUCCESS
	wanted = (ON_RESULT, ON_BOTH) if is_good else (ON_FAILURE, ON_BOTH)
	if not doc.notify_user or doc.notify_on not in wanted or outcome.status is RunStatus.CANCELLED:
		return
	language = frappe.get_cached_value("User", doc.notify_user, "language")
	subject = f"{trigger}: {frappe._(outcome.status.value, lang=language)}"
	text = (outcome.text or "") if is_good else (outcome.error or outcome.text or "")
	notifications.notify_user(doc.notify_user, subject, text, "Agent Run", run)
	sender = outgoing_mail.find_sender()
	if doc.notify_by_mail and sender:
		address = frappe.db.get_value("User", doc.notify_user, "email") or doc.notify_user
		outgoing_mail.insert_new_mail(sender, [address], subject, text, run)
