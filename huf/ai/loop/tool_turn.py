"""The calls of a turn: in order, side by side where they may be, each on record; what was read is not read twice."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from huf.ai.core.types import Call, CallStatus, Clear, Effect, Emit, EventKind, ToolResult
from huf.ai.loop.guards import Guard
from huf.ai.loop.journal import Journal
from huf.ai.loop.tool_calls import perform

MAX_AT_ONCE = 50
TOO_MANY_AT_ONCE = f"More than {MAX_AT_ONCE} calls at once. This one was not made; ask for fewer."
TOO_MANY = "{name} may be called {most} times in a run, and has been. Go on without it."
NOT_BEGUN = "The run was stopped before this call, so it was not made."


class Caller:
	"""Makes the calls of one run. Remembers what reads gave until something is changed."""

	def __init__(self, guards: Iterable[Guard], journal: Journal, emit: Emit, clear: Clear | None = None):
		self.guards, self.journal, self.emit, self.clear = guards, journal, emit, clear
		self.given: dict[str, ToolResult] = {}
		self.made: Counter[str] = Counter()

	async def make(self, step: int, calls: list[Call]) -> list[ToolResult]:
		"""Observations in the order of the calls. After one that a guard broke off, the others are not begun."""
		tool_results: list[ToolResult] = []
		calls = [self.admit(call) for call in calls]
		for concurrent, group in groupby(calls, lambda call: bool(call.tool and call.tool.concurrent)):
			for some in [list(group)] if concurrent else [[call] for call in group]:
				if tool_results and tool_results[-1].stopped:
					some = [replace(call, error=NOT_BEGUN) for call in some]
				made = await side_by_side([self.make_one(step, call) for call in some])
				stopped = some[0].error is NOT_BEGUN
				tool_results += [replace(each, stopped=True) if stopped else each for each in made]
		return tool_results

	def admit(self, call: Call) -> Call:
		"""The call, or what keeps it from being made."""
		if call.error:
			return call
		self.made[call.tool.name] += 1
		if call.position >= MAX_AT_ONCE:
			return replace(call, error=TOO_MANY_AT_ONCE)
		most = call.tool.max_calls
		if most and self.made[call.tool.name] > most:
			return replace(call, error=TOO_MANY.format(name=call.tool.name, most=most))
		return call

	async def make_one(self, step: int, call: Call) -> ToolResult:
		seen = {"step": step, "call_id": call.request.id, "tool": call.request.name}
		shown = call.request.arguments if call.arguments is None else call.arguments
		self.emit(EventKind.TOOL_STARTED, {**seen, "effect": call.effect.value, "arguments": shown})
		tool_result = self.journal.recall_call(step, call)
		if tool_result is None:
			call = await self.clear(step, call) if self.clear else call
			self.journal.calling(step, call)
			tool_result = self.remembered(call) or await perform(call, self.guards, step)
			self.journal.called(step, tool_result)
		self.remember(tool_result)
		ended = {"ok": tool_result.ok, "result": tool_result.shown, "duration_ms": tool_result.duration_ms}
		self.emit(EventKind.TOOL_FINISHED, {**seen, **ended})
		return tool_result

	def remembered(self, call: Call) -> ToolResult | None:
		known = None if call.error else self.given.get(call.key)
		return known and ToolResult(call, CallStatus.SUCCESS, known.text, cached=True)

	def remember(self, tool_result: ToolResult) -> None:
		call = tool_result.call
		if call.error:
			return
		if call.effect is not Effect.READ:
			self.given.clear()
		elif tool_result.ok:
			self.given[call.key] = tool_result


async def side_by_side(coroutines: list) -> list:
	"""What they give, in order. Where one raises, none of the others goes on unseen."""
	if len(coroutines) == 1:
		return [await coroutines[0]]
	tasks = [asyncio.ensure_future(each) for each in coroutines]
	try:
		return await asyncio.gather(*tasks)
	finally:
		for task in tasks:
			task.cancel()
