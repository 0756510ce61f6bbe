"""Writes the journal of a run: Agent LLM Call and Agent Tool Call rows, as each step happens.

Every step is on record before the next begins. No write transaction is open while a run waits for a model, a
network or a person: each method of RunJournal after which the run may wait commits before it returns. What a
write tool changed is committed together with its journal row. A model's reply is committed before the first
call that is not a read; otherwise with the results of its reads or the end of the run, or separately if a
read takes long. A worker that resumes a run asks `find_reply` and `find_tool_result` first, so a new write
here must survive a worker that is killed at any commit (tests/crash).
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import frappe
from frappe.utils import now, now_datetime

from huf.ai.core.call_key import CALL_KEY
from huf.ai.core.contacts import CONTACTS, list_refused
from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.errors import RunStopped
from huf.ai.core.stored_text import MAX_ID_CHARS, clip, digest, shorten_id
from huf.ai.core.tool_threads import is_tool_running, run_in_thread
from huf.ai.core.types import (
	Call,
	CallStatus,
	Effect,
	ModelReply,
	StopReason,
	ToolResult,
	Usage,
)
from huf.ai.storage.agent_changes import ChangeRecorder, insert_changes
from huf.ai.storage.budgets import Reservation, release_reservation, reserve_budget, settle_model_call
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.drafts import record_draft_result
from huf.ai.storage.leases import Lease
from huf.ai.storage.limits import Limit, keep_set
from huf.ai.storage.recorded_run import STEP_CALL_TYPE, RecordedRun, to_usage_fields
from huf.ai.storage.rows import commit_before_effect, insert_row, log_unexpected_error, update_row
from huf.ai.storage.run_rows import is_cancel_cached
from huf.ai.storage.waiting_runs import Wait, waiting_runs


class RunJournal:
	"""Writes the record of one run; see `huf.ai.loop.run_context.Journal`.

	`conversations` gets the messages of each step. `recorded` is what an earlier worker wrote, if the run is
	resumed. `limits` concern its model calls, set or not. `changes` records what a tool call changes.
	"""

	call_type = STEP_CALL_TYPE

	def __init__(
		self,
		lease: Lease,
		provider: str | None,
		model: str,
		conversations: ConversationManager | None,
		recorded: RecordedRun | None = None,
		limits: list[Limit] | None = None,
		changes: ChangeRecorder | None = None,
	):
		self.lease, self.run = lease, lease.run
		self.provider, self.model = provider, model
		self.conversations = conversations
		self.recorded = recorded or RecordedRun()
		self.limits = limits or []
		self.changes = changes
		self.model_call, self.called_at = "", 0.0
		"""The last Agent LLM Call, and the time of `time.monotonic()` at which it began."""
		self.reservation: Reservation | None = None
		self.budgets: list[str] = []
		"""Names of the budgets of all limits when the last model call began."""
		self.call_counts: Counter[str] = Counter()
		self.keys: dict[int, str] = {}
		self.intents: dict[int, str] = {}
		self.contacts: dict[int, dict[str, None]] = {}
		self.is_open = False
		self.reply: HeldReply | None = None
		self.running: set[int] = set()
		self.finished_steps = set(self.recorded.steps_in_conversation)
		self.renewal: asyncio.Task | None = None
		self.wait: Wait | None = None

	def end(self) -> None:
		"""The run leaves this process, with calls open if it was interrupted."""

	def cancel_requested(self, waiting: bool) -> bool:
		"""Whether the run is cancelled. Also renews the lease: a run asks twice a second while it waits.

		Always False at the beginning of a step, where `start_model_call` checks.
		"""
		if self.wait:
			return self.wait.check_cancelled()
		if not (waiting or self.running):
			return False
		if is_tool_running():
			# The tool uses the connection exclusively, so only the cache can be asked.
			self.keep_reply()
			self.keep_alive()
			return is_cancel_cached(self.run)
		# A waiting run needs a new transaction to see what others committed. Open writes belong to a called
		# run that is about to end; committing them here would be too early.
		ends_transaction = waiting and not frappe.db.transaction_writes
		if ends_transaction:
			self.lease.renew()
			self.commit()
		else:
			self.keep_alive()
		is_requested = bool(frappe.db.get_value("Agent Run", self.run, "cancel_requested"))
		if ends_transaction:
			# Release the read transaction while the run waits.
			frappe.db.commit()
		return is_requested

	def find_reply(self, step: int) -> ModelReply | None:
		return self.recorded.replies.get(step)

	def find_tool_result(self, step: int, call: Call) -> ToolResult | None:
		"""Called once for each call, in order, by every worker, because calls get their idempotency keys
		here.
		"""
		identity = f"{self.run}\n{call.key}\n{self.call_counts[call.key]}"
		self.keys[call.position] = digest(identity)
		self.call_counts[call.key] += 1
		return self.recorded.tool_result(step, call) if self.recorded.calls else None

	def commit(self, with_messages: bool = False) -> None:
		"""Commit, together with pending rows: the last reply, and messages if they are due or requested."""
		self.write_reply()
		conversations = self.conversations
		if conversations and conversations.steps and (with_messages or conversations.is_due):
			conversations.write_steps(self.run)
			frappe.db.commit()
			conversations.steps.clear()
		else:
			frappe.db.commit()
		self.is_open, self.reply = False, None

	def rollback(self) -> None:
		"""Roll back. Rows lost with the transaction are written again with the next commit."""
		frappe.db.rollback()
		self.is_open = False
		if self.reply:
			self.reply.is_written = False

	def commit_open_rows(self) -> None:
		"""Commit the last reply and the last call's row, because what follows may take long or be rolled
		back.
		"""
		if self.is_open or self.reply:
			self.commit()

	def write_reply(self) -> None:
		"""Write the last reply if it is pending. Does not commit."""
		if self.reply and not self.reply.is_written:
			self.reply.write()
			self.reply.is_written = True

	def keep_reply(self) -> None:
		"""Commit the last reply on a separate connection, because a long call is using the run's."""
		reply = self.reply
		if reply is None or reply.is_written or (self.renewal and not self.renewal.done()):
			return

		def forget(task: asyncio.Task) -> None:
			if not task.cancelled() and not task.exception() and self.reply is reply:
				self.reply = None

		self.renewal = asyncio.ensure_future(run_in_thread(reply.write, has_own_connection=True))
		self.renewal.add_done_callback(forget)

	def start_model_call(self, step: int, measure_cost: Callable[[], WorstCase | None]) -> Grant | None:
		self.lease.renew()
		reservation = None
		self.budgets = [limit.budget(now_datetime()) for limit in self.limits]
		if limits := keep_set(self.limits):
			# `reserve_budget` may roll back several times; nothing else may be open.
			self.commit()
			reservation = reserve_budget(limits, measure_cost())
		row = {
			"run": self.run,
			"step": step,
			"call_type": self.call_type,
			"status": "Started",
			"started_at": now(),
			"provider": self.provider,
			"model": self.model,
			**(reservation.as_row() if reservation else {}),
		}
		name = insert_row("Agent LLM Call", row)
		# After the insert, so that on SQLite nobody can stop the run between this check and the commit.
		self.lease.read()
		if self.lease.row.cancel_requested:
			withdraw_model_call(name, reservation)
			raise RunStopped(StopReason.CANCELLED)
		self.lease.check_stops(provider=self.provider)
		self.commit()
		self.model_call, self.called_at, self.reservation = name, time.monotonic(), reservation
		return reservation.grant if reservation else None

	@contextmanager
	def waiting(self) -> Iterator[None]:
		"""Without a connection, if the worker carries many runs and nothing is open."""
		runs = waiting_runs.get()
		if runs is None or frappe.db.transaction_writes:
			yield
			return
		with runs.wait(self.lease) as self.wait:
			try:
				yield
			finally:
				self.wait = None

	def finish_model_call(self, step: int, reply: ModelReply) -> None:
		original = {} if reply.original_text is None else {"said": reply.original_text}
		reasons = {call.id: call.reason for call in reply.calls if call.reason}
		self.end_model_call(
			reply.usage,
			# Settlements are committed at once: other calls wait for the budget.
			is_held=self.call_type == STEP_CALL_TYPE and not self.reservation,
			status="Success",
			response=json.dumps(reply.message | original | {"reasons": reasons}, ensure_ascii=False),
			reasoning=reply.reasoning or None,
			corrected=int(reply.corrected),
			masked=json.dumps(reply.masked) if reply.masked else None,
			finish_reason=reply.finish_reason,
		)

	def fail_model_call(self, step: int, why: str, partial: str, usage: Usage | None) -> None:
		response = json.dumps({"role": "assistant", "content": partial}) if partial else None
		self.end_model_call(usage, status="Failed", error_message=clip(why), response=response)

	def end_model_call(self, usage: Usage | None, is_held: bool = False, **values) -> None:
		if usage is not None:
			values |= to_usage_fields(usage)
		values["duration_ms"] = elapsed(self.called_at)
		self.reply = HeldReply(self.model_call, values, self.reservation, usage, self.budgets)
		if not is_held:
			self.commit()

	def start_tool_call(self, step: int, call: Call) -> None:
		"""Before a tool call: commit the intent of an external call, in case the worker is lost."""
		if self.is_open or call.effect is not Effect.READ:
			self.commit_open_rows()
		# For tools that send it: a service that has seen the key does not act twice.
		CALL_KEY.set(self.keys[call.position])
		self.contacts[call.position] = {}
		CONTACTS.set(self.contacts[call.position])
		self.lease.renew()
		if call.effect is Effect.EXTERNAL and not call.error:
			self.lease.hold()
		self.lease.check_stops(call.request.name)
		if call.effect is Effect.EXTERNAL and not call.error:
			self.intents[call.position] = insert_row(
				"Agent Tool Call", self.row(step, call, CallStatus.STARTED)
			)
			commit_before_effect()
		self.running.add(call.position)
		if self.changes:
			self.changes.begin()

	def keep_alive(self) -> None:
		"""Extend the lease on a separate connection, because a tool may be using the run's."""
		if self.lease.is_old() and (self.renewal is None or self.renewal.done()):
			renewing = run_in_thread(self.lease.renew, has_own_connection=True)
			self.renewal = asyncio.ensure_future(renewing)
			# If the lease is lost, `finish_tool_call` raises.
			self.renewal.add_done_callback(lambda task: task.cancelled() or task.exception())

	def finish_tool_call(self, step: int, tool_result: ToolResult) -> None:
		"""After a tool call: commit its row together with what it wrote; after a failure, only the row.

		The row of a read is committed with what follows at once, the next call or the step, unless calls run
		concurrently. Raises LeaseLost, with nothing written, if another worker has the run, and RunHeld where
		a stop covers a write.
		"""
		call = tool_result.call
		self.running.discard(call.position)
		changes = self.changes.end() if self.changes else []
		if not tool_result.ok:
			self.rollback()
		# Before the call's row is written, because renewing a lease commits.
		self.write_reply()
		if call.effect is not Effect.READ:
			self.lease.hold()
		if call.effect is Effect.WRITE and tool_result.ok:
			self.lease.check_stops(call.request.name)
		log_unexpected_error(call.request.name, tool_result.traceback, self.run)
		contacts = "\n".join(self.list_contacts(tool_result))
		ending = {
			"status": tool_result.status.value,
			"result": tool_result.text,
			"error_message": None if tool_result.ok else clip(tool_result.text),
			"duration_ms": tool_result.duration_ms,
			"cached": int(tool_result.cached),
			"origin": "\n".join(tool_result.origins) or None,
			"contacts": clip(contacts) if contacts else None,
		}
		if call.effect is Effect.EXTERNAL and not call.error:
			name = self.intents[call.position]
			update_row("Agent Tool Call", name, ending)
		else:
			name = insert_row("Agent Tool Call", {**self.row(step, call, tool_result.status), **ending})
		if tool_result.ok:
			insert_changes(self.run, name, changes)
		if call.draft:
			record_draft_result(call.draft, tool_result)
		self.is_open = call.effect is Effect.READ and not call.is_concurrent
		if not self.is_open:
			self.commit()

	def list_contacts(self, tool_result: ToolResult) -> Iterable[str]:
		"""The hosts and servers that the call contacted or, if it was refused, would have contacted."""
		call = tool_result.call
		is_refused = tool_result.status is CallStatus.REFUSED and call.effect is Effect.EXTERNAL
		return list_refused(call.arguments) if is_refused else self.contacts.pop(call.position, {})

	def withdraw_tool_call(self, call: Call) -> None:
		"""Delete the intent of a call that waits for a person. Commits."""
		self.running.discard(call.position)
		if intent := self.intents.pop(call.position, None):
			self.lease.hold()
			frappe.db.sql("delete from `tabAgent Tool Call` where name = %s", (intent,))
		self.commit()

	def finish_step(self, step: int, reply: ModelReply, tool_results: list[ToolResult]) -> None:
		"""Pass the step to the conversation, which writes it with a later commit."""
		if step not in self.finished_steps and self.conversations:
			self.conversations.add_step(step, reply, tool_results)
		self.finished_steps.add(step)

	def row(self, step: int, call: Call, status: CallStatus) -> dict:
		request = call.request
		arguments = (
			request.arguments if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
		)
		return {
			"run": self.run,
			"step": step,
			"position": call.position,
			"tool": clip(request.name, MAX_ID_CHARS),
			"effect": call.effect.value,
			"status": status.value,
			"call_id": shorten_id(request.id),
			"idempotency_key": self.keys[call.position],
			"reason": clip(request.reason, 1000),
			"arguments": arguments,
			"started_at": now(),
		}


@dataclass
class HeldReply:
	"""The values for a model call's row when it has ended, and what settles it. `is_written`: the open
	transaction has them.
	"""

	call: str
	values: dict
	reservation: Reservation | None
	usage: Usage | None
	budgets: list[str]
	is_written: bool = False

	def write(self) -> None:
		settle_model_call(self.call, self.reservation, self.usage, self.budgets)
		# If the lease was lost, the row is no longer Started: drop this late answer.
		update_row("Agent LLM Call", self.call, self.values, status="Started")


def withdraw_model_call(call: str, reservation: Reservation | None) -> None:
	"""Delete the row of a model call that was not made. Does not commit."""
	if reservation:
		release_reservation(reservation, 0, 0)
	frappe.db.sql("delete from `tabAgent LLM Call` where name = %s", (call,))


def elapsed(since: float) -> int:
	"""Milliseconds since a moment of `time.monotonic()`."""
	return round((time.monotonic() - since) * 1000)
