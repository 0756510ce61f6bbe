"""Makes the tool calls of a turn in order, concurrently where that is safe, and records each.

A read is not repeated until something changes, and identical writes are made once.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from huf.ai.core.errors import RunPaused
from huf.ai.core.events import Emit, EventKind
from huf.ai.core.types import Call, Effect, ToolResult
from huf.ai.loop.guards import Guard
from huf.ai.loop.journal import Journal
from huf.ai.loop.run_context import Approve
from huf.ai.loop.tool_calls import perform

MAX_CALLS_PER_TURN = 50
MAX_SIDE_BY_SIDE = 8
"""Concurrent calls; each may hold a thread and a database connection."""
TOO_MANY_PER_TURN = f"Not called: more than {MAX_CALLS_PER_TURN} calls at once. Make fewer calls in one turn."
TOO_MANY_PER_RUN = "Not called: {name} has reached its limit of {maximum} calls per run. Continue without it."
NOT_STARTED = "Not called: the run was stopped first."


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
