"""Reads a run's journal and the messages that began the run, for the worker that resumes it.

Earlier messages of the conversation are not copied into each record. A reference says which they are.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import frappe
from frappe import _

from huf.ai.core.errors import UsageError
from huf.ai.core.types import (
	ANSWER_TOOL,
	Call,
	CallRequest,
	CallStatus,
	ModelReply,
	ToolResult,
	Usage,
)
from huf.ai.storage.history import History
from huf.ai.storage.message_rows import read_message_rows, sort_by_run, to_model_messages

STEP_CALL_TYPE = "agent"
"""`call_type` of the model call of a step. A mail's runs have other types for theirs."""
SUMMARY_CALL_TYPE = "summary"
"""`call_type` of the model call that summarizes the conversation before the first step."""
UNKNOWN_OUTCOME = json.dumps(
	{
		"error": "The worker ended while this call was under way, so it is not known whether it was "
		"carried out. It was not repeated. Find out before you try again.",
		"type": "UnknownOutcome",
	}
)


@dataclass(frozen=True)
class RecordedRun:
	"""Model replies by step, tool calls by (step, position), and the steps whose messages are already
	written.

	`seconds`: duration of all model and tool calls. `spent`: usage of summaries and of
	calls that failed.
	"""

	replies: dict[int, ModelReply] = field(default_factory=dict)
	calls: dict[tuple[int, int], Any] = field(default_factory=dict)
	steps_in_conversation: frozenset[int] = frozenset()
	seconds: float = 0.0
	spent: Usage = Usage()

	@property
	def text(self) -> str:
		"""The model's last text, including text beside tool calls."""
		return next((reply.text for _, reply in sorted(self.replies.items(), reverse=True) if reply.text), "")

	@property
	def sent_back(self) -> set[int]:
		"""The steps whose answers went back to the model, so that the run went on."""
		by_tool = {
			row.step
			for row in self.calls.values()
			if row.tool == ANSWER_TOOL and row.status == CallStatus.SUCCESS.value
		}
		answered = {step for step, reply in self.replies.items() if not reply.calls} | by_tool
		return {step for step in answered if step + 1 in self.replies}

	@property
	def usage(self) -> Usage:
		return sum((reply.usage for reply in self.replies.values()), self.spent)

	def tool_result(self, step: int, call: Call) -> ToolResult | None:
		"""The recorded result of a call; None if the call is not recorded."""
		row = self.calls.get((step, call.position))
		if row is None:
			return None
		status = CallStatus(row.status)
		if status in (CallStatus.STARTED, CallStatus.UNKNOWN):
			return ToolResult(call, CallStatus.UNKNOWN, row.result or UNKNOWN_OUTCOME)
		return ToolResult(call, status, row.result or "", row.duration_ms)


def read_recorded(run: str) -> RecordedRun:
	model_calls = frappe.get_all(
		"Agent LLM Call",
		filters={"run": run, "status": ["in", ["Success", "Failed"]]},
		fields=[
			"status",
			"step",
			"call_type",
			"model",
			"corrected",
			"response",
			"reasoning",
			"finish_reason",
			"input_tokens",
			"output_tokens",
			"cached_tokens",
			"cost",
			"cost_known",
			"duration_ms",
		],
		order_by="step asc",
	)
	tool_calls = frappe.get_all(
		"Agent Tool Call",
		filters={"run": run},
		fields=["name", "step", "position", "tool", "effect", "arguments", "status", "result", "duration_ms"],
		order_by="step asc, position asc",
	)
	steps = frappe.get_all(
		"Agent Message", {"run": run, "kind": "Tool Result"}, pluck="step", order_by="sequence asc"
	)
	answered = [row for row in model_calls if row.status == "Success"]
	replies = {row.step: parse_reply(row) for row in answered if row.call_type != SUMMARY_CALL_TYPE}
	spent = [row for row in model_calls if row.status == "Failed" or row.call_type == SUMMARY_CALL_TYPE]
	return RecordedRun(
		replies,
		{(row.step, row.position): row for row in tool_calls},
		frozenset(steps),
		sum(row.duration_ms or 0 for row in [*answered, *tool_calls]) / 1000,
		sum((parse_usage(row) for row in spent if row.input_tokens), Usage()),
	)


def read_text_of_step(run: str, step: int) -> str:
	"""The model's text beside the calls of a step."""
	filters = {"run": run, "step": step, "call_type": ["!=", SUMMARY_CALL_TYPE], "status": "Success"}
	response = frappe.db.get_value("Agent LLM Call", filters, "response")
	return (json.loads(response).get("content") or "") if response else ""


def parse_reply(row) -> ModelReply:
	"""The ModelReply of an Agent LLM Call row; an empty one if retention has blanked it."""
	message = json.loads(row.response or "{}")
	reasons = message.get("reasons") or {}
	calls = tuple(
		CallRequest(
			call["id"], call["function"]["name"], call["function"]["arguments"], reasons.get(call["id"], "")
		)
		for call in message.get("tool_calls") or ()
	)
	return ModelReply(
		message.get("content") or "",
		calls,
		parse_usage(row),
		row.finish_reason or "stop",
		row.model,
		corrected=bool(row.corrected),
		reasoning=row.reasoning or "",
	)


def parse_usage(row) -> Usage:
	cost = row.cost if row.cost_known else None
	return Usage(row.input_tokens, row.output_tokens, row.cached_tokens, cost)


def to_usage_fields(usage: Usage) -> dict:
	"""Fields of an Agent LLM Call row, from which `parse_usage` makes the usage again."""
	return {
		"input_tokens": usage.input_tokens,
		"output_tokens": usage.output_tokens,
		"cached_tokens": usage.cached_tokens,
		"cost": usage.cost or 0,
		"cost_known": int(usage.cost is not None),
	}


@dataclass(frozen=True)
class Opening:
	"""`messages` in OpenAI's format, and as they are `stored`. `is_long`: a summary is due. `origins`: of
	outside content in the system message.

	`stored` is a list of messages, or {messages, earlier}: the latter refers to messages that go before the
	last one. Only this module makes that form, so that no message from outside can be a reference.
	"""

	messages: list[dict]
	stored: list[dict] | dict
	is_long: bool = False
	origins: tuple[str, ...] = ()


def open_with_history(
	messages: list[dict], conversation: str, past: History, without_runs: Sequence[str]
) -> Opening:
	"""The opening of a run with that history of its conversation, none of which is of `without_runs`."""
	if not past.messages:
		return Opening(messages, messages, past.is_long)
	first, last = min(past.sequences), max(past.sequences)
	earlier = {"conversation": conversation, "first": first, "last": last, "count": len(past.sequences)}
	earlier |= {"without_runs": [*without_runs], "by_run": True}
	stored = {"messages": messages, "earlier": earlier}
	return Opening([*messages[:-1], *past.messages, messages[-1]], stored, past.is_long)


def read_opening(stored: str | None, is_exact: bool = False) -> list[dict]:
	"""The messages of an Agent Run's field `opening`, without those that were deleted or blanked since.

	Raises UsageError if there are such and `is_exact`.
	"""
	opening = json.loads(stored or "[]")
	if isinstance(opening, list):
		return opening
	*before, prompt = opening["messages"]
	return [*before, *read_earlier(**opening["earlier"], is_exact=is_exact), prompt]


def require_opening(run: str, stored: str | None) -> None:
	"""Raises UsageError for an ended run without an opening."""
	if not stored:
		raise UsageError(
			_(
				"Nothing is stored of what run {0} read: it ended before it began, or the retention "
				"policy has blanked it."
			).format(run)
		)


def read_earlier(
	conversation: str,
	first: int,
	last: int,
	count: int,
	without_runs: list[str],
	is_exact: bool,
	by_run: bool = False,
) -> list[dict]:
	"""Messages `first` to `last` of a conversation in OpenAI's format. `is_exact`: raises UsageError if one
	is missing. `by_run` is false in records of earlier versions, whose messages are in the order of storage.
	"""
	found = read_message_rows(conversation, first - 1, without_runs, "sequence asc", last - first + 1)
	rows = [row for row in found if row.sequence <= last and row.content is not None]
	if is_exact and len(rows) != count:
		raise UsageError(_("Earlier messages of the conversation of this run are no longer stored."))
	return to_model_messages(sort_by_run(rows) if by_run else rows, with_files=True)
