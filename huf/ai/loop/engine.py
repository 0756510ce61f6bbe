"""The one loop: ask the model, do what it asks, until it answers or a guard says stop.

Knows no frappe, no litellm and no database: the model call, tools, journal and listener are handed to it.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, Protocol

from huf.ai.errors import ModelError, RunStopped
from huf.ai.loop.guards import Guard, Progress, first_verdict
from huf.ai.loop.tool_calls import perform, prepare
from huf.ai.loop.turn import CallTools, CutAnswer, decide
from huf.ai.types import Ask, Call, Emit, EventKind, ModelReply, Observation, Outcome, StopReason, Tool

GUARD_INTERVAL = 0.5
"""Seconds between looks at the guards while a model is thinking."""


class Journal(Protocol):
	"""Who keeps the record; each method returns only when what it was told is safe.

	A run that was broken off is taken up again by asking `recall` and `recall_call` first.
	"""

	def recall(self, step: int) -> ModelReply | None: ...
	def recall_call(self, step: int, call: Call) -> Observation | None: ...
	def asking(self, step: int) -> None: ...
	def answered(self, step: int, reply: ModelReply) -> None: ...
	def ask_failed(self, step: int, why: str, partial: str) -> None: ...
	def calling(self, step: int, call: Call) -> None: ...
	def called(self, step: int, observation: Observation) -> None: ...
	def step_done(self, step: int, reply: ModelReply, observations: list[Observation]) -> None: ...


class NoJournal:
	"""Keeps nothing: for runs of the loop that nobody needs to find again."""

	def recall(self, step): ...
	def recall_call(self, step, call): ...
	def asking(self, step): ...
	def answered(self, step, reply): ...
	def ask_failed(self, step, why, partial): ...
	def calling(self, step, call): ...
	def called(self, step, observation): ...
	def step_done(self, step, reply, observations): ...


async def run_loop(
	messages: list[dict],
	tools: list[Tool],
	ask: Ask,
	*,
	guards: Iterable[Guard] = (),
	journal: Journal | None = None,
	emit: Emit = lambda kind, data: None,
) -> Outcome:
	"""Run until the model answers without asking for a tool. Never raises ModelError: it ends the outcome."""
	journal = journal or NoJournal()
	by_name = {tool.name: tool for tool in tools}
	outcome = Outcome(messages=list(messages))
	while True:
		step = outcome.steps + 1
		if reason := first_verdict(guards, Progress(step)):
			return end(outcome, reason)
		try:
			reply = journal.recall(step) or await ask_model(outcome, step, tools, ask, guards, journal, emit)
		except ModelError as error:
			outcome.error = str(error)
			return end(outcome, StopReason.ERROR)
		except RunStopped as stopped:
			return end(outcome, stopped.reason)
		outcome.steps, outcome.usage = step, outcome.usage + reply.usage
		turn = decide(reply)
		if not isinstance(turn, CallTools):
			cut = isinstance(turn, CutAnswer)
			outcome.text, outcome.told = turn.text, False
			outcome.messages.append({"role": "assistant", "content": turn.text})
			return end(outcome, StopReason.CONTEXT_BUDGET if cut else StopReason.FINAL_ANSWER)
		observations = [
			await call_tool(step, call, journal, emit) for call in prepare(turn.requests, by_name)
		]
		journal.step_done(step, reply, observations)
		if reply.text:
			outcome.text, outcome.told = reply.text, True
		outcome.observations += observations
		outcome.messages += [reply.as_message(), *(o.as_message() for o in observations)]


def end(outcome: Outcome, reason: StopReason) -> Outcome:
	outcome.stop_reason = reason
	return outcome


async def ask_model(outcome, step: int, tools, ask: Ask, guards, journal: Journal, emit: Emit) -> ModelReply:
	"""One journaled call. What had arrived before it broke off is kept in the outcome."""
	parts: list[str] = []

	def on_text(text: str) -> None:
		parts.append(text)
		emit(EventKind.TEXT_DELTA, {"step": step, "text": text})

	journal.asking(step)
	try:
		reply = await watched(ask(outcome.messages, tools, on_text), guards, Progress(step, waiting=True))
	except (ModelError, RunStopped) as error:
		partial = "".join(parts)
		journal.ask_failed(step, str(error), partial)
		if partial:
			outcome.text, outcome.told = partial, False
		raise
	journal.answered(step, reply)
	return reply


async def watched(waiting: Awaitable, guards: Iterable[Guard], progress: Progress) -> Any:
	"""Wait for something, asking the guards all the while. Raises RunStopped when one speaks up."""
	task = asyncio.ensure_future(waiting)
	while not task.done():
		await asyncio.wait({task}, timeout=GUARD_INTERVAL)
		if not task.done() and (reason := first_verdict(guards, progress)):
			task.cancel()
			await asyncio.wait({task})
			raise RunStopped(reason)
	return task.result()


async def call_tool(step: int, call: Call, journal: Journal, emit: Emit) -> Observation:
	seen = {"step": step, "call_id": call.request.id, "tool": call.request.name}
	shown = call.request.arguments if call.arguments is None else call.arguments
	emit(EventKind.TOOL_STARTED, {**seen, "effect": call.effect.value, "arguments": shown})
	observation = journal.recall_call(step, call)
	if observation is None:
		journal.calling(step, call)
		observation = await perform(call)
		journal.called(step, observation)
	emit(
		EventKind.TOOL_FINISHED,
		{**seen, "ok": observation.ok, "result": observation.text, "duration_ms": observation.duration_ms},
	)
	return observation
