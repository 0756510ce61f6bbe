"""The one loop: ask the model, do what it asks, until it answers or a guard says stop.

Knows no frappe, no litellm and no database: the model call, tools, journal and listener are handed to it.
"""

from collections.abc import Iterable
from dataclasses import replace

from huf.ai.errors import ModelError, RunStopped
from huf.ai.loop.asking import ask_model
from huf.ai.loop.guards import Guard, Progress, first_verdict
from huf.ai.loop.journal import Journal, NoJournal
from huf.ai.loop.tool_calls import perform, prepare
from huf.ai.loop.turn import CallTools, CutAnswer, decide
from huf.ai.types import Ask, Call, Emit, EventKind, Observation, Outcome, StopReason, Tool

NOT_BEGUN = "The run was stopped before this call, so it was not made."


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
		if verdict := first_verdict(guards, Progress(step)):
			return end(outcome, verdict.reason, verdict.why)
		try:
			reply = journal.recall(step) or await ask_model(outcome, step, tools, ask, guards, journal, emit)
		except ModelError as error:
			return end(outcome, StopReason.ERROR, str(error))
		except RunStopped as stopped:
			return end(outcome, stopped.reason, stopped.why)
		outcome.steps, outcome.usage = step, outcome.usage + reply.usage
		if reply.usage.input_tokens:
			outcome.counted = (len(outcome.messages), reply.usage.input_tokens)
		turn = decide(reply)
		if not isinstance(turn, CallTools):
			outcome.text, outcome.told = turn.text, False
			outcome.messages.append({"role": "assistant", "content": turn.text})
			return (
				end(outcome, turn.reason, turn.why)
				if isinstance(turn, CutAnswer)
				else end(outcome, StopReason.FINAL_ANSWER)
			)
		observations = await call_tools(step, prepare(turn.requests, by_name), guards, journal, emit)
		journal.step_done(step, reply, observations)
		if reply.text:
			outcome.text, outcome.told = reply.text, True
		outcome.observations += observations
		outcome.messages += [reply.as_message(), *(o.as_message() for o in observations)]


def end(outcome: Outcome, reason: StopReason, why: str | None = None) -> Outcome:
	outcome.stop_reason, outcome.error = reason, why
	return outcome


async def call_tools(
	step: int, calls: list[Call], guards: Iterable[Guard], journal: Journal, emit: Emit
) -> list[Observation]:
	"""In order. After one that a guard broke off, the others are not begun."""
	observations: list[Observation] = []
	for call in calls:
		if observations and observations[-1].stopped:
			call = replace(call, error=NOT_BEGUN)
		observations.append(await call_tool(step, call, guards, journal, emit))
		if call.error is NOT_BEGUN:
			observations[-1] = replace(observations[-1], stopped=True)
	return observations


async def call_tool(
	step: int, call: Call, guards: Iterable[Guard], journal: Journal, emit: Emit
) -> Observation:
	seen = {"step": step, "call_id": call.request.id, "tool": call.request.name}
	shown = call.request.arguments if call.arguments is None else call.arguments
	emit(EventKind.TOOL_STARTED, {**seen, "effect": call.effect.value, "arguments": shown})
	observation = journal.recall_call(step, call)
	if observation is None:
		journal.calling(step, call)
		observation = await perform(call, guards, step)
		journal.called(step, observation)
	emit(
		EventKind.TOOL_FINISHED,
		{**seen, "ok": observation.ok, "result": observation.shown, "duration_ms": observation.duration_ms},
	)
	return observation
