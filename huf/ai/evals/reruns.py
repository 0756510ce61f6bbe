"""Runs a run again from one of its steps, with edited messages: the model is called, tools run dry."""

from collections.abc import Mapping

import frappe
from frappe import _

from huf.ai.agents.function_tool import EffectTool
from huf.ai.agents.manager import AgentManager
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.json_text import to_text
from huf.ai.core.types import OFFLINE, AgentRequest, ModelReply, Outcome, ToolResult
from huf.ai.evals.budgeted_journal import BudgetedJournal
from huf.ai.evals.cases import EvalCase
from huf.ai.evals.dry_runs import CaseDryRuns
from huf.ai.loop.run_context import RunContext
from huf.ai.queries.runs import read_timeline
from huf.ai.runs import admission
from huf.ai.runs.messages import add_file_reader
from huf.ai.runs.model_input import read_model_input
from huf.ai.runs.provider import RunProvider
from huf.ai.runs.replay import compare, read, read_ended_run, steps_of
from huf.ai.storage.recorded_run import RecordedRun, read_recorded

EDITABLE_ROLES = ("system", "user")
MAX_EDITED_CHARS = 200_000
TIMEOUT_S = 90
"""Somebody waits for the answer."""


def rerun(run: str, step: int, edits: Mapping[str, str]) -> dict:
	"""Run an ended run again from a step, for users who may change its agent, with their permissions.

	Only the cost of the model calls is recorded. `edits`: {place among the messages of that step: new text}.
	Returns {left: the run, answer, error, stop_reason, model, usage: {input_tokens, output_tokens,
	total_cost}, steps: [{step, same, left, right, differences}]}, the steps from `step` on. Raises
	UsageError, PermissionError.
	"""
	messages = edit_messages(read_model_input(run, step)["messages"], edits)
	row, recorded = read_ended_run(run), read_recorded(run)
	user = frappe.session.user
	doc = admission.admit(row.agent, user)
	model = None if row.model == OFFLINE else row.model
	manager = AgentManager(row.agent, row.provider, model, is_chat=row.route == "chat")
	admission.check_stops(AgentRequest(row.agent, row.prompt, user), manager.provider)
	tools = [] if manager.is_chat else RerunTools(doc, recorded, step).tools
	journal = RerunJournal(step)
	guards = manager.make_guards(TIMEOUT_S, max(1, manager.steps - step + 1))
	context = RunContext(row.agent, messages, guards, journal, larger_model=manager.escalate)
	agent = add_file_reader(manager.prepare_agent().clone(tools=tools), messages, row.conversation)
	outcome = run_coroutine(RunProvider.run(agent, row.prompt, manager.provider, manager.model, context))
	frappe.db.rollback()
	return {**describe_outcome(outcome, manager.model), **compare_with(run, step, journal.steps)}


def edit_messages(messages: list[dict], edits: Mapping[str, str]) -> list[dict]:
	"""Raises UsageError for a place that has no text of the instructions or of a person."""
	if sum(map(len, edits.values())) > MAX_EDITED_CHARS:
		raise UsageError(_("The edited messages are longer than {0} characters.").format(MAX_EDITED_CHARS))
	edited = list(messages)
	for place, text in edits.items():
		number = int(place[:10]) if place.isdecimal() else len(messages)
		message = messages[number] if number < len(messages) else {}
		if message.get("role") not in EDITABLE_ROLES or not isinstance(message.get("content"), str):
			raise UsageError(_("Message {0} cannot be edited.").format(place[:10]))
		edited[number] = {**message, "content": text}
	return edited


class RerunTools(CaseDryRuns):
	"""The agent's tools as dry runs. A call that reaches outside has the result that the run recorded."""

	def __init__(self, agent, recorded: RecordedRun, step: int):
		self.recorded = [row for (number, _), row in sorted(recorded.calls.items()) if number >= step]
		super().__init__(EvalCase("", agent.name, ""), agent)

	def answer_external(self, tool: EffectTool, arguments: dict) -> str:
		for row in self.recorded:
			if row.tool == tool.name and read(row.arguments) == arguments:
				return to_text(row.result or "")
		raise ToolError(
			"This call was not made: it cannot be rolled back, and the run has no result of the same call."
		)


class RerunJournal(BudgetedJournal):
	"""Keeps the steps, numbered as in the run."""

	def __init__(self, first_step: int):
		self.offset = first_step - 1
		self.steps: dict[int, dict] = {}

	def finish_model_call(self, step: int, reply: ModelReply) -> None:
		super().finish_model_call(step, reply)
		number = step + self.offset
		call = {"name": f"rerun-{number}", "text": reply.text, "reasoning": reply.reasoning}
		self.steps[number] = {"step": number, "model_calls": [call], "tool_calls": []}

	def finish_tool_call(self, step: int, tool_result: ToolResult) -> None:
		request = tool_result.call.request
		self.steps[step + self.offset]["tool_calls"].append(
			{
				"name": f"rerun-{request.id}",
				"tool": request.name,
				"call_id": request.id,
				"effect": tool_result.call.effect.value,
				"status": tool_result.status.value,
				"arguments": request.arguments,
				"result": tool_result.text,
				"error": None if tool_result.ok else tool_result.text,
			}
		)


def describe_outcome(outcome: Outcome, model: str) -> dict:
	usage = outcome.usage
	return {
		"answer": outcome.text,
		"error": outcome.error,
		"status": outcome.status.value,
		"stop_reason": outcome.stop_reason.value,
		"model": model,
		"usage": {
			"input_tokens": usage.input_tokens,
			"output_tokens": usage.output_tokens,
			"total_cost": None if usage.unpriced_calls else usage.cost,
		},
	}


def compare_with(run: str, first: int, steps: dict[int, dict]) -> dict:
	"""{left, steps}: the run's steps from `first` on, next to those of the rerun."""
	timeline, recorded = read_timeline(run), steps_of(run)
	before = {each["step"]: each for each in timeline["steps"]}
	numbers = sorted(number for number in {*recorded, *steps} if number >= first)
	return {
		"left": timeline["run"],
		"steps": [
			{
				"step": number,
				**compare(recorded.get(number), summarize_step(steps.get(number))),
				"left": before.get(number),
				"right": steps.get(number),
			}
			for number in numbers
		],
	}


def summarize_step(step: dict | None) -> dict | None:
	"""A step in the form of `steps_of`."""
	if step is None:
		return None
	calls = [
		{"tool": call["tool"], "arguments": read(call["arguments"]), "result": call["result"]}
		for call in step["tool_calls"]
	]
	return {"text": step["model_calls"][0]["text"], "calls": calls}
