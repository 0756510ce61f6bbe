"""The agent loop: call the model, make the tool calls it asks for, until it answers or a guard stops the
run.

Knows no frappe, no litellm and no database: the model, tools, journal and listener are handed to it.
"""

from collections.abc import Sequence

from huf.ai.core.errors import ModelError, RunStopped
from huf.ai.core.types import Emit, EventKind, Outcome, StopReason, Tool
from huf.ai.loop.guards import Guard, Progress, Verdict, first_verdict
from huf.ai.loop.journal import Journal, NoJournal
from huf.ai.loop.model import Escalate, Model, no_larger_model
from huf.ai.loop.model_calls import call_model
from huf.ai.loop.run_context import Approve, Review, accept, ignore
from huf.ai.loop.tool_calls import prepare
from huf.ai.loop.tool_runner import ToolRunner
from huf.ai.loop.transcript_view import TranscriptView
from huf.ai.loop.turn import CallTools, CutAnswer, FinalAnswer, Turn, read_turn

FINAL_ANSWER = "final_answer"
"""A tool by which a model returns its answer as a call."""


async def run_loop(
	messages: list[dict],
	tools: list[Tool],
	model: Model,
	*,
	guards: Sequence[Guard] = (),
	journal: Journal | None = None,
	emit: Emit = ignore,
	approve: Approve | None = None,
	escalate: Escalate = no_larger_model,
	review: Review = accept,
) -> Outcome:
	"""Run until the model answers without asking for a tool; return how it ended, with the whole
	transcript.

	Args:
		messages: the beginning of the transcript in OpenAI's form; its last message is what this run is
		about.
		escalate: returns a larger model, for a run whose own is unreachable, stalls or writes its calls
		wrongly.
		review: returns why the model must look at its answer again, or None; what it answers then is final.

	Raises RunPaused where `approve` does: the run waits for a person. A ModelError ends the outcome
	instead.
	"""
	journal = journal or NoJournal()
	runner = ToolRunner(guards, journal, emit, approve)
	outcome = Outcome(messages=list(messages))
	last_chance: Verdict | None = None
	refused: FinalAnswer | None = None
	view, judged = TranscriptView(outcome, tools, model), 0
	while True:
		step = outcome.steps + 1
		if verdict := first_verdict(guards, Progress(step, turns=outcome.turns[judged:])):
			if not verdict.nudge:
				return end(outcome, verdict.reason, verdict.why)
			if refused:
				return keep_refused(outcome, refused, emit)
			if verdict.reason is StopReason.STALLED and (larger := escalate(False)):
				# It was the smaller model that stalled; the larger one is judged by its own turns.
				model, judged = view.switch_model(larger), len(outcome.turns)
				continue
			outcome.messages.append({"role": "user", "content": verdict.nudge})
			last_chance = verdict
		try:
			reply = journal.find_reply(step) or await call_model(
				outcome, step, view.fit(with_tools=not last_chance), model, guards, journal, emit
			)
		except ModelError as error:
			if larger := escalate(True):
				# The call may have failed in the middle of an answer, which now begins again.
				emit(EventKind.TEXT_VOID, {"step": step})
				model = view.switch_model(larger)
				continue
			if last_chance:
				outcome.messages.pop()
				return end(outcome, last_chance.reason, last_chance.why)
			if refused:
				return keep_refused(outcome, refused, emit)
			# A model that falls silent in the middle of an answer leaves one that can be continued.
			is_partial = error.is_timeout and outcome.text and not outcome.is_recorded
			return end(outcome, StopReason.TIMEOUT if is_partial else StopReason.ERROR, str(error))
		except RunStopped as stopped:
			if last_chance:
				# Nobody answered the nudge, so it is no part of the transcript.
				outcome.messages.pop()
			return end(outcome, stopped.reason, stopped.why)
		outcome.steps, outcome.usage = step, outcome.usage + reply.usage
		view.count_tokens(reply.usage)
		if reply.corrected and (larger := escalate(False)):
			model = view.switch_model(larger)
		turn = read_turn(reply)
		is_new_answer = isinstance(turn, FinalAnswer) and not refused and not last_chance
		if is_new_answer and (objection := review(turn.text)):
			refused = FinalAnswer(turn.text)
			emit(EventKind.TEXT_VOID, {"step": step})
			outcome.text, outcome.is_recorded = turn.text, False
			outcome.messages += [reply.as_message(), {"role": "user", "content": objection}]
			continue
		if last_chance or not isinstance(turn, CallTools):
			return finish(outcome, turn, last_chance)
		tool_results = await runner.run(step, prepare(turn.requests, view.tools_by_name))
		journal.finish_step(step, reply, tool_results)
		if reply.text:
			outcome.text, outcome.is_recorded = reply.text, True
		outcome.turns.append(tool_results)
		outcome.messages += [reply.as_message(), *(each.as_message() for each in tool_results)]
		if given := next((r for r in tool_results if r.ok and r.call.request.name == FINAL_ANSWER), None):
			return finish(outcome, FinalAnswer(given.text), None)


def keep_refused(outcome: Outcome, refused: FinalAnswer, emit: Emit) -> Outcome:
	"""End with the answer that the model could not look at again; readers of the stream get it after all."""
	emit(EventKind.TEXT_DELTA, {"step": outcome.steps, "text": refused.text})
	return finish(outcome, refused, None)


def finish(outcome: Outcome, turn: Turn, last_chance: Verdict | None) -> Outcome:
	"""End with the model's text; `last_chance`: the guard that asked for an answer at once, whatever it
	is.
	"""
	if turn.text:
		outcome.text, outcome.is_recorded = turn.text, False
		outcome.messages.append({"role": "assistant", "content": turn.text})
	if isinstance(turn, CutAnswer):
		return end(outcome, turn.reason, turn.why)
	if last_chance:
		if last_chance.reason is StopReason.MAX_STEPS:
			# The summary that is asked for at the limit is no step of the work.
			outcome.steps -= 1
		return end(outcome, last_chance.reason, last_chance.why)
	return end(outcome, StopReason.FINAL_ANSWER)


def end(outcome: Outcome, reason: StopReason, why: str | None = None) -> Outcome:
	outcome.stop_reason, outcome.error = reason, why
	return outcome
