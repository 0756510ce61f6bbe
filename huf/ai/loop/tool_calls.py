"""From what the model asked to what is done: find the tool, read and check the arguments, call it.

`prepare` sorts and never calls; `perform` calls and never decides.
"""

import time
from collections.abc import Mapping

from huf.ai.arguments import as_text, check_arguments, mask_secrets, parse_arguments
from huf.ai.errors import ToolError
from huf.ai.types import Call, CallRequest, CallStatus, Observation, Tool


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


async def perform(call: Call) -> Observation:
	"""Run a prepared call. Whatever goes wrong in a tool becomes an observation; it never ends the run."""
	if call.error:
		return Observation(call, CallStatus.REFUSED, as_text({"error": call.error}))
	started = time.monotonic()
	try:
		status, result = CallStatus.SUCCESS, await call.tool.run(call.arguments)
	except Exception as error:  # the boundary around a tool's call
		status, result = (
			CallStatus.FAILED,
			{"error": str(error) or type(error).__name__, "type": type(error).__name__},
		)
	return Observation(
		call, status, mask_secrets(as_text(result)), round((time.monotonic() - started) * 1000)
	)
