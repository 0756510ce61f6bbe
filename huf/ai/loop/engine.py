"""The agent loop: call the model, make the tool calls it requests, until it answers or a guard stops the run.

Independent of frappe, LiteLLM and the database: the model, tools, journal and listener are passed in.
"""

from collections.abc import Sequence

from huf.ai.core.errors import ModelError, RunStopped
from huf.ai.core.events import Emit, EventKind
from huf.ai.core.types import ANSWER_TOOL, ModelReply, Outcome, StopReason, Tool
from huf.ai.loop.guards import Guard, Progress, Verdict, first_verdict
from huf.ai.loop.model import Escalate, Model, no_larger_model
from huf.ai.loop.model_calls import ModelCaller, TranscriptView
from huf.ai.loop.run_context import Approve, Journal, NoJournal, Review, ignore
from huf.ai.loop.tool_calls import ToolRunner, prepare

CUT_BY = {
	"length": (StopReason.CONTEXT_BUDGET, None),
	"repetition": (StopReason.STALLED, "The model repeated itself without end, so its answer was stopped."),
	"budget": (StopReason.MONEY_BUDGET, "The answer was cut where its budget ended."),
}
"""Finish reasons of a cut answer; `budget` is ours, for one that had to be shorter than the model's own
limit.
"""


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
	review: Review | None = None,
) -> Outcome:
	"""Run until the model answers without requesting a tool. Returns how it ended, with the whole transcript.

	Args:
		messages: the opening of the transcript in OpenAI's format, ending with the run's prompt.
		escalate: returns a larger model, if the run's own is unreachable, stalls or makes malformed calls.
		review: returns why the model must revise its answer, or None; the revised answer is final.

	Raises RunPaused if `approve` does: the run waits for a person. A ModelError ends the run and is reported
	in the outcome.
	"""
	loop = AgentLoop(messages, tools, model, guards, journal or NoJournal(), emit, approve, escalate, review)
	while not (outcome := await loop.run_step()):
		pass
	return outcome


class AgentLoop:
	"""The state of a run: its outcome so far, and what earlier steps decided for later ones.

	`last_chance`: the guard that asked for an answer at once. `refused`: the answer that `review` sent back.
	"""

	def __init__(
		self,
		messages: list[dict],
		tools: list[Tool],
		model: Model,
		guards: Sequence[Guard],
		journal: Journal,
		emit: Emit,
		approve: Approve | None,
		escalate: Escalate,
		review: Review | None,
	):
		self.guards, self.journal, self.emit = guards, journal, emit
		self.escalate, self.review = escalate, review
		self.runner = ToolRunner(guards, journal, emit, approve)
		self.outcome = Outcome(messages=list(messages))
		self.caller = ModelCaller(self.outcome, guards, journal, emit)
		self.view = TranscriptView(self.outcome, tools, model)
		self.model = model
		self.judged_from = 0
		self.last_chance: Verdict | None = None
		self.refused: str | None = None

	async def run_step(self) -> Outcome | None:
		"""Call the model once and make the calls it requests. Returns the outcome once the run has ended."""
		step = self.outcome.steps + 1
		if ended := self.heed_guards(step):
			return ended
		try:
			reply = self.journal.find_reply(step) or await self.caller.call(
				step, self.view.fit(with_tools=not self.last_chance), self.model
			)
		except ModelError as error:
			return self.handle_model_error(step, error)
		except RunStopped as stopped:
			self.withdraw_nudge()
			return end(self.outcome, stopped.reason, stopped.why)
		self.outcome.steps, self.outcome.usage = step, self.outcome.usage + reply.usage
		self.view.count_tokens(reply.usage)
		if reply.corrected:
			self.switch_to_larger(unreachable=False)
		if reply.finish_reason in CUT_BY:
			# Its calls are not made: their arguments may be cut as well.
			reason, why = CUT_BY[reply.finish_reason]
			return end(add_answer(self.outcome, reply.text), reason, reply.cut_by or why)
		if not reply.calls and self.send_back(step, reply.text, reply.message):
			return None
		if self.last_chance or not reply.calls:
			return finish(self.outcome, reply.text, self.last_chance)
		return await self.call_tools(step, reply)

	def heed_guards(self, step: int) -> Outcome | None:
		"""Let the guards end the run before a step, nudge the model or switch to a larger one."""
		while verdict := first_verdict(
			self.guards, Progress(step, turns=self.outcome.turns[self.judged_from :])
		):
			if not verdict.nudge:
				self.withdraw_nudge()
				return end(self.outcome, verdict.reason, verdict.why)
			if self.last_chance:
				return None
			if self.refused is not None:
				return self.keep_refused(self.refused)
			if verdict.reason is not StopReason.STALLED or not self.switch_to_larger(unreachable=False):
				self.outcome.messages.append({"role": "user", "content": verdict.nudge})
				self.last_chance = verdict
				return None
			# The smaller model stalled; judge the larger one by its own turns only.
			self.judged_from = len(self.outcome.turns)
		return None

	def handle_model_error(self, step: int, error: ModelError) -> Outcome | None:
		"""Continue with a larger model if there is one; otherwise end the run."""
		if self.switch_to_larger(unreachable=True):
			# The call may have failed in the middle of an answer, which now begins again.
			self.emit(EventKind.TEXT_VOID, {"step": step})
			return None
		if self.last_chance:
			self.withdraw_nudge()
			return end(self.outcome, self.last_chance.reason, self.last_chance.why)
		if self.refused is not None:
			return self.keep_refused(self.refused)
		if error.is_too_long:
			return end(self.outcome, StopReason.CONTEXT_BUDGET, str(error))
		# An answer that broke off in the middle can be continued.
		is_partial = error.is_timeout and self.outcome.text and not self.outcome.is_recorded
		return end(self.outcome, StopReason.TIMEOUT if is_partial else StopReason.ERROR, str(error))

	def switch_to_larger(self, *, unreachable: bool) -> bool:
		if larger := self.escalate(unreachable):
			self.model = self.view.switch_model(larger)
		return larger is not None

	def withdraw_nudge(self) -> None:
		"""Remove an unanswered nudge from the transcript."""
		if self.last_chance:
			self.outcome.messages.pop()

	def send_back(self, step: int, answer: str, *messages: dict) -> bool:
		"""Send the answer back to the model if the review objects, once per run. `messages`: those of the
		answer that are not in the transcript yet.
		"""
		if not self.review or self.refused is not None or self.last_chance:
			return False
		if not (objection := self.review(step, answer)):
			return False
		self.refused = answer
		self.emit(EventKind.TEXT_VOID, {"step": step})
		self.outcome.text, self.outcome.is_recorded = answer, False
		self.outcome.messages += [*messages, {"role": "user", "content": objection}]
		return True

	def keep_refused(self, refused: str) -> Outcome:
		"""End with the answer that was sent back, and emit it to readers of the stream."""
		self.emit(EventKind.TEXT_DELTA, {"step": self.outcome.steps, "text": refused})
		return finish(self.outcome, refused)

	async def call_tools(self, step: int, reply: ModelReply) -> Outcome | None:
		tool_results = await self.runner.run(step, prepare(reply.calls, self.view.tools_by_name))
		self.journal.finish_step(step, reply, tool_results)
		if reply.text:
			self.outcome.text, self.outcome.is_recorded = reply.text, True
		self.outcome.turns.append(tool_results)
		given = next((r for r in tool_results if r.ok and r.call.request.name == ANSWER_TOOL), None)
		self.outcome.messages += [reply.message, *(each.as_message() for each in tool_results)]
		if not given or self.send_back(step, given.text):
			return None
		return finish(self.outcome, given.text)


def finish(outcome: Outcome, text: str, last_chance: Verdict | None = None) -> Outcome:
	"""End with the model's text. `last_chance`: the guard that asked for an immediate answer."""
	add_answer(outcome, text)
	if last_chance:
		if last_chance.reason is StopReason.MAX_STEPS:
			# The summary requested at the limit does not count as a step.
			outcome.steps -= 1
		return end(outcome, last_chance.reason, last_chance.why)
	return end(outcome, StopReason.FINAL_ANSWER)


def add_answer(outcome: Outcome, text: str) -> Outcome:
	if text:
		outcome.text, outcome.is_recorded = text, False
		outcome.messages.append({"role": "assistant", "content": text})
	return outcome


def end(outcome: Outcome, reason: StopReason, why: str | None = None) -> Outcome:
	outcome.stop_reason, outcome.error = reason, why
	return outcome
