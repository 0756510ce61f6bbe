"""Tool use for models without tool calls: the model writes a plan as JSON, which becomes a tool call, or
answers.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any

from huf.ai.core.arguments import parse_arguments, strip_fence
from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import ModelError, ToolError
from huf.ai.core.json_text import read_json_or_text
from huf.ai.core.types import CallRequest, Effect, ModelReply, Tool
from huf.ai.loop.model import OnText, SchemaModel, WrappedModel
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
ORDER = "order_by"
"""The argument of lists that small models fill with fields that do not exist."""
NAMED_TOOL = re.compile(r'"tool"\s*:\s*"([^"]+)"')


@dataclass
class PlanningModel(WrappedModel):
	"""Adapts a model without tool calls: in each step it plans, and answers if it needs no tool."""

	model: SchemaModel
	# Its usage counts two calls, which are worded differently from the loop's messages.
	reports_prompt_tokens: bool = False
	offered: list[Tool] = field(default_factory=list)
	"""The tools of the last plan. Calls without tools begin like plans, for the server's prompt cache."""
	is_last_plan: bool = False
	"""Whether the last plan declared itself the last: only plans for a small window do."""

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		if not tools:
			return await self.model.complete(self.to_plain(messages), tools, on_text, max_tokens)
		half = None if max_tokens is None else max(1, max_tokens // 2)
		self.offered = shorten_tools(tools) if self.is_small() else tools
		plan = None
		if not (self.is_last_plan and find_last_call(messages)):
			plan = await self.plan(messages, half)
			if plan.calls or plan.finish_reason in CUT_REASONS:
				return plan
		try:
			answer = await self.model.complete(self.to_answer(messages, self.offered), [], on_text, half)
		except ModelError as error:
			if plan and error.usage is not None:
				error.usage = plan.usage + error.usage
			raise
		return replace(answer, usage=plan.usage + answer.usage) if plan else answer

	async def plan(self, messages: list[dict], max_tokens: int | None) -> ModelReply:
		"""The plan as a reply: with one call, or with none if the model is to answer."""
		schema = plan_schema(self.offered, self.is_small())
		reply = await self.model.complete_json(self.to_plan(messages, self.offered), schema, max_tokens)
		plan = parse_plan(reply.text)
		self.is_last_plan = plan.get("more") is False
		request, finish_reason = make_request(plan), reply.finish_reason
		if request and (request.name, read_json_or_text(request.arguments)) == find_last_call(messages):
			# Small models plan again what they have just done, instead of none.
			request, finish_reason = None, "stop"
		elif request:
			finish_reason = "tool_calls"
		return replace(
			reply,
			text="",
			calls=(request,) if request else (),
			finish_reason=finish_reason,
			original_text=reply.original_text or reply.text,
		)

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

	def is_small(self) -> bool:
		room = self.model.room([])
		return room is not None and room.window <= SMALL_WINDOW

	def to_plan(self, messages: list[dict], tools: Sequence[Tool]) -> list[dict]:
		return add_text(self.to_answer(messages, tools), SHORT_FORM if self.is_small() else FORM)

	def to_answer(self, messages: list[dict], tools: Sequence[Tool]) -> list[dict]:
		is_small = self.is_small()
		return to_conversation(messages, describe_choice(tools, is_small), is_small)

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
		if name in required or (is_read and each.get("type") == "string" and name != ORDER)
	}
	return {**tool.parameters, "properties": kept}


def plan_schema(tools: Sequence[Tool], is_small: bool) -> dict:
	"""The JSON schema of a plan: one of the tools with its arguments; or none.

	For a large window it may give a reason. For a small one a read says whether more tools are needed, and a
	tool without arguments is planned without them.
	"""
	definitions: dict = {}
	plans = []
	for each in tools:
		moved, own = move_definitions(each)
		plans.append(plan_of_tool(moved, is_small))
		definitions |= own
	schema: dict = {"anyOf": [*plans, plan_of(NO_TOOL)]}
	return schema | ({"$defs": definitions} if definitions else {})


def move_definitions(tool: Tool) -> tuple[Tool, dict]:
	"""The tool, and the definitions that its parameters refer to, under names of its own: references are
	resolved from the root of the plan's schema.
	"""
	if not tool.parameters.get("$defs"):
		return tool, {}
	text = json.dumps(tool.parameters).replace('"#/$defs/', f'"#/$defs/{tool.name}.')
	parameters = json.loads(text)
	own = {f"{tool.name}.{name}": each for name, each in parameters.pop("$defs").items()}
	return replace(tool, parameters=parameters), own


def plan_of_tool(tool: Tool, is_small: bool) -> dict:
	arguments = {"arguments": tool.parameters}
	if not is_small:
		reason = {"type": "string", "maxLength": MAX_REASON_CHARS}
		return plan_of(tool.name, arguments, optional={"reason": reason})
	required = arguments if tool.parameters.get("properties") else {}
	more = {"more": {"type": "boolean"}} if tool.effect is Effect.READ else {}
	return plan_of(tool.name, {**required, **more})


def plan_of(tool: str, required: dict | None = None, optional: dict | None = None) -> dict:
	required = required or {}
	return {
		"type": "object",
		"properties": {"tool": {"const": tool}, **(optional or {}), **required},
		"required": ["tool", *required],
		"additionalProperties": False,
	}


def find_last_call(messages: list[dict]) -> tuple[str, Any] | None:
	"""Name and arguments of the call whose result is the last message; None without one, or if it failed."""
	last, calls = messages[-1], list_calls(messages)
	if last["role"] != "tool" or not (call := calls.get(last["tool_call_id"])):
		return None
	result = read_json_or_text(last["content"])
	if isinstance(result, dict) and "error" in result:
		return None
	return call["name"], read_json_or_text(call["arguments"])


def parse_plan(text: str) -> dict:
	"""The object of a plan, empty if the text has none. For broken JSON that names a tool: its name, and the
	text as arguments.
	"""
	text = strip_fence(text)
	written = text[text.index("{") : text.rfind("}") + 1 or None] if "{" in text else ""
	try:
		return parse_arguments(cut_to_first_object(written))
	except ToolError:
		named = NAMED_TOOL.search(written)
		return {"tool": named[1], "arguments": written} if named else {}


def cut_to_first_object(text: str) -> str:
	"""The first of several plans. Its result may change the others, so the model plans those again."""
	try:
		return text[: json.JSONDecoder().raw_decode(text)[1]]
	except (ValueError, RecursionError):
		return text


def make_request(plan: dict) -> CallRequest | None:
	"""The call of a plan; None if it needs no tool.

	The loop checks it like any call, and the model sees errors with its next plan.
	"""
	tool = plan.get("tool")
	if not isinstance(tool, str) or tool.strip().lower() in ("", NO_TOOL):
		return None
	arguments, reason = plan.get("arguments") or {}, plan.get("reason")
	text = arguments if isinstance(arguments, str) else json.dumps(arguments)
	return CallRequest(token_hex(5)[:9], tool.strip(), text, reason if isinstance(reason, str) else "")
