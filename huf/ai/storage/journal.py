"""The journal of a run: Agent Run, Agent LLM Call and Agent Tool Call, written as each step happens.

The only writer of these. Every method of RunJournal after which the run may wait commits before it returns, so that nothing
is open meanwhile, and what a write tool changed is committed together with the row that says so.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import frappe
from frappe.utils import add_to_date, get_datetime, now, now_datetime

from huf.ai.core.canonical_json import to_canonical_json
from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.types import (
	AgentRequest,
	Call,
	CallStatus,
	Effect,
	ModelReply,
	Outcome,
	RunStatus,
	ToolResult,
	Usage,
)
from huf.ai.storage.budgets import Reservation, reserve, settle_call, settle_lost_runs
from huf.ai.storage.drafts import fail_lost_drafts, record_draft_result
from huf.ai.storage.leases import Lease, lease_expiry, new_worker
from huf.ai.storage.limits import Limit
from huf.ai.storage.recorded_run import STEP_CALL_TYPE, RecordedRun
from huf.ai.storage.rows import clip, digest, insert_row, update_row

RETRY_CLAIMED = "It is being made again."
RETRY_CLAIM_S = 600
"""Seconds after which whoever wanted that is taken to be gone."""


def insert_run(
	request: AgentRequest,
	conversation: str,
	provider: str | None,
	model: str,
	status: RunStatus,
	opening: list[dict],
) -> Lease:
	"""Write the Agent Run; a Started one is held by this worker from the first. Does not commit.

	`opening` is what the model is told first: with it and the journal a run can be replayed.
	"""
	started = status is RunStatus.STARTED
	worker = new_worker()
	origin, routed = request.origin, request.routed
	name = insert_row(
		"Agent Run",
		{
			"agent": request.agent,
			"conversation": conversation,
			"provider": provider,
			"model": model,
			"prompt": clip(request.prompt or request.message_files.title),
			"opening": to_canonical_json(opening),
			"status": status.value,
			"mode": request.mode.value,
			"tier": request.tier or 0,
			"run_as": request.user,
			"parent_run": request.parent_run,
			"trigger": origin.trigger if origin else None,
			"caused_by": origin.caused_by if origin else None,
			"depth": origin.depth if origin else 0,
			"reference_doctype": origin.reference_doctype if origin else None,
			"reference_name": origin.reference_name if origin else None,
			"route": "agent" if routed else None,
			"confidence": routed.confidence if routed else 0,
			"plan": json.dumps(routed.plan, ensure_ascii=False) if routed else None,
			"started_at": now() if started else None,
			"worker": worker if started else None,
			"lease_until": lease_expiry() if started else None,
			"attempts": int(started),
		},
		owner=request.user,
	)
	return Lease(name, worker)


def close_run(run: str, agent: str, outcome: Outcome, duration_ms: int) -> None:
	"""Write how the run ended, and count it on its agent. Does not commit."""
	usage = outcome.usage
	ended = now()
	update_row(
		"Agent Run",
		run,
		{
			"status": outcome.status.value,
			"stop_reason": outcome.stop_reason.value,
			"response": clip(outcome.text),
			"error_message": clip(outcome.error),
			"input_tokens": usage.input_tokens,
			"output_tokens": usage.output_tokens,
			"total_tokens": usage.input_tokens + usage.output_tokens,
			"cached_tokens": usage.cached_tokens,
			"total_cost": usage.cost or 0,
			"unpriced_calls": usage.unpriced_calls,
			"steps": outcome.steps,
			"duration_ms": duration_ms,
			"ended_at": ended,
			"lease_until": None,
			"transcript_digest": digest_transcript(outcome),
		},
	)
	frappe.db.sql(
		"update `tabAgent` set total_run = total_run + 1, last_run = %s where name = %s", (ended, agent)
	)


def digest_transcript(outcome: Outcome) -> str:
	"""A short name of a transcript, as far as the record holds it."""
	return digest(replace(outcome, text=clip(outcome.text), error=clip(outcome.error)).transcript())


def request_cancel(run: str) -> None:
	"""Ask a run that goes on to end at its next step."""
	update_row("Agent Run", run, {"cancel_requested": 1})


def store_opening(run: str, opening: list[dict]) -> None:
	"""Write down what a queued run begins with, now that it begins. Commits."""
	update_row("Agent Run", run, {"opening": to_canonical_json(opening)})
	frappe.db.commit()


def mark_lost_calls(run: str) -> None:
	"""Say of what a lost worker had begun that its end is not known; it costs what was set aside. Commits."""
	settle_lost_runs([run])
	frappe.db.sql(
		"update `tabAgent Tool Call` set status = %s where run = %s and status = 'Started'",
		(CallStatus.UNKNOWN.value, run),
	)
	frappe.db.sql(
		"update `tabAgent LLM Call` set status = 'Failed', error_message = %s where run = %s and status = 'Started'",
		("The worker that asked was lost.", run),
	)
	fail_lost_drafts(run)
	frappe.db.commit()


def claim_retry(row) -> bool:
	"""Whether a call (a row as it was read) whose end is not known may be made again: nobody else is at that. Commits."""
	moment = now_datetime()
	since = add_to_date(moment, seconds=-RETRY_CLAIM_S, as_datetime=True)
	if row.result == RETRY_CLAIMED and get_datetime(row.modified) > since:
		return False
	still = {"status": CallStatus.UNKNOWN.value, "modified": row.modified}
	update_row("Agent Tool Call", row.name, {"result": RETRY_CLAIMED, "modified": moment}, **still)
	is_mine = get_datetime(frappe.db.get_value("Agent Tool Call", row.name, "modified")) == moment
	frappe.db.commit()
	return is_mine


def resolve_lost_call(name: str, status: CallStatus, result: str) -> None:
	"""Write what became of a call whose worker was lost."""
	update_row("Agent Tool Call", name, {"status": status.value, "result": result, "error_message": None})


class RunJournal:
	"""Keeps the record of one run; see `huf.ai.loop.engine.Journal`.

	`keep_messages(step, reply, observations)` writes what the conversation shows of a step. `recorded` is what an
	earlier worker wrote, for a run that is taken up again. `limits`: what its model calls may use.
	"""

	call_type = STEP_CALL_TYPE

	def __init__(
		self,
		lease: Lease,
		provider: str | None,
		model: str,
		keep_messages,
		recorded: RecordedRun | None = None,
		limits: list[Limit] | None = None,
	):
		self.lease, self.run = lease, lease.run
		self.provider, self.model = provider, model
		self.keep_messages = keep_messages
		self.recorded = recorded or RecordedRun()
		self.limits = limits or []
		self.asked: tuple[str, float, Reservation | None] = ("", 0.0, None)
		self.seen: Counter[str] = Counter()
		self.keys: dict[int, str] = {}
		self.intents: dict[int, str] = {}
		self.is_open = False

	def cancel_requested(self, waiting: bool) -> bool:
		"""Whether someone asked. A run that waits has to begin a new read to see what others committed meanwhile."""
		# What is open is of a run that this one has called, whose loop has not heard yet of the end of a call.
		if waiting and not frappe.db.transaction_writes:
			frappe.db.commit()
			self.lease.renew()
		return bool(frappe.db.get_value("Agent Run", self.run, "cancel_requested"))

	def recall(self, step: int) -> ModelReply | None:
		return self.recorded.replies.get(step)

	def recall_call(self, step: int, call: Call) -> ToolResult | None:
		"""Asked once for each call, in order, by every worker: so it is here that calls get their keys."""
		same = f"{call.request.name}\n{to_canonical_json(call.arguments)}"
		key = hashlib.sha256(f"{self.run}\n{same}\n{self.seen[same]}".encode()).hexdigest()[:32]
		self.keys[call.position] = key
		self.seen[same] += 1
		if self.is_open:
			# The one before this: this one may last, or be taken back.
			frappe.db.commit()
			self.is_open = False
		return self.recorded.tool_result(step, call)

	def asking(self, step: int, worst: Callable[[], WorstCase | None]) -> Grant | None:
		self.lease.renew()
		held = None
		if self.limits:
			# To set aside may take a few tries, each undone with all that is open.
			frappe.db.commit()
			held = reserve(self.limits, worst())
		row = {
			"run": self.run,
			"step": step,
			"call_type": self.call_type,
			"status": "Started",
			"started_at": now(),
		}
		row |= {"provider": self.provider, "model": self.model, **(held.as_row() if held else {})}
		name = insert_row("Agent LLM Call", row)
		frappe.db.commit()
		self.asked = (name, time.monotonic(), held)
		return held.grant if held else None

	def answered(self, step: int, reply: ModelReply) -> None:
		usage = reply.usage
		said = {} if reply.said is None else {"said": reply.said}
		self.end_asking(
			usage,
			status="Success",
			response=json.dumps(reply.as_message() | said, ensure_ascii=False),
			corrected=int(reply.corrected),
			finish_reason=reply.finish_reason,
			input_tokens=usage.input_tokens,
			output_tokens=usage.output_tokens,
			cached_tokens=usage.cached_tokens,
			cost=usage.cost or 0,
			cost_known=int(usage.cost is not None),
		)

	def ask_failed(self, step: int, why: str, partial: str, usage: Usage | None) -> None:
		response = json.dumps({"role": "assistant", "content": partial}) if partial else None
		self.end_asking(usage, status="Failed", error_message=clip(why), response=response)

	def end_asking(self, usage: Usage | None, **values) -> None:
		name, since, held = self.asked
		if held:
			settle_call(name, held, usage)
		# Who has lost the run meanwhile finds it given up: the answer is to no question any more.
		update_row("Agent LLM Call", name, {**values, "duration_ms": elapsed(since)}, status="Started")
		frappe.db.commit()

	def calling(self, step: int, call: Call) -> None:
		"""Before a call: what reaches outside has its intent on record. Nothing else is open."""
		# While a tool has the database to itself, the lease cannot be renewed.
		self.lease.renew((call.tool and call.tool.timeout) or 0)
		if call.effect is Effect.EXTERNAL and not call.error:
			self.lease.hold()
			self.intents[call.position] = insert_row(
				"Agent Tool Call", self.row(step, call, CallStatus.STARTED)
			)
			frappe.db.commit()
			# For tools that can pass it on: a service that has seen the key does not act on it again.
			frappe.flags.huf_call_key = self.keys[call.position]

	def called(self, step: int, tool_result: ToolResult) -> None:
		"""After a call: its row and what it wrote are one commit; a failed call leaves the row alone behind. The row of what
		was only read is committed with what follows at once, the next call or the step; but not beside other calls.

		Raises LeaseLost, with nothing written, where the run is another worker's by now.
		"""
		call = tool_result.call
		if not tool_result.ok:
			frappe.db.rollback()
		if call.effect is Effect.WRITE:
			self.lease.hold()
		ending = {
			"status": tool_result.status.value,
			"result": tool_result.text,
			"error_message": None if tool_result.ok else clip(tool_result.text),
			"duration_ms": tool_result.duration_ms,
			"cached": int(tool_result.cached),
		}
		if call.effect is Effect.EXTERNAL and not call.error:
			update_row("Agent Tool Call", self.intents[call.position], ending)
		else:
			insert_row("Agent Tool Call", {**self.row(step, call, tool_result.status), **ending})
		if call.draft:
			record_draft_result(call.draft, tool_result)
		self.is_open = call.effect is Effect.READ and not (call.tool and call.tool.concurrent)
		if not self.is_open:
			frappe.db.commit()

	def step_done(self, step: int, reply: ModelReply, tool_results: list[ToolResult]) -> None:
		"""Commits nothing: what follows at once, the next step or the run's end, does."""
		if step not in self.recorded.told:
			self.keep_messages(step, reply, tool_results)

	def row(self, step: int, call: Call, status: CallStatus) -> dict:
		shown = (
			call.request.arguments
			if call.arguments is None
			else json.dumps(call.arguments, ensure_ascii=False)
		)
		return {
			"run": self.run,
			"step": step,
			"position": call.position,
			"tool": call.request.name,
			"effect": call.effect.value,
			"status": status.value,
			"call_id": call.request.id,
			"idempotency_key": self.keys[call.position],
			"arguments": shown,
			"started_at": now(),
		}


def elapsed(since: float) -> int:
	"""Milliseconds since a moment of `time.monotonic()`."""
	return round((time.monotonic() - since) * 1000)
