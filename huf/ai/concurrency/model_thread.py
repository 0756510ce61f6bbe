"""The one event loop of a process on which LiteLLM asks models, in a thread of its own.

Its clients keep connections and a logging queue that belong to one loop, while runs go on in many threads.
Nothing here knows frappe: what runs on this loop does not see the request that wanted it.
"""

import asyncio
import contextvars
import os
import threading
from collections.abc import Coroutine
from typing import Any

loops: dict[int, asyncio.AbstractEventLoop] = {}


async def ask_there(coroutine: Coroutine) -> Any:
	"""Run a coroutine on the models' loop and wait for it here. Cancelling the wait cancels it there."""
	future = contextvars.Context().run(asyncio.run_coroutine_threadsafe, coroutine, models_loop(os.getpid()))
	return await asyncio.wrap_future(future)


def models_loop(process: int) -> asyncio.AbstractEventLoop:
	"""This process' loop; a forked process (another number) makes its own. Of threads that ask at once, one makes it."""
	if process not in loops:
		loop = asyncio.new_event_loop()
		if loops.setdefault(process, loop) is loop:
			threading.Thread(target=loop.run_forever, name="huf-models", daemon=True).start()
		else:
			loop.close()
	return loops[process]
