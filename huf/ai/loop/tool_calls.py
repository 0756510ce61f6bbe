"""Prepares and makes the tool calls of a turn: in order, concurrently where that is safe, each recorded.

`prepare` validates without calling, `perform` calls without deciding. `ToolRunner` decides: a read is not
repeated until something changes, and identical writes are made once.
"""

import asyncio
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from traceback import format_exception
from typing import Any

from huf.ai.core.arguments import check_arguments, drop_nulls, parse_arguments
from huf.ai.core.errors import (
	LeaseLost,
	ModelError,
	OutcomeUnknown,
	RunHeld,
	RunPaused,
	RunStopped,
	ToolError,
	ToolTimeout,
	UsageError,
)
from huf.ai.core.event_loops import Finished
from huf.ai.core.events import Emit, EventKind
from huf.ai.core.json_text import ResultText, to_text
from huf.ai.core.progress import Listen, listening
from huf.ai.core.secret_text import mask_secrets
from huf.ai.core.types import Call, CallRequest, CallStatus, Effect, Tool, ToolResult
from huf.ai.loop.guards import Guard, Progress
from huf.ai.loop.run_context import Approve, Journal
from huf.ai.loop.waiting import watch

MAX_RECORDED_BYTES = 8_000_000
"""With quotes escaped, a journal row must fit into MariaDB's max_allowed_packet."""
MAX_CALLS_PER_TURN = 50
MAX_SIDE_BY_SIDE = 8
"""Concurrent calls; each may hold a thread and a database connection."""
TOO_MANY_PER_TURN = f"Not called: more than {MAX_CALLS_PER_TURN} calls at once. Make fewer calls in one turn."
TOO_MANY_PER_RUN = "Not called: {name} has reached its limit of {maximum} calls per run. Continue without it."
EXPECTED = (ToolError, UsageError, ToolTimeout, ModelError, RunStopped, LeaseLost, RunHeld, CancelledError)
NOT_STARTED = "Not called: the run was stopped first."


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
		arguments = drop_nulls(parse_arguments(request.arguments), tool.parameters)
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
		return ToolResult(call, CallStatus.REFUSED, to_text({"error": call.error}), origins=call.origins)
	started = time.monotonic()
	# A guard may end the read transaction to see other workers' changes. That must not interrupt a write
	# tool's transaction.
	progress = Progress(step, waiting=call.effect is not Effect.WRITE)
	run = (call.is_concurrent and call.tool.run_concurrently) or call.tool.run
	with listening(listen) as reported:
		try:
			finished = await watch(run(call.arguments), guards, progress, call.tool.timeout, reported)
			result = read_finished(call, finished)
		except (OutcomeUnknown, ToolTimeout, RunStopped) as error:
			text, stopped = to_record(describe_error(error)), isinstance(error, RunStopped)
			result = ToolResult(call, status_of_abandoned(call), text, stopped=stopped)
	origins = result.origins
	if call.tool.origin and call.tool.origin not in origins:
		origins = (*origins, call.tool.origin)
	return replace(result, origins=origins, duration_ms=round((time.monotonic() - started) * 1000))


def read_finished(call: Call, finished: Finished) -> ToolResult:
	"""What a tool returned or raised. Raises RunPaused and OutcomeUnknown."""
	try:
		result = finished.result()
		origins = result.origins if isinstance(result, ResultText) else ()
		return ToolResult(call, CallStatus.SUCCESS, to_record(result), origins=origins)
	except (OutcomeUnknown, RunPaused):
		raise
	except (Exception, CancelledError) as error:  # the boundary around a tool's call
		text, origins = to_record(describe_error(error)), getattr(error, "origins", ())
		traceback = format_unexpected(error)
		return ToolResult(call, CallStatus.FAILED, text, origins=origins, traceback=traceback)


def format_unexpected(error: BaseException) -> str:
	"""The traceback of an error; "" of one whose message is meant for its reader, as those of Frappe, which
	have a status of HTTP.
	"""
	if isinstance(error, EXPECTED) or hasattr(error, "http_status_code"):
		return ""
	return mask_secrets("".join(format_exception(error)))


def to_record(result: Any) -> str:
	"""A result as text without secrets, limited to a size and characters that every database accepts."""
	text = to_text(result)
	encoded = text.encode("utf-8", "replace")
	recorded = encoded[:MAX_RECORDED_BYTES].decode("utf-8", "ignore")
	if len(encoded) > MAX_RECORDED_BYTES:
		recorded += f"\n[Truncated: the beginning of {len(text):,} characters.]"
	return mask_secrets(recorded)


def describe_error(error: BaseException) -> dict:
	# Masked before it is quoted in JSON: the mask does not recognise keys in escaped JSON.
	return {"error": mask_secrets(str(error)) or type(error).__name__, "type": type(error).__name__}


def status_of_abandoned(call: Call) -> CallStatus:
	"""External effects may have happened nevertheless."""
	return CallStatus.UNKNOWN if call.effect is Effect.EXTERNAL else CallStatus.FAILED


class ToolRunner:
	"""Makes the calls of one run, and remembers results that need no second call."""

	def __init__(self, guards: Sequence[Guard], journal: Journal, emit: Emit, approve: Approve | None = None):
		self.guards, self.journal, self.emit, self.approve = guards, journal, emit, approve
		self.reads: dict[str, ToolResult] = {}
		self.writes: dict[str, ToolResult] = {}
		self.calls_made: Counter[str] = Counter()
		self.turn: list[Call] = []
		self.recorded: dict[int, ToolResult | None] = {}
		self.refused: dict[str, str] = {}

	async def run(self, step: int, calls: list[Call]) -> list[ToolResult]:
		"""Results in the order of the calls. If a guard interrupts one, the others are not started."""
		results: list[ToolResult] = []
		calls = [self.check_limits(call) for call in calls]
		self.recorded = {call.position: self.journal.find_tool_result(step, call) for call in calls}
		self.turn, self.refused = calls, {}
		for batch in split_batches(calls):
			stopped = bool(results) and results[-1].stopped
			if stopped:
				batch = [replace(call, error=NOT_STARTED) for call in batch]
			# Ask for approvals before any call begins.
			begun = [await self.begin(step, call) for call in batch]
			finished = await side_by_side([self.run_one(step, *each) for each in begun])
			results += [replace(each, stopped=True) for each in finished] if stopped else finished
		return results

	def check_limits(self, call: Call) -> Call:
		"""The call, with an error where it exceeds a limit."""
		if call.error or call.tool is None:
			return call
		self.calls_made[call.tool.name] += 1
		if call.position >= MAX_CALLS_PER_TURN:
			return replace(call, error=TOO_MANY_PER_TURN)
		maximum = call.tool.max_calls
		if maximum and self.calls_made[call.tool.name] > maximum:
			return replace(call, error=TOO_MANY_PER_RUN.format(name=call.tool.name, maximum=maximum))
		return call

	async def begin(self, step: int, call: Call) -> tuple[Call, ToolResult | None]:
		"""Emit that the call starts; return it as it may be made, and the result if it is known already.

		A call without a known result has passed `approve`. Raises RunPaused.
		"""
		arguments = call.request.arguments if call.arguments is None else call.arguments
		started = {**event_of(step, call), "effect": call.effect.value, "arguments": arguments}
		if call.request.reason:
			started["reason"] = call.request.reason
		self.emit(EventKind.TOOL_STARTED, started)
		cached = self.find_cached(call)
		if self.recorded[call.position] or cached or not self.approve:
			return call, cached
		if not call.error and call.key in self.refused:
			return replace(call, error=self.refused[call.key]), None
		allowed = await self.approve(step, call, self.find_later(call))
		if allowed.error and not call.error:
			self.refused[call.key] = allowed.error
		return allowed, None

	async def run_one(self, step: int, call: Call, cached: ToolResult | None) -> ToolResult:
		result = self.recorded[call.position]
		if result is None:
			self.journal.start_tool_call(step, call)
			try:
				result = cached or await perform(call, self.guards, step, partial(self.report, step, call))
			except RunPaused:
				self.journal.withdraw_tool_call(call)
				raise
			self.journal.finish_tool_call(step, result)
		self.remember(result)
		ended = {**event_of(step, call), "ok": result.ok, "result": result.display_text}
		self.emit(EventKind.TOOL_FINISHED, {**ended, "duration_ms": result.duration_ms})
		return result

	def report(self, step: int, call: Call, text: str, fraction: float | None) -> None:
		"""Emit the progress that a call reports."""
		reported = {"text": text, "fraction": fraction, "is_own": True}
		self.emit(EventKind.PROGRESS, {**event_of(step, call), **reported})

	def find_later(self, call: Call) -> list[Call]:
		"""The calls of the turn after this one that are still to be made, identical ones once."""
		distinct = {call.key: call}
		for each in self.turn[call.position + 1 :]:
			if self.recorded[each.position] is None:
				distinct.setdefault(each.key, each)
		return list(distinct.values())[1:]

	def find_cached(self, call: Call) -> ToolResult | None:
		known = None if call.error else self.reads.get(call.key) or self.writes.get(call.key)
		return replace(known, call=call, duration_ms=0, cached=True) if known else None

	def remember(self, result: ToolResult) -> None:
		call = result.call
		if call.error or call.tool is None or result.cached:
			return
		# Compare the requested arguments, which a person may have changed.
		key = self.turn[call.position].key
		if call.effect is Effect.READ:
			if result.ok:
				self.reads[key] = result
			return
		self.reads.clear()
		if not call.tool.creates:
			# Another write may have taken back what an earlier one did: A, B and A again are three writes.
			self.writes.clear()
		if result.ok and call.effect is Effect.WRITE:
			self.writes[key] = result


def event_of(step: int, call: Call) -> dict:
	return {"step": step, "call_id": call.request.id, "tool": call.request.name}


def split_batches(calls: Sequence[Call]) -> Iterator[list[Call]]:
	"""The calls in order, grouped into batches that may run concurrently."""
	for is_concurrent, group in groupby(calls, lambda call: bool(call.tool and call.tool.run_concurrently)):
		batch = list(group)
		for start in range(0, len(batch), size := MAX_SIDE_BY_SIDE if is_concurrent else 1):
			part = batch[start : start + size]
			yield [replace(call, is_concurrent=True) for call in part] if len(part) > 1 else part


async def side_by_side(coroutines: Sequence[Coroutine[Any, Any, ToolResult]]) -> list[ToolResult]:
	"""Run a batch and return the results in order. If one call raises, the others are cancelled; if one waits
	for a person, they finish first.
	"""
	if len(coroutines) == 1:
		return [await coroutines[0]]
	tasks = [asyncio.ensure_future(catch_pause(each)) for each in coroutines]
	try:
		finished = await asyncio.gather(*tasks)
	finally:
		for task in tasks:
			task.cancel()
	if paused := [each for each in finished if isinstance(each, RunPaused)]:
		raise RunPaused([draft for each in paused for draft in each.drafts])
	return [each for each in finished if isinstance(each, ToolResult)]


async def catch_pause(coroutine: Coroutine[Any, Any, ToolResult]) -> ToolResult | RunPaused:
	try:
		return await coroutine
	except RunPaused as paused:
		return paused
