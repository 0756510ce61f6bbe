"""Tool use for models without tool calls: the model writes a plan as JSON, which becomes a tool call, or
answers.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex

from huf.ai.core.arguments import FENCE, parse_arguments
from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import ToolError
from huf.ai.core.json_text import read_json_or_text
from huf.ai.core.types import CallRequest, Effect, ModelReply, Tool
from huf.ai.loop.context_window import Room
from huf.ai.loop.model import OnText, SchemaModel
from huf.ai.loop.plan_prompts import (
	FORM,
	SHORT_FORM,
	add_text,
	describe_choice,
	list_calls,
	to_conversation,
)

NO_TOOL = "none"
SMALL_WINDOW = 8_192
"""Tokens: up to this, tools are described briefly."""
MAX_REASON_CHARS = 200
CUT_REASONS = ("length", "repetition")
NAMED_TOOL = re.compile(r'"tool"\s*:\s*"([^"]+)"')


@dataclass(frozen=True)
class PlanningModel:
	"""Adapts a model without tool calls: in each step it plans, and answers if it needs no tool."""

	model: SchemaModel
	# Its usage counts two calls, which are worded differently from the loop's messages.
	reports_prompt_tokens: bool = False
	offered: list[Tool] = field(default_factory=list, compare=False)
	"""The tools of the last plan. What is asked without tools begins as plans do: a server has read that."""

	@property
	def retries(self) -> int:
		return self.model.retries

	@property
	def is_local(self) -> bool:
		return self.model.is_local

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		if not tools:
			return await self.model.complete(self.to_plain(messages), tools, on_text, max_tokens)
		half = None if max_tokens is None else max(1, max_tokens // 2)
		is_small = self.is_small()
		self.offered[:] = shorten_tools(tools) if is_small else tools
		schema = plan_schema(self.offered, with_reason=not is_small)
		plan = await self.model.complete_json(self.to_plan(messages, self.offered), schema, half)
		request = read_plan(plan.text)
		if request and repeats_last(request, messages):
			# Small models plan again what they have just done, instead of none.
			request = None
		elif request or plan.finish_reason in CUT_REASONS:
			calls, reason = ((request,), "tool_calls") if request else ((), plan.finish_reason)
			original = plan.original_text or plan.text
			return replace(plan, text="", calls=calls, finish_reason=reason, original_text=original)
		answer = await self.model.complete(self.to_answer(messages, self.offered), [], on_text, half)
		return replace(answer, usage=plan.usage + answer.usage)

	def worst_case(
		self, messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)
	) -> WorstCase | None:
		asked = self.to_answer(messages, tools) if tools else self.to_plain(messages)
		answer = self.model.worst_case(asked, [])
		plan = self.model.worst_case(self.to_plan(messages, tools), []) if tools else None
		if answer is None or plan is None:
			return answer
		return replace(
			answer,
			input_tokens=plan.input_tokens + answer.input_tokens,
			output_tokens=plan.output_tokens + answer.output_tokens,
		)

	def room(self, tools: list[Tool]) -> Room | None:
		return self.model.room(tools)

	def is_small(self) -> bool:
		room = self.model.room([])
		return room is not None and room.window <= SMALL_WINDOW

	def to_plan(self, messages: list[dict], tools: Sequence[Tool]) -> list[dict]:
		return add_text(self.to_answer(messages, tools), SHORT_FORM if self.is_small() else FORM)

	def to_answer(self, messages: list[dict], tools: Sequence[Tool]) -> list[dict]:
		return to_conversation(messages, describe_choice(tools, self.is_small()))

	def to_plain(self, messages: list[dict]) -> list[dict]:
		"""The messages, with tool calls as text if there are any: this model cannot read them."""
		if not self.offered and all(each["role"] != "tool" for each in messages):
			return messages
		return self.to_answer(messages, self.offered)


def shorten_tools(tools: Sequence[Tool]) -> list[Tool]:
	"""Tools for a small window: with their required arguments, and optional texts of tools that read.

	Small models fill others with invented values: calls fail, or `start` skips what there is to find.
	"""
	return [replace(each, parameters=shorten_parameters(each)) for each in tools]


def shorten_parameters(tool: Tool) -> dict:
	is_read = tool.effect is Effect.READ
	properties = tool.parameters.get("properties", {})
	required = tool.parameters.get("required") or (() if is_read else properties)
	kept = {
		name: each
		for name, each in properties.items()
		if name in required or (is_read and each.get("type") == "string")
	}
	return {**tool.parameters, "properties": kept}


def plan_schema(tools: Sequence[Tool], with_reason: bool = True) -> dict:
	"""The JSON schema of a plan: one of the tools with its arguments; or none. A reason may be given."""
	arguments = {each.name: {"arguments": each.parameters} for each in tools}
	reason = {"reason": {"type": "string", "maxLength": MAX_REASON_CHARS}} if with_reason else {}
	calls = [plan_of(name, {**reason, **own}, list(own)) for name, own in arguments.items()]
	return {"anyOf": [*calls, plan_of(NO_TOOL, {}, [])]}


def plan_of(tool: str, fields: dict, required: list[str]) -> dict:
	return {
		"type": "object",
		"properties": {"tool": {"const": tool}, **fields},
		"required": ["tool", *required],
		"additionalProperties": False,
	}


def repeats_last(request: CallRequest, messages: list[dict]) -> bool:
	"""Whether a plan asks for the call that was made last, and that succeeded."""
	last, calls = messages[-1], list_calls(messages)
	if last["role"] != "tool" or not (call := calls.get(last["tool_call_id"])):
		return False
	result = read_json_or_text(last["content"])
	if isinstance(result, dict) and "error" in result:
		return False
	is_same = read_json_or_text(request.arguments) == read_json_or_text(call["arguments"])
	return request.name == call["name"] and is_same


def read_plan(text: str) -> CallRequest | None:
	"""The call of a plan; None if it needs no tool, or is not a plan.

	The loop checks it like any call, and the model sees errors with its next plan.
	"""
	text = FENCE.sub(r"\1", text.strip())
	written = text[text.index("{") : text.rfind("}") + 1 or None] if "{" in text else ""
	try:
		plan = parse_arguments(written)
	except ToolError:
		named = NAMED_TOOL.search(written)
		return make_request(named[1], written, "") if named else None
	tool = plan.get("tool")
	if not isinstance(tool, str) or tool.strip().lower() in ("", NO_TOOL):
		return None
	arguments, reason = plan.get("arguments") or {}, plan.get("reason")
	text = arguments if isinstance(arguments, str) else json.dumps(arguments)
	return make_request(tool.strip(), text, reason if isinstance(reason, str) else "")


def make_request(tool: str, arguments: str, reason: str) -> CallRequest | None:
	return None if tool.lower() == NO_TOOL else CallRequest(token_hex(5)[:9], tool, arguments, reason)
