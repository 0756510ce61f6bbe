"""Replays runs from their journal, repeats them with another model, and compares two. Read-only.

A replay calls no model, runs no tool and opens no connection: everything comes from the journal.
"""

from dataclasses import dataclass, replace
from typing import Any

import frappe
from frappe import _

from huf.ai.agents.manager import AgentManager
from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import ModelError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.json_text import read_json_or_text
from huf.ai.core.types import ENDED_STATUSES, Call, Effect, ModelReply, Outcome, StopReason, Tool, ToolResult
from huf.ai.loop.engine import run_loop
from huf.ai.loop.guards import NUDGE, SUM_UP, Stall, StepCap
from huf.ai.loop.model import Escalate, FreeModel, Model, no_larger_model
from huf.ai.loop.run_context import NoJournal, Review, RunContext
from huf.ai.receipts.claims import build_correction
from huf.ai.runs.messages import add_file_reader
from huf.ai.runs.provider import RunProvider
from huf.ai.storage.recorded_run import RecordedRun, read_opening, read_recorded, require_opening
from huf.ai.storage.run_rows import digest_transcript


class RunsDiverged(Exception):
	"""The replay, or the other model, requested a call that is not recorded, so its result is unknown."""

	def __init__(self, step: int, call: Call):
		super().__init__(f"Step {step}: {call.request.name}({call.request.arguments}) is not on record.")
		self.step = step


class ReplayJournal(NoJournal):
	"""A read-only journal: recorded tool results, and recorded replies unless another model replies."""

	def __init__(self, recorded: RecordedRun, replies: bool = True):
		self.recorded, self.replies = recorded, replies
		self.step = 0
		self.escalated: set[int] = set()

	def escalate(self, is_unreachable: bool) -> Model | None:
		"""Escalate to a larger model where the recorded run did. It is not called either."""
		models = [
			self.recorded.replies.get(step, ModelReply("")).model for step in (self.step, self.step + 1)
		]
		if not all(models) or models[0] == models[1] or self.step in self.escalated:
			return None
		self.escalated.add(self.step)
		return NoModel()

	def find_reply(self, step: int) -> ModelReply | None:
		self.step = step
		return self.recorded.replies.get(step) if self.replies else None

	def find_tool_result(self, step: int, call: Call) -> ToolResult | None:
		row = self.recorded.calls.get((step, call.position))
		same = row and row.tool == call.request.name and read(row.arguments) == read(call.request.arguments)
		return self.recorded.tool_result(step, call) if self.replies or same else None

	def start_tool_call(self, step: int, call: Call) -> None:
		raise RunsDiverged(step, call)


@dataclass(frozen=True)
class Replay:
	"""A replayed run. `identical`: its transcript equals the recorded one, byte for byte."""

	run: str
	outcome: Outcome
	identical: bool


def replay(run: str) -> Replay:
	"""Replay a run from its journal. Raises UsageError if it cannot, PermissionError for another user's."""
	row, recorded = read_ended_run(run), read_recorded(run)
	journal = ReplayJournal(recorded)
	try:
		outcome = run_recorded(row, recorded, NoModel(), journal, journal.escalate)
	except RunsDiverged as missing:
		raise UsageError(f"Run {run} ended before its last calls were made: {missing}") from None
	outcome = as_it_ended(outcome, row)
	return Replay(run, outcome, digest_transcript(outcome) == row.transcript_digest)


def run_recorded(
	row: Any,
	recorded: RecordedRun,
	model: Model,
	journal: ReplayJournal,
	escalate: Escalate = no_larger_model,
) -> Outcome:
	"""Let a model go through a recorded run as the run's loop did, up to where the record ends."""
	opening = read_opening(row.opening, is_exact=True)
	return run_coroutine(
		run_loop(
			opening,
			recorded_tools(recorded),
			model,
			guards=[step_cap(row, recorded), Stall(stall_message(row.agent))],
			journal=journal,
			escalate=escalate,
			review=recorded_review(row.name, recorded, opening),
		)
	)


def step_cap(row, recorded: RecordedRun) -> StepCap:
	"""A guard that ends a replay where the record ends. At the step limit the model was called once more."""
	if row.stop_reason == StopReason.MAX_STEPS.value:
		return StepCap(row.steps, SUM_UP)
	return StepCap(len(recorded.replies))


def recorded_review(run: str, recorded: RecordedRun, opening: list[dict]) -> Review:
	"""Sends back the answer after which the run went on."""
	sent_back = recorded.sent_back
	return lambda step, answer: (
		build_correction(run, answer, opening, step, True) if step in sent_back else None
	)


def recorded_tools(recorded: RecordedRun) -> list[Tool]:
	"""Tools for the guards, with the recorded effects. They are never called."""
	effects = {call.tool: Effect(call.effect) for call in recorded.calls.values()}
	return [Tool(name, "", {}, effect, never_called) for name, effect in effects.items()]


def stall_message(agent: str) -> str:
	return frappe.db.get_value("Agent", agent, "stall_message") or NUDGE


async def never_called(*args: Any) -> Any:
	raise AssertionError("A replay has every answer on record.")


class NoModel(FreeModel):
	"""The model of a replay. Calls beyond the record failed in the run, and fail again."""

	async def complete(self, *args: Any) -> ModelReply:
		raise ModelError("The record has no reply to this.")


def as_it_ended(outcome: Outcome, row) -> Outcome:
	"""The outcome, with a cause that lies outside the steps (a limit, a failure, a person) taken from the
	record.
	"""
	if outcome.stop_reason is not StopReason.MAX_STEPS:
		return outcome
	return replace(
		outcome,
		stop_reason=StopReason(row.stop_reason),
		text=row.response or "",
		error=row.error_message or None,
	)


def replay_with(run: str, model: str) -> tuple[Outcome | None, str | None]:
	"""Replay a run with another model and the recorded tool results, until the two runs diverge.

	Returns (outcome, None), or (None, where they diverge). Runs no tool. The model is really called; no
	budget of Huf limits or counts it.
	"""
	row, recorded = read_ended_run(run), read_recorded(run)
	manager = AgentManager(row.agent, None, model, is_chat=row.route == "chat")
	messages = read_opening(row.opening, is_exact=True)
	journal = ReplayJournal(recorded, replies=False)
	context = RunContext(row.agent, messages, [StepCap(manager.steps)], journal)
	agent = add_file_reader(manager.prepare_agent(), messages, row.conversation)
	try:
		return run_coroutine(
			RunProvider.run(agent, row.prompt, manager.provider, manager.model, context)
		), None
	except RunsDiverged as diverged:
		return None, str(diverged)


def diff(left: str, right: str) -> list[dict]:
	"""Compare two runs step by step: [{step, same, left, right, differences}]. A side is None after its run
	has ended.
	"""
	sides = [steps_of(left), steps_of(right)]
	return [
		{"step": step, **compare(*(side.get(step) for side in sides))}
		for step in sorted(set(sides[0]) | set(sides[1]))
	]


def steps_of(run: str) -> dict[int, dict]:
	"""{step: {text, calls: [{tool, arguments, result}]}} of a run. Raises PermissionError."""
	read_ended_run(run)
	recorded = read_recorded(run)
	return {
		step: {
			"text": reply.text,
			"calls": [
				{
					**describe_recorded_call(call),
					"result": recorded.calls.get((step, place), {}).get("result"),
				}
				for place, call in enumerate(reply.calls)
			],
		}
		for step, reply in recorded.replies.items()
	}


def describe_recorded_call(call) -> dict:
	return {"tool": call.name, "arguments": read(call.arguments)}


def compare(left: dict | None, right: dict | None) -> dict:
	"""{same, left, right, differences} of one step of two runs; None stands for a missing step."""
	differences = []
	if left is None or right is None:
		differences.append(_("only one of the runs got this far"))
	else:
		if left["text"] != right["text"]:
			differences.append(_("the models said different things"))
		if [c["tool"] for c in left["calls"]] != [c["tool"] for c in right["calls"]]:
			differences.append(_("they called different tools"))
		elif [c["arguments"] for c in left["calls"]] != [c["arguments"] for c in right["calls"]]:
			differences.append(_("they called the same tools with different arguments"))
		elif [c["result"] for c in left["calls"]] != [c["result"] for c in right["calls"]]:
			differences.append(_("the same calls had different results"))
	return {"same": not differences, "left": left, "right": right, "differences": differences}


def read(arguments: str):
	"""Parse arguments if they are JSON, so that spacing makes no difference."""
	return read_json_or_text(arguments or "{}")


def read_ended_run(run: str):
	doc = get_permitted("Agent Run", run)
	if doc.status not in ENDED_STATUSES:
		raise UsageError(f"Run {run} has not ended yet. Wait until it has, or cancel it.")
	if doc.is_undo:
		raise UsageError(f"Run {run} is an undo, so there are no model calls to replay or compare.")
	require_opening(run, doc.opening)
	return doc


def format_replay(run: str, model: str | None) -> str:
	"""A replay as text: the transcript, and whether it equals the recorded one."""
	if model:
		outcome, divergence = replay_with(run, model)
		return outcome.transcript() if outcome else divergence or ""
	replayed = replay(run)
	verdict = "identical to the record" if replayed.identical else "different from the record"
	return f"{replayed.outcome.transcript()}\n# {verdict}"


def format_diff(run: str, other: str) -> str:
	"""One line per step, with its differences."""
	lines = []
	for step in diff(run, other):
		sides = [
			", ".join(call["tool"] for call in side["calls"]) or "answer"
			for side in (step["left"], step["right"])
			if side
		]
		mark = "=" if step["same"] else "≠"
		lines.append(
			f"{step['step']:3d} {mark} {' | '.join(sides)}  {'; '.join(step['differences'])}".rstrip()
		)
	return "\n".join(lines)
