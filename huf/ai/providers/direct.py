"""Makes one tool call for a client, without a model. The prompt is JSON: {"tool", "arguments"}.

The call is a normal run: same checks, same records, and it waits if the call needs approval.
"""

import json
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
	context: RunContext,
) -> Outcome:
	return await run_sdk_agent(agent, enhanced_prompt, DirectCall(enhanced_prompt), context)


class DirectCall(FreeModel):
	"""Stands in for a model: requests the call, then returns its result as the answer."""

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
