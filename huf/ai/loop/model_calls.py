"""Model calls of the loop: reserves the cost, calls, retries if that can help, and records each try."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from huf.ai.core.costs import Grant, WorstCase
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


async def call_model(
	outcome: Outcome,
	step: int,
	sent: ModelInput,
	model: Model,
	guards: Sequence[Guard],
	journal: Journal,
	emit: Emit,
) -> ModelReply:
	"""The reply of the first successful try. Every try is recorded separately.

	Raises ModelError if no try succeeds, RunStopped if a guard or a budget ends it; text that has arrived by
	then is kept in the outcome.
	"""
	for attempt in count():
		grant = await reserve(sent, step, model, guards, journal)
		try:
			return await call_once(outcome, step, sent, model, grant, guards, journal, emit)
		except ModelError as error:
			if not error.retryable or attempt >= model.retries:
				raise
		pause_s = min(RETRY_PAUSE_S * 2**attempt, MAX_RETRY_PAUSE_S)
		await wait_for(asyncio.sleep(pause_s), step, guards, journal)
	raise AssertionError("unreachable")


async def reserve(
	sent: ModelInput, step: int, model: Model, guards: Sequence[Guard], journal: Journal
) -> Grant | None:
	"""Record the call and reserve its cost; wait while other calls hold the rest of a budget."""

	def measure_cost() -> WorstCase | None:
		return model.worst_case(sent.messages, sent.tools, sent.counted)

	for attempt in count():
		try:
			return journal.start_model_call(step, measure_cost)
		except BudgetReserved as reserved:
			if attempt >= MAX_RESERVED_PAUSES:
				raise RunStopped(StopReason.MONEY_BUDGET, str(reserved)) from None
		await wait_for(asyncio.sleep(RESERVED_PAUSE_S), step, guards, journal)
	raise AssertionError("unreachable")


async def call_once(
	outcome: Outcome,
	step: int,
	sent: ModelInput,
	model: Model,
	grant: Grant | None,
	guards: Sequence[Guard],
	journal: Journal,
	emit: Emit,
) -> ModelReply:
	parts: list[str] = []
	has_reasoned = False

	def on_text(text: str, is_reasoning: bool = False) -> None:
		nonlocal has_reasoned
		has_reasoned |= is_reasoning
		if not is_reasoning:
			parts.append(text)
		kind = EventKind.REASONING_DELTA if is_reasoning else EventKind.TEXT_DELTA
		emit(kind, {"step": step, "text": text})

	try:
		call = model.complete(sent.messages, sent.tools, on_text, grant.max_tokens if grant else None)
		reply = await wait_for(call, step, guards, journal)
	except (ModelError, RunStopped) as error:
		partial = "".join(parts)
		journal.fail_model_call(step, str(error), partial, getattr(error, "usage", None))
		if partial:
			outcome.text, outcome.is_recorded = partial, False
		elif has_reasoned:
			# The next try produces new reasoning.
			emit(EventKind.TEXT_VOID, {"step": step})
		raise
	if parts or has_reasoned:
		emit(EventKind.TEXT_DONE, {"step": step})
		# Send the last words to readers of the stream before waiting for the database.
		await asyncio.sleep(0)
	if grant and grant.short_by and reply.finish_reason == "length":
		reply = replace(reply, finish_reason="budget", cut_by=grant.short_by)
	journal.finish_model_call(step, reply)
	return reply


async def wait_for(awaited: Awaitable, step: int, guards: Sequence[Guard], journal: Journal) -> Any:
	with journal.waiting():
		return await watched(awaited, guards, Progress(step, waiting=True))
