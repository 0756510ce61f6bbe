"""Model calls of the loop: reserves the cost, calls, retries if that can help, and records each try."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

from huf.ai.core.costs import Grant
from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped
from huf.ai.core.events import Emit, EventKind
from huf.ai.core.types import ModelReply, Outcome, StopReason
from huf.ai.loop.guards import Guard, Progress
from huf.ai.loop.journal import Journal
from huf.ai.loop.model import Model
from huf.ai.loop.transcript_view import ModelInput
from huf.ai.loop.waiting import watched

RETRY_PAUSE_S, MAX_RETRY_PAUSE_S = 0.2, 20.0
"""The pause before the second try doubles for each further one, up to the maximum."""
RESERVED_PAUSE_S = 0.25
MAX_RESERVED_PAUSES = 240
"""How often a run checks whether other calls have released budget: for about a minute."""


@dataclass(frozen=True)
class ModelCaller:
	"""Makes the model calls of one run; `outcome` keeps text that arrives before a call breaks off."""

	outcome: Outcome
	guards: Sequence[Guard]
	journal: Journal
	emit: Emit

	async def call(self, step: int, sent: ModelInput, model: Model) -> ModelReply:
		"""The reply of the first successful try. Every try is recorded separately.

		Raises ModelError if no try succeeds, RunStopped if a guard or a budget ends it.
		"""
		for attempt in count():
			grant = await self.reserve(step, sent, model)
			try:
				return await self.call_once(step, sent, model, grant)
			except ModelError as error:
				if not error.retryable or attempt >= model.retries:
					raise
			pause_s = min(RETRY_PAUSE_S * 2**attempt, MAX_RETRY_PAUSE_S)
			await self.wait_for(asyncio.sleep(pause_s), step)
		raise AssertionError("unreachable")

	async def reserve(self, step: int, sent: ModelInput, model: Model) -> Grant | None:
		"""Record the call and reserve its cost; wait while other calls hold the rest of a budget."""
		measure_cost = partial(model.worst_case, sent.messages, sent.tools, sent.counted)
		for attempt in count():
			try:
				return self.journal.start_model_call(step, measure_cost)
			except BudgetReserved as reserved:
				if attempt >= MAX_RESERVED_PAUSES:
					raise RunStopped(StopReason.MONEY_BUDGET, str(reserved)) from None
			await self.wait_for(asyncio.sleep(RESERVED_PAUSE_S), step)
		raise AssertionError("unreachable")

	async def call_once(self, step: int, sent: ModelInput, model: Model, grant: Grant | None) -> ModelReply:
		parts: list[str] = []
		has_reasoned = False

		def on_text(text: str, is_reasoning: bool = False) -> None:
			nonlocal has_reasoned
			has_reasoned |= is_reasoning
			if not is_reasoning:
				parts.append(text)
			kind = EventKind.REASONING_DELTA if is_reasoning else EventKind.TEXT_DELTA
			self.emit(kind, {"step": step, "text": text})

		try:
			call = model.complete(sent.messages, sent.tools, on_text, grant.max_tokens if grant else None)
			reply = await self.wait_for(call, step)
		except (ModelError, RunStopped) as error:
			partial_text = "".join(parts)
			self.journal.fail_model_call(step, str(error), partial_text, getattr(error, "usage", None))
			if partial_text:
				self.outcome.text, self.outcome.is_recorded = partial_text, False
			elif has_reasoned:
				# The next try produces new reasoning.
				self.emit(EventKind.TEXT_VOID, {"step": step})
			raise
		if parts or has_reasoned:
			self.emit(EventKind.TEXT_DONE, {"step": step})
			# Send the last words to readers of the stream before waiting for the database.
			await asyncio.sleep(0)
		if grant and grant.short_by and reply.finish_reason == "length":
			reply = replace(reply, finish_reason="budget", cut_by=grant.short_by)
		self.journal.finish_model_call(step, reply)
		return reply

	async def wait_for(self, awaited: Awaitable, step: int) -> Any:
		with self.journal.waiting():
			return await watched(awaited, self.guards, Progress(step, waiting=True))
