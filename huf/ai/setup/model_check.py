"""Checks with small real calls that a model answers and how it calls tools; notes that on its AI Model."""

import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

import frappe
from frappe.utils import now

from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped
from huf.ai.core.types import Effect, ModelReply, Tool
from huf.ai.loop.model import ignore_text
from huf.ai.loop.planner import PlanningModel
from huf.ai.providers import litellm
from huf.ai.providers.models import UnsavedProvider, hides_tools
from huf.ai.storage.rows import update_cached_row
from huf.ai.storage.standalone_calls import complete_within_budget

PROMPT = [{"role": "user", "content": "Call the tool take_note with the text OK. Say nothing else."}]
ANSWER_TOKENS = 64
TIMEOUT_S = 20
"""Short, because a person is waiting in front of the page."""
NATIVE, BY_SCHEMA, NONE = "Native", "By schema", "None"
IGNORES = "The model ignored the tool that it was asked to call. "
NOTES = {
	NATIVE: "",
	BY_SCHEMA: f"{IGNORES}Agents with it now use the planner, and its plans are held to a JSON schema.",
	NONE: f"{IGNORES}Agents with it now use the planner, but its plan was wrong too: expect wrong tools.",
}


async def refuse(arguments: dict) -> str:
	raise NotImplementedError("Nothing is run in a check.")


NOTE_TOOL = Tool(
	"take_note",
	"Notes a text.",
	{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
	Effect.READ,
	refuse,
)


@dataclass(frozen=True)
class CheckedModel:
	"""The reply to a test, how the model calls tools (NATIVE, BY_SCHEMA, NONE), and tokens per second."""

	reply: ModelReply
	tool_calls: str
	tokens_per_second: float
	note: str


def try_model(name: str) -> dict:
	"""Test an AI Model within the user's budget, and store the findings on its record. Commits."""
	result, checked = check_model(name, frappe.get_cached_value("AI Model", name, "provider"))
	if checked:
		store_findings(name, checked)
	return result


def check_model(
	model: str, provider: str, unsaved: UnsavedProvider | None = None
) -> tuple[dict, CheckedModel | None]:
	"""Test an AI Model, or a model of an `unsaved` provider, within the user's budget. Commits.

	Returns {ok, said, error, took_ms, tool_calls, note} and what was found, None if the model failed. `error`
	says what to do, `note` what `store_findings` changes: a model that ignores tools gets the planner.
	"""
	began, checked, error = time.perf_counter(), None, None
	try:
		checked = check_tool_calls(provider, model, unsaved)
	except (ModelError, RunStopped, BudgetReserved) as problem:
		error = str(problem)
	took = round((time.perf_counter() - began) * 1000)
	result = {
		"ok": error is None,
		"said": checked.reply.text.strip() if checked else "",
		"error": error,
		"took_ms": took,
		"tool_calls": checked.tool_calls if checked else None,
		"note": checked.note if checked else "",
	}
	return result, checked


def check_tool_calls(provider: str, model: str, unsaved: UnsavedProvider | None) -> CheckedModel:
	"""Call the model without retries; the cost counts towards budgets. Commits."""
	call = litellm.build_call_arguments(provider, model, {"max_tokens": ANSWER_TOKENS}, False, unsaved)
	quick = replace(call, fixed={**call.fixed, "timeout": TIMEOUT_S}, is_check=True)
	reply = complete_within_budget(quick.worst_case(PROMPT, [NOTE_TOOL]), lambda: complete(quick))
	speed = reply.usage.output_tokens / reply.took_s
	if reply.calls:
		return CheckedModel(reply, NATIVE, speed, NOTES[NATIVE])
	# Chance does not decide what a weak model is found to do.
	steady = replace(quick, fixed={**quick.fixed, "temperature": 0})
	found = BY_SCHEMA if writes_plan(PlanningModel(steady)) else NONE
	return CheckedModel(reply, found, speed, f"{NOTES[found]}{describe_prompt(reply)}")


def writes_plan(planner: PlanningModel) -> bool:
	try:
		plan = complete_within_budget(planner.worst_case(PROMPT, [NOTE_TOOL]), lambda: complete(planner))
	except ModelError:
		return False
	return any(each.name == NOTE_TOOL.name for each in plan.calls)


def complete(model: litellm.ModelCall | PlanningModel) -> Coroutine[Any, Any, ModelReply]:
	return model.complete(PROMPT, [NOTE_TOOL], ignore_text)


def describe_prompt(reply: ModelReply) -> str:
	"""Whether the server drops the definitions of tools: it counts fewer prompt tokens than they take."""
	if hides_tools([NOTE_TOOL], reply.usage.input_tokens):
		return f" Its server counted {reply.usage.input_tokens} tokens: it does not show tools to the model."
	return ""


def store_findings(name: str, checked: CheckedModel) -> None:
	"""Store the findings. A model that ignores tools gets the planner, and asks before it writes."""
	values = {
		"tool_calls": checked.tool_calls,
		"tokens_per_second": round(checked.tokens_per_second, 1),
		"checked_at": now(),
	}
	if checked.tool_calls != NATIVE and not frappe.db.get_value("AI Model", name, "without_tool_calls"):
		values |= {"without_tool_calls": 1, "ask_before_writes": 1}
	update_cached_row("AI Model", name, values)
	frappe.db.commit()
