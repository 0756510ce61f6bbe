"""Waits for a model or tool while guards keep checking, and abandons what takes too long."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any

from huf.ai.core.errors import RunStopped, ToolTimeout
from huf.ai.core.event_loops import Finished, PropagatedContext
from huf.ai.core.progress import ToolProgress
from huf.ai.loop.guards import Guard, Progress, first_verdict

GUARD_INTERVAL_S = 0.5
"""How often guards are checked."""
CANCEL_GRACE_S = 1.0
"""How long a cancelled task may clean up before it is abandoned."""


async def watched(waiting: Awaitable, guards: Iterable[Guard], progress: Progress) -> Any:
	"""The awaited result. Raises RunStopped when a guard ends the wait."""
	return (await watch(waiting, guards, progress)).result()


async def watch(
	waiting: Awaitable,
	guards: Iterable[Guard],
	progress: Progress,
	timeout_s: float | None = None,
	reported: ToolProgress | None = None,
) -> Finished:
	"""Wait until the awaitable is done. Returns its exception, so that it cannot be confused with one that
	ends the wait.

	Raises RunStopped when a guard ends the wait, ToolTimeout after `timeout_s` (None: never), counted from
	the last progress that was `reported`.
	"""
	carried, clock = PropagatedContext(), asyncio.get_running_loop().time
	task = asyncio.ensure_future(carried.finish(waiting))
	began = clock()
	try:
		while True:
			last_progress = reported.reported_at if reported else began
			deadline = last_progress + timeout_s if timeout_s else float("inf")
			await asyncio.wait({task}, timeout=max(0, min(GUARD_INTERVAL_S, deadline - clock())))
			if task.done():
				return task.result()
			if verdict := first_verdict(guards, progress):
				raise RunStopped(verdict.reason, verdict.why)
			if clock() >= deadline and (reported is None or reported.reported_at == last_progress):
				raise ToolTimeout(describe_timeout(timeout_s or 0, began < last_progress))
	finally:
		if not task.done():
			task.cancel()
			await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
		carried.restore()


def describe_timeout(timeout_s: float, has_reported: bool) -> str:
	if has_reported:
		return f"It reported no progress for {timeout_s:g} seconds and was abandoned."
	return f"It did not end within {timeout_s:g} seconds and was abandoned."
