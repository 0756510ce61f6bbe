"""The one event loop of a process on which models are asked, in a thread of its own.

LiteLLM and its clients keep connections and a logging queue that belong to one loop, while runs go on in many threads.
Nothing here knows frappe: what runs on this loop does not see the request that wanted it.
"""

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

loops: dict[int, asyncio.AbstractEventLoop] = {}


async def ask_there(coroutine: Coroutine) -> Any:
	"""Run a coroutine on the models' loop and wait for it here. Cancelling the wait cancels it there."""
	future = contextvars.Context().run(asyncio.run_coroutine_threadsafe, coroutine, models_loop(os.getpid()))
	return await asyncio.wrap_future(future)


def called_here(function: Callable[[str], None]) -> Callable[[str], None]:
	"""The function to give away: what it is told there is told to `function` here, in order, before the answer is.

	What comes while this loop is busy is told together: waking it for each piece would cost more than the piece.
	"""
	loop = asyncio.get_running_loop()
	context = contextvars.copy_context()
	waiting: deque[str] = deque()

	def tell() -> None:
		parts = []
		while waiting:
			parts.append(waiting.popleft())
		if parts:
			function("".join(parts))

	def take(text: str) -> None:
		waiting.append(text)
		if len(waiting) == 1:
			loop.call_soon_threadsafe(tell, context=context)

	return take


def models_loop(process: int) -> asyncio.AbstractEventLoop:
	"""This process' loop; a forked process (another number) makes its own. Of threads that ask at once, one makes it."""
	if process not in loops:
		loop = asyncio.new_event_loop()
		if loops.setdefault(process, loop) is loop:
			threading.Thread(target=loop.run_forever, name="huf-models", daemon=True).start()
		else:
			loop.close()
	return loops[process]
