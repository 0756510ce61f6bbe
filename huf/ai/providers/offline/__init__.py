"""A deterministic provider for sites where no model is connected.

`plan` replaces the model: it parses simple requests in four languages, calls tools and writes an answer from
their results. It uses neither network nor randomness, never claims to be a model, and asks back instead of
guessing a change.
"""

import json
import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Any

from frappe.utils import now_datetime

from huf.ai.core.attachments import strip_attachments
from huf.ai.core.types import OFFLINE, CallRequest, ModelReply, Outcome, Tool
from huf.ai.loop.model import FreeModel, OnText
from huf.ai.loop.run_context import RunContext
from huf.ai.providers.offline.answers import word_result
from huf.ai.providers.offline.steps import OfflineReply, Planner
from huf.ai.providers.offline.tools import OfflineTool
from huf.ai.providers.sdk_agent import run_sdk_agent

MAX_REQUESTS = 5
"""Of a conversation. Earlier requests are forgotten, even if the last messages are questions and replies."""


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
	return await run_sdk_agent(agent, enhanced_prompt, OfflineModel(agent.tools), context)


class OfflineModel(FreeModel):
	"""Stands in for a model, with the agent's SDK tools."""

	name = OFFLINE

	def __init__(self, sdk_tools: Sequence[Any]):
		self.tools = [read_tool(tool) for tool in sdk_tools]

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		reply = plan(messages, self.tools, now_datetime().date())
		for word in re.findall(r"\S+\s*", reply.text):
			on_text(word)
		return reply


def read_tool(tool: Any) -> OfflineTool:
	"""An SDK tool with what Huf knows about it."""
	doctype = getattr(tool, "reference_doctype", None) or ""
	effect = tool.effect.value if hasattr(tool, "effect") else ""
	kind = getattr(tool, "types", None) or ""
	return OfflineTool(tool.name, tool.description or "", tool.params_json_schema, kind, doctype, effect)


def plan(messages: list[dict], tools: Sequence[OfflineTool], today: date) -> ModelReply:
	"""The answer, or a tool call.

	Args:
		messages: the conversation in OpenAI's format, with at least one user message.
		today: the date that "tomorrow" is relative to.
	"""
	texts = [read_content(message) for message in messages]
	requests = [at for at, message in enumerate(messages) if message["role"] == "user"][-MAX_REQUESTS:]
	planner, question = Planner(tools, today), None
	for at, following in pairwise(requests):
		step, reply = planner.next_step(texts[at], question), texts[following - 1]
		question = step if isinstance(step, OfflineReply) and step.head and step.text == reply else None
	step = planner.next_step(texts[requests[-1]], question)
	results = [texts[at] for at in range(requests[-1], len(messages)) if messages[at]["role"] == "tool"]
	if isinstance(step, OfflineReply):
		return ModelReply(step.text)
	if results:
		return ModelReply(word_result(results[0], step))
	arguments = json.dumps(step.arguments, ensure_ascii=False)
	return ModelReply("", (CallRequest(f"call_{len(messages)}", step.command.tool.name, arguments),))


def read_content(message: dict) -> str:
	"""A message's text, without attached files."""
	content = message.get("content") or ""
	if isinstance(content, str):
		return strip_attachments(content) if message["role"] == "user" else content
	return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
