"""One answer from a model: what it may cost is set aside, it is asked, asked again where that can help, and recorded."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from huf.ai.core.costs import Grant, WorstCase
from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped
from huf.ai.core.types import Ask, Emit, EventKind, ModelReply, Outcome, StopReason
from huf.ai.loop.guards import Guard, Progress
from huf.ai.loop.journal import Journal
from huf.ai.loop.model_view import Shown, View
from huf.ai.loop.waiting import watched

PAUSE, MAX_PAUSE_S = 0.2, 20.0
"""Seconds before the second try, doubled for each that follows, and at most."""
HELD_PAUSE = 0.25
MAX_HELD = 240
"""How often it is asked whether a budget has been given something back: for a minute."""


async def ask_model(
	outcome: Outcome,
	step: int,
	view: View,
	ask: Ask,
	guards: Iterable[Guard],
	journal: Journal,
	emit: Emit,
) -> ModelReply:
	"""Every try is journaled. What had arrived before the last one broke off is kept in the outcome.

	Raises ModelError where no try had an answer, RunStopped where a guard or a budget ends it.
	"""
	shown = view.show()
	for attempt in count():
		grant = await set_aside(shown, step, ask, guards, journal)
		try:
			return await ask_once(outcome, step, shown, ask, grant, guards, journal, emit)
		except ModelError as error:
			if not error.retryable or attempt >= getattr(ask, "retries", 0):
				raise
		pause = min(PAUSE * 2**attempt, MAX_PAUSE_S)
		await watched(asyncio.sleep(pause), guards, Progress(step, waiting=True))


async def set_aside(shown: Shown, step, ask, guards, journal: Journal) -> Grant | None:
	"""Write down that the model is asked, with what that may cost; wait while calls of others hold what is left."""

	def worst() -> WorstCase | None:
		measure = getattr(ask, "worst_case", None)
		return measure(shown.messages, shown.tools, shown.counted) if measure else None

	for attempt in count():
		try:
			return journal.asking(step, worst)
		except BudgetReserved as held:
			if attempt >= MAX_HELD:
				raise RunStopped(StopReason.MONEY_BUDGET, str(held)) from None
		await watched(asyncio.sleep(HELD_PAUSE), guards, Progress(step, waiting=True))


async def ask_once(
	outcome, step, shown: Shown, ask, grant, guards, journal: Journal, emit: Emit
) -> ModelReply:
	parts: list[str] = []

	def on_text(text: str) -> None:
		parts.append(text)
		emit(EventKind.TEXT_DELTA, {"step": step, "text": text})

	limit = {"max_tokens": grant.max_tokens} if grant else {}
	try:
		asked = ask(shown.messages, shown.tools, on_text, **limit)
		reply = await watched(asked, guards, Progress(step, waiting=True))
	except (ModelError, RunStopped) as error:
		partial = "".join(parts)
		journal.ask_failed(step, str(error), partial, getattr(error, "usage", None))
		if partial:
			outcome.text, outcome.told = partial, False
		raise
	if parts:
		emit(EventKind.TEXT_DONE, {"step": step})
		# Whoever reads along has the last words before a database is waited for.
		await asyncio.sleep(0)
	if grant and grant.short and reply.finish_reason == "length":
		reply = replace(reply, finish_reason="budget")
	journal.answered(step, reply)
	return reply
