"""From what the model asked to what is done: find the tool, read and check the arguments, call it.

`prepare` sorts and never calls; `perform` calls and never decides.
"""

import time
from asyncio import CancelledError
from collections.abc import Iterable, Mapping
from typing import Any

from huf.ai.core.arguments import check_arguments, mask_secrets, parse_arguments, to_text
from huf.ai.core.errors import RunPaused, RunStopped, ToolError, ToolTimeout
from huf.ai.core.types import Call, CallRequest, CallStatus, Effect, Tool, ToolResult
from huf.ai.loop.guards import Guard, Progress
from huf.ai.loop.waiting import Finished, watch

MAX_KEPT = 8_000_000
"""Bytes of a result that are put on record: with its quotes escaped, a row must fit into what MariaDB takes at once."""


def prepare(requests: tuple[CallRequest, ...], tools: Mapping[str, Tool]) -> list[Call]:
	return [prepare_one(request, position, tools) for position, request in enumerate(requests)]


def prepare_one(request: CallRequest, position: int, tools: Mapping[str, Tool]) -> Call:
	tool = tools.get(request.name)
	if tool is None:
		names = ", ".join(sorted(tools)) or "none"
		return Call(request, position, error=f"There is no tool {request.name!r}. The tools are: {names}.")
	try:
		arguments = parse_arguments(request.arguments)
		check_arguments(arguments, tool.parameters)
	except ToolError as error:
		return Call(request, position, tool, error=str(error))
	return Call(request, position, tool, arguments)


async def perform(call: Call, guards: Iterable[Guard] = (), step: int = 0) -> ToolResult:
	"""Run a prepared call. Whatever goes wrong in a tool becomes an observation; it never ends the run.

	A tool that takes too long is left behind, and so is one during which a guard speaks up. What it has done outside is
	unknown then; what it has changed here is its caller's to take back. Raises RunPaused.
	"""
	if call.error:
		return ToolResult(call, CallStatus.REFUSED, to_text({"error": call.error}))
	started, stopped = time.monotonic(), False
	# A guard may end the read transaction to see what others did. That would end a write tool's own in the middle.
	progress = Progress(step, waiting=call.effect is not Effect.WRITE)
	try:
		finished = await watch(call.tool.run(call.arguments), guards, progress, call.tool.timeout)
		status, text = outcome_of(finished)
	except (ToolTimeout, RunStopped) as error:
		stopped = isinstance(error, RunStopped)
		status, text = abandoned(call), to_text(fault(error))
	return ToolResult(call, status, text, round((time.monotonic() - started) * 1000), stopped)


def outcome_of(finished: Finished) -> tuple[CallStatus, str]:
	"""What a finished tool returned or raised, as text fit for the record. Raises RunPaused."""
	try:
		return CallStatus.SUCCESS, recordable(finished.result())
	except RunPaused:
		raise
	except (Exception, CancelledError) as error:  # the boundary around a tool's call
		return CallStatus.FAILED, recordable(fault(error))


def recordable(result: Any) -> str:
	"""Text of a size and of characters that every database takes, without secrets."""
	text = to_text(result)
	coded = text.encode("utf-8", "replace")
	kept = coded[:MAX_KEPT].decode("utf-8", "ignore")
	if len(coded) > MAX_KEPT:
		kept += f"\n[Cut off: this is the beginning of {len(text):,} characters.]"
	return mask_secrets(kept)


def fault(error: BaseException) -> dict:
	return {"error": str(error) or type(error).__name__, "type": type(error).__name__}


def abandoned(call: Call) -> CallStatus:
	"""Of a call that was left behind: what reaches outside may have arrived all the same."""
	return CallStatus.UNKNOWN if call.effect is Effect.EXTERNAL else CallStatus.FAILED
