"""How runs end on record: the last words and the row, in one commit."""

import frappe

from huf.ai.core.types import AgentRequest, EventKind, Outcome, RunResult, StopReason
from huf.ai.storage import leases
from huf.ai.storage.budgets import settle_lost_runs
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.drafts import close_drafts
from huf.ai.storage.events import RunEventEmitter
from huf.ai.storage.journal import close_run
from huf.ai.storage.leases import Lease
from huf.ai.storage.recorded_run import RecordedRun, read_recorded


def close(
	lease: Lease,
	conversations: ConversationManager,
	outcome: Outcome,
	duration_ms: int,
	provider: str | None,
	model: str,
) -> RunResult:
	"""Say the answer in the conversation, and close the run. Raises LeaseLost; commits."""
	run = lease.run
	lease.hold()
	if outcome.text and not outcome.told:
		conversations.add_message("agent", outcome.text, run=run, step=outcome.steps)
	if outcome.error:
		conversations.add_message("system", outcome.error, kind="Error", run=run, step=outcome.steps)
	close_run(run, conversations.agent_name, outcome, duration_ms)
	leases.release_conversation(conversations.conversation, run)
	conversations.persist_conversation()
	return RunResult(
		run=run,
		conversation=conversations.conversation,
		status=outcome.status,
		stop_reason=outcome.stop_reason,
		response=outcome.text,
		error=outcome.error,
		usage=outcome.usage,
		steps=outcome.steps,
		duration_ms=duration_ms,
		provider=provider,
		model=model,
		tool_results=tuple(outcome.tool_results) if outcome.stop_reason is StopReason.TOOL_FAILURES else (),
	)


def give_up(lease: Lease, error: str) -> RunResult:
	"""Close a run as Failed that nobody can go on with, because what it needs is gone. Raises LeaseLost; commits."""
	recorded = break_off(lease.run)
	close_drafts(lease.run)
	fields = ["agent", "run_as", "conversation", "provider", "model", "attempts"]
	row = frappe.db.get_value("Agent Run", lease.run, fields, as_dict=True)
	conversations = ConversationManager(row.agent, user=row.run_as)
	conversations.conversation = row.conversation
	outcome = Outcome(
		StopReason.ERROR, recorded.text, True, error, recorded.usage, steps=len(recorded.replies)
	)
	result = close(lease, conversations, outcome, round(recorded.seconds * 1000), row.provider, row.model)
	announce = RunEventEmitter(lease.run, AgentRequest(row.agent, "", row.run_as), (), None, row.attempts)
	announce(EventKind.RUN_FINISHED, result.as_dict())
	return result


def break_off(run: str) -> RecordedRun:
	"""What is on record of a run that was broken off. What was set aside for the call it was at counts as spent."""
	frappe.db.rollback()
	settle_lost_runs([run])
	frappe.db.commit()
	return read_recorded(run)
