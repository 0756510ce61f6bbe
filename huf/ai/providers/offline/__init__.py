"""A deterministic provider for sites where no model is connected.

`plan` replaces the model: it parses simple requests in four languages, calls tools and writes an answer from
their results. It uses neither network nor randomness, never claims to be a model, and asks back instead of
guessing a change.
"""

import json
import re
from datetime import date
from typing import Any

from frappe.utils import now_datetime

from huf.ai.core.attachments import strip_attachments
from huf.ai.core.types import OFFLINE, CallRequest, ModelReply, Outcome, Tool
from huf.ai.loop.model import FreeModel, OnText
from huf.ai.loop.run_context import RunContext
from huf.ai.providers.offline.answers import word_result
from huf.ai.providers.offline.steps import PlannedCall, Planner
from huf.ai.providers.offline.tools import read_tools
from huf.ai.providers.sdk_agent import run_sdk_agent


async def run(
	agent: Any,
	enhanced_prompt: str,
	provider: str | None,
	model: str,
	context: RunContext,
) -> Outcome:
	"""Run an SDK agent without a model, through the same loop and free of charge.

	Text is streamed word by word.
	"""
	specs = [spec_of(tool) for tool in agent.tools]
	return await run_sdk_agent(agent, enhanced_prompt, OfflineModel(specs), context)


class OfflineModel(FreeModel):
	"""Stands in for a model, with the tools' specs in the form that `plan` reads."""

	name = OFFLINE

	def __init__(self, specs: list[dict]):
		self.specs = specs

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		message = plan(messages, self.specs, today=now_datetime().date())
		for word in re.findall(r"\S+\s*", message["content"] or ""):
			on_text(word)
		requests = [(call["id"], call["function"]) for call in message["tool_calls"]]
		calls = tuple(CallRequest(id, function["name"], function["arguments"]) for id, function in requests)
		return ModelReply(message["content"] or "", calls)


def spec_of(tool) -> dict:
	"""The function spec of an SDK tool, as `plan` reads it."""
	known = {
		"type": getattr(tool, "types", ""),
		"doctype": getattr(tool, "reference_doctype", None),
		"effect": tool.effect.value if hasattr(tool, "effect") else "",
	}
	function = {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
	return {"type": "function", "function": {**function, "x-huf": known}}


def plan(messages: list[dict], tools: list[dict], *, today: date | None = None) -> dict:
	"""The next assistant message.

	Args:
		messages: the conversation in OpenAI's format, with at least one user message.
		tools: function specs in OpenAI's form; beside its name each has "x-huf": {"type", "doctype",
			"effect"}, the values of its Agent Tool Function.
		today: the date that "tomorrow" is relative to; by default the machine's.

	Returns:
		{"role": "assistant", "content": str or None, "tool_calls": list, which may be empty}.
	"""
	last = max(at for at, message in enumerate(messages) if message["role"] == "user")
	before = [(message["role"], read_content(message)) for message in messages[:last]]
	request = read_content(messages[last])
	step = Planner(read_tools(tools), today or date.today()).next_step(before, request)
	results = [read_content(message) for message in messages[last:] if message["role"] == "tool"]
	if isinstance(step, PlannedCall) and not results:
		function = {"name": step.tool.name, "arguments": json.dumps(step.arguments, ensure_ascii=False)}
		call = {"id": f"call_{len(messages)}", "type": "function", "function": function}
		return {"role": "assistant", "content": None, "tool_calls": [call]}
	text = word_result(results[0], step) if isinstance(step, PlannedCall) else step.text
	return {"role": "assistant", "content": text, "tool_calls": []}


def read_content(message: dict) -> str:
	"""A message's text, without attached files."""
	content = message.get("content") or ""
	if isinstance(content, str):
		return strip_attachments(content) if message["role"] == "user" else content
	return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
