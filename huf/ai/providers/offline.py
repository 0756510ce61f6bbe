"""A deterministic provider for sites where no model is configured.

`plan` takes the place of a model: it reads the request's words, the tools' names and schemas, calls tools and
words an answer from their results. It uses no network and no chance, never claims to be a model, and never
guesses at a change that cannot be undone.
"""

import json
import re
from collections.abc import Callable
from datetime import date

from huf.ai.core.costs import WorstCase
from huf.ai.core.types import OFFLINE, CallRequest, ModelReply, Outcome, Tool
from huf.ai.providers.offline_planner.answers import describe_tools
from huf.ai.providers.offline_planner.conversation import Conversation
from huf.ai.providers.offline_planner.intents import Call
from huf.ai.providers.offline_planner.tools import Toolbox
from huf.ai.providers.turns import drive

PIECE = re.compile(r"\S+\s*")
"""What is streamed at a time: a word."""


async def run(
	agent, enhanced_prompt: str, provider: str | None, model: str, context: dict | None = None
) -> Outcome:
	"""Run an SDK agent without a model, by the same loop, at no cost."""
	specs = [spec_of(tool) for tool in agent.tools]

	async def ask(messages: list[dict], tools: list[Tool], on_text: Callable[[str], None]) -> ModelReply:
		message = plan(messages, specs)
		for piece in PIECE.findall(message["content"] or ""):
			on_text(piece)
		requests = [(call["id"], call["function"]) for call in message["tool_calls"]]
		calls = tuple(CallRequest(id, function["name"], function["arguments"]) for id, function in requests)
		return ModelReply(message["content"] or "", calls)

	ask.worst_case = lambda messages, tools, counted: WorstCase(OFFLINE)
	# It reads a result whole or not at all, and has no window.
	ask.room = lambda tools: None
	return await drive(agent, enhanced_prompt, ask, context or {})


def spec_of(tool) -> dict:
	"""An SDK tool as `plan` reads it, with what its record says beside the schema."""
	known = {
		"type": getattr(tool, "types", ""),
		"doctype": getattr(tool, "reference_doctype", None),
		"effect": tool.effect.value if hasattr(tool, "effect") else "",
	}
	function = {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
	return {"type": "function", "function": {**function, "x-huf": known}}


def plan(messages: list[dict], tools: list[dict], *, today: date | None = None) -> dict:
	"""The next assistant message, in OpenAI's form: {role, content (str or None), tool_calls (may be empty)}.

	`tools` are function specs; beside its name one may carry "x-huf": {"type", "doctype", "effect"}. The same
	input gives the same output, apart from words like "tomorrow" for which `today` stands in.
	"""
	intent = Conversation(messages, Toolbox.read(tools), today or date.today()).next_intent()
	if not isinstance(intent, Call):
		return {"role": "assistant", "content": intent.text, "tool_calls": []}
	asked = sum(len(message.get("tool_calls") or ()) for message in messages)
	calls = [
		{
			"id": f"call_{number}",
			"type": "function",
			"function": {"name": intent.tool.name, "arguments": json.dumps(arguments, ensure_ascii=False)},
		}
		for number, arguments in enumerate(intent.arguments, asked + 1)
	]
	return {"role": "assistant", "content": None, "tool_calls": calls}


def describe_abilities(tools: list[dict], language: str = "en") -> str:
	"""What an agent with these tools can do without a model, as markdown. Languages: en, de, es, cs."""
	return describe_tools(Toolbox.read(tools), language)
