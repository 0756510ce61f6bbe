"""Waiting for a model or a tool, while guards look on; what takes too long is left behind.

Of what it waits for it knows only that synchronous code may be done at once.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from contextvars import copy_context
from typing import Any

from huf.ai.concurrency.contexts import Ended, carry_back
from huf.ai.concurrency.driver import Work
from huf.ai.core.errors import RunStopped, TookTooLong
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
	wait, clock = Wait(waiting), asyncio.get_running_loop().time
	task = asyncio.ensure_future(wait.run())
	until = clock() + timeout if timeout else float("inf")
	try:
		while True:
			await wait.look(max(0, min(GUARD_INTERVAL, until - clock())))
			if wait.ended:
				return wait.ended
			if verdict := first_verdict(guards, progress):
				raise RunStopped(verdict.reason, verdict.why)
			if clock() >= until:
				raise TookTooLong(f"It did not end within {timeout:g} seconds and was abandoned.")
	finally:
		if not task.done():
			task.cancel()
			await asyncio.wait({task}, timeout=GRACE)
		carry_back(wait.context)


class Wait:
	"""Something awaited in a task of its own. Nothing is raised out of it: KeyboardInterrupt would end the event loop before
	whoever waits hears of it.
	"""

	def __init__(self, awaitable: Awaitable):
		self.awaitable, self.ended, self.rung = awaitable, None, None
		self.context: Mapping = {}
		"""The context variables as it left them: a task has a copy of them."""

	async def run(self) -> None:
		try:
			self.ended = Ended(await self.awaitable)
		except BaseException as error:
			self.ended = Ended(error=error)
		self.context = copy_context()
		self.ring()

	async def look(self, seconds: float) -> None:
		"""Wait until it has ended, or for so long; in fewer turns of the event loop than `asyncio.wait` takes."""
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
