"""The one loop: ask the model, do what it asks, until it answers or a guard says stop.

Knows no frappe, no litellm and no database: the model call, tools, journal and listener are handed to it.
"""

from collections.abc import Iterable

from huf.ai.core.errors import ModelError, RunStopped
from huf.ai.core.types import Ask, Clear, Emit, Escalate, EventKind, Outcome, StopReason, Tool
from huf.ai.loop.guards import Guard, Progress, Verdict, first_verdict
from huf.ai.loop.journal import Journal, NoJournal
from huf.ai.loop.model_calls import ask_model
from huf.ai.loop.model_view import View
from huf.ai.loop.tool_calls import prepare
from huf.ai.loop.tool_turn import Caller
from huf.ai.loop.turn import CallTools, CutAnswer, FinalAnswer, decide

FINAL_ANSWER = "final_answer"
"""A tool by which a model gives its answer as a call."""


async def run_loop(
	messages: list[dict],
	tools: list[Tool],
	ask: Ask,
	*,
	guards: Iterable[Guard] = (),
	journal: Journal | None = None,
	emit: Emit = lambda kind, data: None,
	clear: Clear | None = None,
	escalate: Escalate = lambda down: None,
) -> Outcome:
	"""Run until the model answers without asking for a tool. Never raises ModelError: it ends the outcome.

	`climb` gives a larger model, for a run whose own cannot be reached (`down`), stalls or writes its calls wrongly.
	Raises RunPaused where `clear` does: the run waits for a person.
	"""
	journal = journal or NoJournal()
	caller = Caller(guards, journal, emit, clear)
	outcome, last = Outcome(messages=list(messages)), None
	view, judged = View(outcome, tools, ask), 0
	while True:
		step = outcome.steps + 1
		if verdict := first_verdict(guards, Progress(step, turns=outcome.turns[judged:])):
			if not verdict.nudge:
				return end(outcome, verdict.reason, verdict.why)
			if better := escalate(False):
				# It was the smaller model that stalled; the larger one is judged by its own turns.
				ask, judged = view.hand_over(better), len(outcome.turns)
				continue
			outcome.messages.append({"role": "user", "content": verdict.nudge})
			last = verdict
		try:
			reply = journal.recall(step) or await ask_model(outcome, step, view, ask, guards, journal, emit)
		except ModelError as error:
			if better := escalate(True):
				# It may have broken off in the middle of its answer, which is given anew.
				emit(EventKind.TEXT_VOID, {"step": step})
				ask = view.hand_over(better)
				continue
			return end(outcome, StopReason.ERROR, str(error))
		except RunStopped as stopped:
			return end(outcome, stopped.reason, stopped.why)
		outcome.steps, outcome.usage = step, outcome.usage + reply.usage
		view.note(reply.usage)
		if reply.corrected and (better := escalate(False)):
			ask = view.hand_over(better)
		turn = decide(reply)
		if last or not isinstance(turn, CallTools):
			return answer(outcome, turn, last)
		tool_results = await caller.make(step, prepare(turn.requests, view.by_name))
		journal.step_done(step, reply, tool_results)
		if reply.text:
			outcome.text, outcome.told = reply.text, True
		outcome.turns.append(tool_results)
		outcome.messages += [reply.as_message(), *(o.as_message() for o in tool_results)]
		if said := next((o for o in tool_results if o.ok and o.call.request.name == FINAL_ANSWER), None):
			return answer(outcome, FinalAnswer(said.text), None)


def answer(outcome: Outcome, turn: FinalAnswer | CutAnswer | CallTools, last: Verdict | None) -> Outcome:
	"""End with what the model said; `last`: the guard that wanted an answer at once, whatever it is."""
	if turn.text:
		outcome.text, outcome.told = turn.text, False
		outcome.messages.append({"role": "assistant", "content": turn.text})
	if isinstance(turn, CutAnswer):
		return end(outcome, turn.reason, turn.why)
	if last:
		return end(outcome, last.reason, last.why)
	return end(outcome, StopReason.FINAL_ANSWER)


def end(outcome: Outcome, reason: StopReason, why: str | None = None) -> Outcome:
	outcome.stop_reason, outcome.error = reason, why
	return outcome
