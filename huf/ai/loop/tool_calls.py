"""Prepares the calls that a model requested, and makes them.

`prepare` validates without calling; `perform` calls without deciding.
"""

import time
from asyncio import CancelledError
from collections.abc import Mapping, Sequence
from typing import Any

from huf.ai.core.arguments import check_arguments, mask_secrets, parse_arguments, to_text
from huf.ai.core.errors import RunPaused, RunStopped, ToolError, ToolTimeout
from huf.ai.core.event_loops import Finished
from huf.ai.core.json_text import ResultText
from huf.ai.core.progress import Listen, listening
from huf.ai.core.types import Call, CallRequest, CallStatus, Effect, Tool, ToolResult
from huf.ai.loop.guards import Guard, Progress
from huf.ai.loop.waiting import watch

MAX_RECORDED_BYTES = 8_000_000
"""With quotes escaped, a journal row must fit into MariaDB's max_allowed_packet."""


def prepare(requests: Sequence[CallRequest], tools: Mapping[str, Tool]) -> list[Call]:
	"""The calls of one reply in order, each with its validated arguments or an error."""
	return [prepare_one(request, position, tools) for position, request in enumerate(requests)]


def prepare_one(request: CallRequest, position: int, tools: Mapping[str, Tool]) -> Call:
	"""The call with its tool and validated arguments, or with the error that prevents it."""
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


async def perform(
	call: Call, guards: Sequence[Guard] = (), step: int = 0, listen: Listen | None = None
) -> ToolResult:
	"""Make a prepared call. A tool's error becomes its result and never ends the run. Raises RunPaused.

	A tool that takes too long is abandoned, as is one during which a guard stops the run. Then its effects
	outside are unknown, and what it changed here is rolled back by the caller. `listen` gets the progress
	that it reports.
	"""
	if call.error or call.tool is None or call.arguments is None:
		return ToolResult(call, CallStatus.REFUSED, to_text({"error": call.error}))
	started, stopped = time.monotonic(), False
	# A guard may end the read transaction to see other workers' changes. That must not interrupt a write
	# tool's transaction.
	progress = Progress(step, waiting=call.effect is not Effect.WRITE)
	run = (call.is_concurrent and call.tool.run_concurrently) or call.tool.run
	with listening(listen) as reported:
		try:
			finished = await watch(run(call.arguments), guards, progress, call.tool.timeout, reported)
			status, text, origins = read_finished(finished)
		except (ToolTimeout, RunStopped) as error:
			stopped = isinstance(error, RunStopped)
			status, text, origins = status_of_abandoned(call), to_text(describe_error(error)), ()
	if call.tool.origin and call.tool.origin not in origins:
		origins = (*origins, call.tool.origin)
	duration_ms = round((time.monotonic() - started) * 1000)
	return ToolResult(call, status, text, duration_ms, stopped, origins=origins)


def read_finished(finished: Finished) -> tuple[CallStatus, str, tuple[str, ...]]:
	"""The result for what a tool returned or raised. Raises RunPaused."""
	try:
		result = finished.result()
		origins = result.origins if isinstance(result, ResultText) else ()
		return CallStatus.SUCCESS, to_record(result), origins
	except RunPaused:
		raise
	except (Exception, CancelledError) as error:  # the boundary around a tool's call
		return CallStatus.FAILED, to_record(describe_error(error)), ()


def to_record(result: Any) -> str:
	"""A result as text without secrets, limited to a size and characters that every database accepts."""
	text = to_text(result)
	encoded = text.encode("utf-8", "replace")
	recorded = encoded[:MAX_RECORDED_BYTES].decode("utf-8", "ignore")
	if len(encoded) > MAX_RECORDED_BYTES:
		recorded += f"\n[Truncated: the beginning of {len(text):,} characters.]"
	return mask_secrets(recorded)


def describe_error(error: BaseException) -> dict:
	return {"error": str(error) or type(error).__name__, "type": type(error).__name__}


def status_of_abandoned(call: Call) -> CallStatus:
	"""External effects may have happened nevertheless."""
	return CallStatus.UNKNOWN if call.effect is Effect.EXTERNAL else CallStatus.FAILED
