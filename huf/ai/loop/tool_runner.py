"""Makes the tool calls of a turn: in order, side by side where that is safe, each on record; a read is not
repeated.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from huf.ai.core.types import Call, CallStatus, Effect, Emit, EventKind, ToolResult
from huf.ai.loop.guards import Guard
from huf.ai.loop.journal import Journal
from huf.ai.loop.run_context import Approve
from huf.ai.loop.tool_calls import perform

MAX_CALLS_PER_TURN = 50
TOO_MANY_PER_TURN = f"More than {MAX_CALLS_PER_TURN} calls at once. This one was not made; ask for fewer."
TOO_MANY_PER_RUN = "{name} may be called {maximum} times in a run, and has been. Continue without it."
NOT_STARTED = "The run was stopped before this call, so it was not made."


class ToolRunner:
	"""Makes the calls of one run, and remembers the results of reads until something is changed."""

	def __init__(self, guards: Sequence[Guard], journal: Journal, emit: Emit, approve: Approve | None = None):
		self.guards, self.journal, self.emit, self.approve = guards, journal, emit, approve
		self.cache: dict[str, ToolResult] = {}
		self.calls_made: Counter[str] = Counter()
		self.turn: list[Call] = []
		self.recorded: dict[int, ToolResult | None] = {}

	async def run(self, step: int, calls: list[Call]) -> list[ToolResult]:
		"""Results in the order of the calls. After one that a guard broke off, the others are not started."""
		results: list[ToolResult] = []
		calls = [self.check_limits(call) for call in calls]
		self.recorded = {call.position: self.journal.find_tool_result(step, call) for call in calls}
		self.turn = calls
		for is_concurrent, group in groupby(calls, lambda call: bool(call.tool and call.tool.concurrent)):
			for batch in [list(group)] if is_concurrent else [[call] for call in group]:
				stopped = bool(results) and results[-1].stopped
				if stopped:
					batch = [replace(call, error=NOT_STARTED) for call in batch]
				finished = await side_by_side([self.run_one(step, call) for call in batch])
				results += [replace(each, stopped=True) if stopped else each for each in finished]
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

	async def run_one(self, step: int, call: Call) -> ToolResult:
		event = {"step": step, "call_id": call.request.id, "tool": call.request.name}
		arguments = call.request.arguments if call.arguments is None else call.arguments
		self.emit(EventKind.TOOL_STARTED, {**event, "effect": call.effect.value, "arguments": arguments})
		result = self.recorded[call.position]
		if result is None:
			call = await self.approve(step, call, self.find_later(call)) if self.approve else call
			self.journal.start_tool_call(step, call)
			result = self.find_cached(call) or await perform(call, self.guards, step)
			self.journal.finish_tool_call(step, result)
		self.remember(result)
		ended = {"ok": result.ok, "result": result.display_text, "duration_ms": result.duration_ms}
		self.emit(EventKind.TOOL_FINISHED, {**event, **ended})
		return result

	def find_later(self, call: Call) -> list[Call]:
		"""The calls of the turn after this one that are still to be made."""
		return [each for each in self.turn[call.position + 1 :] if self.recorded[each.position] is None]

	def find_cached(self, call: Call) -> ToolResult | None:
		known = None if call.error else self.cache.get(call.key)
		return ToolResult(call, CallStatus.SUCCESS, known.text, cached=True) if known else None

	def remember(self, result: ToolResult) -> None:
		call = result.call
		if call.error:
			return
		if call.effect is not Effect.READ:
			self.cache.clear()
		elif result.ok:
			self.cache[call.key] = result


async def side_by_side(coroutines: Sequence[Coroutine[Any, Any, ToolResult]]) -> list[ToolResult]:
	"""Their results, in order. Where one raises, the others are cancelled."""
	if len(coroutines) == 1:
		return [await coroutines[0]]
	tasks = [asyncio.ensure_future(each) for each in coroutines]
	try:
		return await asyncio.gather(*tasks)
	finally:
		for task in tasks:
			task.cancel()
