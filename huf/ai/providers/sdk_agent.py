"""Runs an Agents SDK agent through the loop, with a model of any provider."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from huf.ai.core.arguments import parse_arguments
from huf.ai.core.attachments import opening_messages
from huf.ai.core.errors import ToolError
from huf.ai.core.events import Emit, EventKind
from huf.ai.core.types import Effect, Outcome, Tool
from huf.ai.loop.engine import run_loop
from huf.ai.loop.model import Escalate, Model, no_larger_model
from huf.ai.loop.run_context import RunContext
from huf.ai.providers.masking import MaskedModels

TEXT_KINDS = (EventKind.TEXT_DELTA, EventKind.REASONING_DELTA, EventKind.TEXT_DONE)


async def run_sdk_agent(
	agent: Any,
	prompt: str,
	model: Model,
	context: RunContext,
	escalate: Escalate = no_larger_model,
) -> Outcome:
	"""Run an SDK agent with a model until it ends. `escalate`: see `run_loop`."""
	tools = [to_loop_tool(tool) for tool in agent.tools]
	masks = MaskedModels(context.agent_name)

	def escalate_masked(is_unreachable: bool) -> Model | None:
		larger = escalate(is_unreachable)
		return larger and masks.mask(larger)

	emit = HeldText(context.emit) if context.review else context.emit
	try:
		return await run_loop(
			context.messages or opening_messages(agent.instructions, (), prompt),
			tools,
			masks.mask(model),
			guards=context.guards,
			journal=context.journal,
			emit=emit,
			approve=context.approve,
			escalate=escalate_masked,
			review=context.review,
		)
	finally:
		if isinstance(emit, HeldText):
			emit.release()


class HeldText:
	"""An `Emit` that holds back a step's text until the next other event or `release`.

	Text that is voided meanwhile is never emitted.
	"""

	def __init__(self, emit: Emit):
		self.emit = emit
		self.held: list[tuple[EventKind, dict[str, Any]]] = []

	def __call__(self, kind: EventKind, data: dict[str, Any]) -> None:
		if kind in TEXT_KINDS:
			self.held.append((kind, data))
		elif kind is EventKind.TEXT_VOID and self.held:
			self.held = []
		else:
			self.release()
			self.emit(kind, data)

	def release(self) -> None:
		held, self.held = self.held, []
		for kind, data in held:
			self.emit(kind, data)


def to_loop_tool(tool: Any) -> Tool:
	"""Convert an SDK FunctionTool to a Tool of the loop. Without an effect it counts as external."""
	return Tool(
		tool.name,
		tool.description,
		tool.params_json_schema,
		getattr(tool, "effect", Effect.EXTERNAL),
		getattr(tool, "start", None) or invoker(tool),
		getattr(tool, "timeout", None),
		getattr(tool, "max_calls", 0),
		getattr(tool, "run_concurrently", None),
		getattr(tool, "needs_approval", False),
		getattr(tool, "creates", False),
		getattr(tool, "origin", None),
	)


def invoker(tool: Any) -> Callable[[dict], Awaitable[Any]]:
	async def invoke(arguments: dict) -> Any:
		return await tool.on_invoke_tool(None, json.dumps(arguments, ensure_ascii=False))

	return invoke


def _find_tool(agent: Any, tool_name: str) -> Any:
	"""The agent's tool of that name, or None."""
	return next((tool for tool in agent.tools if tool.name == tool_name), None)


async def _execute_tool_call(tool: Any, args_json: str) -> Any:
	"""Call an SDK tool with a model's raw arguments. Returns its result as text.

	Raises ToolError if the arguments cannot be parsed, and whatever the tool raises.
	"""
	if tool is None:
		raise ToolError("There is no such tool.")
	return await invoker(tool)(parse_arguments(args_json))
