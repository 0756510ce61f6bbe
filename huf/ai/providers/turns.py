"""What every provider shares: an SDK agent, a prompt and a way to ask become a run of the one loop."""

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from huf.ai.core.arguments import parse_arguments
from huf.ai.core.attachments import NO_FILES, MessageFiles
from huf.ai.core.errors import ToolError
from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.types import Ask, Effect, Escalate, Outcome, Tool
from huf.ai.loop.engine import run_loop
from huf.ai.loop.guards import StepCap
from huf.ai.providers.masking import Masker, masked, read_patterns

DEFAULT_STEPS = 10


async def drive(
	agent, prompt: str, ask: Ask, context: dict[str, Any], escalate: Escalate = lambda down: None
) -> Outcome:
	"""Run the loop for an SDK agent; `climb` as in `run_loop`.

	`context` may hold: messages (what the model is told first; else instructions and prompt), guards, journal, emit,
	clear. Without them nothing is kept.
	"""
	return await run_loop(
		context.get("messages") or opening(agent.instructions, (), prompt),
		[loop_tool(tool) for tool in agent.tools],
		shielded(ask, context.get("agent_name")),
		guards=context.get("guards", (StepCap(DEFAULT_STEPS),)),
		journal=context.get("journal"),
		emit=context.get("emit", lambda kind, data: None),
		clear=context.get("clear"),
		escalate=lambda down: (better := escalate(down)) and shielded(better, context.get("agent_name")),
	)


def shielded(ask: Ask, agent_name: str | None) -> Ask:
	"""The model behind a mask, where the agent's record asks for it."""
	doc = find_cached("Agent", agent_name)
	if not doc or not doc.mask_personal_data:
		return ask
	return masked(ask, Masker(read_patterns(get_settings().mask_patterns)))


def opening(
	instructions: str | None, history: Iterable[dict], prompt: str, message_files: MessageFiles = NO_FILES
) -> list[dict]:
	"""What a model is told first, in OpenAI's form; pictures by the names of their Files."""
	system = [{"role": "system", "content": instructions}] if instructions else []
	return [*system, *history, message_files.to_message(prompt)]


def loop_tool(tool) -> Tool:
	"""An SDK FunctionTool as the loop takes it; one without an effect counts as reaching outside."""
	return Tool(
		tool.name,
		tool.description,
		tool.params_json_schema,
		getattr(tool, "effect", Effect.EXTERNAL),
		getattr(tool, "start", None) or invoker(tool),
		getattr(tool, "timeout", None),
		getattr(tool, "max_calls", 0),
		getattr(tool, "concurrent", False),
		getattr(tool, "needs_approval", False),
	)


def invoker(tool) -> Callable[[dict], Awaitable[Any]]:
	async def invoke(arguments: dict) -> Any:
		return await tool.on_invoke_tool(None, json.dumps(arguments, ensure_ascii=False))

	return invoke


def _find_tool(agent, tool_name: str):
	"""The agent's tool of that name, or None."""
	return next((tool for tool in agent.tools if tool.name == tool_name), None)


async def _execute_tool_call(tool, args_json: str) -> Any:
	"""Call an SDK tool with a model's raw arguments; gives its result as text.

	Raises ToolError where they cannot be read, and whatever the tool raises.
	"""
	if tool is None:
		raise ToolError("There is no such tool.")
	return await invoker(tool)(parse_arguments(args_json))
