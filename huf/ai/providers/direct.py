"""Makes the one call that a front end wants made, without any model: {"tool", "arguments"} as JSON is the prompt.

It is a run like any other: the same checks, the same record, and it waits where the call has to be allowed.
"""

import json
from collections.abc import Callable

from huf.ai.core.costs import WorstCase
from huf.ai.core.types import DIRECT, CallRequest, ModelReply, Outcome, Tool
from huf.ai.providers.answers import new_id
from huf.ai.providers.turns import drive


async def run(
	agent, enhanced_prompt: str, provider: str | None, model: str, context: dict | None = None
) -> Outcome:
	async def ask(messages: list[dict], tools: list[Tool], on_text: Callable[[str], None]) -> ModelReply:
		given = [each["content"] for each in messages if each["role"] == "tool"]
		if given:
			return ModelReply(given[-1])
		wanted = json.loads(enhanced_prompt)
		return ModelReply("", (CallRequest(new_id(), wanted["tool"], json.dumps(wanted["arguments"])),))

	ask.worst_case = lambda messages, tools, counted: WorstCase(DIRECT)
	ask.room = lambda tools: None
	return await drive(agent, enhanced_prompt, ask, context or {})


def write_prompt(tool: str, arguments: dict) -> str:
	return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)
