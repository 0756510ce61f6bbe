"""Makes one tool call that a client asks for, without a model: {"tool", "arguments"} as JSON is the prompt.

It is a run like any other: the same checks, the same record, and it waits where the call needs approval.
"""

import json
from collections.abc import Mapping
from typing import Any

from huf.ai.core.types import DIRECT, CallRequest, ModelReply, Outcome, Tool
from huf.ai.loop.model import FreeModel, OnText
from huf.ai.loop.run_context import RunContext
from huf.ai.providers.answers import new_call_id
from huf.ai.providers.sdk_agent import run_sdk_agent


async def run(
	agent: Any,
	enhanced_prompt: str,
	provider: str | None,
	model: str,
	context: RunContext | Mapping[str, Any] | None = None,
) -> Outcome:
	return await run_sdk_agent(agent, enhanced_prompt, DirectCall(enhanced_prompt), context)


class DirectCall(FreeModel):
	"""Takes the place of a model: asks for the one call, then answers with its result."""

	name = DIRECT

	def __init__(self, prompt: str):
		self.prompt = prompt

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		results = [each["content"] for each in messages if each["role"] == "tool"]
		if results:
			return ModelReply(results[-1])
		call = json.loads(self.prompt)
		return ModelReply("", (CallRequest(new_call_id(), call["tool"], json.dumps(call["arguments"])),))


def write_prompt(tool: str, arguments: dict) -> str:
	return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)
