"""Waiting for a model or a tool, while guards look on; what takes too long is left behind.

Knows nothing of what it waits for.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any

from huf.ai.contexts import Carried, Ended
from huf.ai.drivers import Work
from huf.ai.errors import RunStopped, TookTooLong
from huf.ai.loop.guards import Guard, Progress, first_verdict

GUARD_INTERVAL = 0.5
"""Seconds between looks at the guards."""
GRACE = 1.0
"""Seconds that something cancelled has to tidy up before it is left to itself."""


async def watched(waiting: Awaitable, guards: Iterable[Guard], progress: Progress) -> Any:
	"""Wait for something, asking the guards all the while. Raises RunStopped when one speaks up."""
	return (await watch(waiting, guards, progress)).result()


async def watch(
	waiting: Awaitable, guards: Iterable[Guard], progress: Progress, timeout: float | None = None
) -> Ended:
	"""As `watched`, but what the awaited raises is told apart from what ends the wait: RunStopped, TookTooLong."""
	if isinstance(waiting, Work):
		if ended := await waiting.soon():
			return ended
		waiting = waiting.rest()
	carried, bell, clock = Carried(), Bell(), asyncio.get_running_loop().time
	task = asyncio.ensure_future(carried.run(catch(waiting, bell)))
	until = clock() + timeout if timeout else float("inf")
	try:
		while not task.done():
			await bell.wait(max(0, min(GUARD_INTERVAL, until - clock())))
			if task.done():
				break
			if verdict := first_verdict(guards, progress):
				raise RunStopped(verdict.reason, verdict.why)
			if clock() >= until:
				raise TookTooLong(f"It did not end within {timeout:g} seconds and was abandoned.")
	finally:
		if not task.done():
			task.cancel()
			await asyncio.wait({task}, timeout=GRACE)
		carried.restore()
	return task.result()


async def catch(awaitable: Awaitable, bell: "Bell") -> Ended:
	"""Nothing is raised out of the task: KeyboardInterrupt would end the event loop before whoever waits hears of it."""
	try:
		return Ended(await awaitable)
	except BaseException as error:
		return Ended(error=error)
	finally:
		bell.ring()


class Bell:
	"""Wakes the one who waits at it in fewer turns of the event loop than `asyncio.wait` takes."""

	def __init__(self):
		self.rung: asyncio.Future | None = None

	async def wait(self, seconds: float) -> None:
		"""Until it rings, or for so long."""
		loop = asyncio.get_running_loop()
		self.rung = loop.create_future()
		timer = loop.call_later(seconds, self.ring)
		try:
			await self.rung
		finally:
			timer.cancel()

	def ring(self) -> None:
		if self.rung and not self.rung.done():
			self.rung.set_result(None)
