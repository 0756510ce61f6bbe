"""Runs coroutines from Frappe's synchronous code, on event loops that are cached with their connections.

`frappe.local` lives in context variables. A task has a copy of them, so what it changed there is carried back
at its end.
"""

import asyncio
import contextvars
import heapq
import os
import threading
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from huf.ai.core.tool_threads import abandon_calls, on_cancel

_idle_loops: dict[int, list[asyncio.AbstractEventLoop]] = defaultdict(list)
"""By process id: a forked process must not use its parent's. The last one used has the freshest connections.
"""
MAX_IDLE_LOOPS = 32
"""More are closed with their connections and threads: what a peak needed is not kept."""
_on_close: WeakKeyDictionary[asyncio.AbstractEventLoop, set[Callable[[], Coroutine]]] = WeakKeyDictionary()
SILENCE_S = 7.0
"""How long a stream may be silent. Only the second write to a reader who has left fails: after about 15."""
_background_loops: dict[tuple[str, int], asyncio.AbstractEventLoop] = {}
"""By name and process id."""


@dataclass(frozen=True)
class Finished:
	"""The value or exception of a finished awaitable."""

	value: Any = None
	error: BaseException | None = None

	def result(self) -> Any:
		if self.error:
			raise self.error
		return self.value


class PropagatedContext:
	"""Carries context variables from the task that awaits something back to the one that waits for the
	task.
	"""

	def __init__(self) -> None:
		self.context: contextvars.Context | None = None

	async def run(self, awaitable: Awaitable) -> Any:
		try:
			return await awaitable
		finally:
			self.context = contextvars.copy_context()

	async def finish(self, awaitable: Awaitable) -> Finished:
		"""Like `run`, but never raises: a KeyboardInterrupt in a task would end the event loop before the
		waiting coroutine sees it.
		"""
		try:
			return Finished(await self.run(awaitable))
		except BaseException as error:  # handed to the waiting coroutine, as the docstring says
			return Finished(error=error)

	def restore(self) -> None:
		for variable, value in (self.context or {}).items():
			if variable.get(None) is not value:
				variable.set(value)


def run_coroutine(coroutine: Coroutine) -> Any:
	"""Run to the end and return the result; also where this thread's event loop already runs."""
	carried = PropagatedContext()
	try:
		with borrowed_loop() as loop:
			if not is_loop_running():
				return run_until_complete(loop, carried.run(coroutine))
			context = contextvars.copy_context()
			with ThreadPoolExecutor(1) as pool:
				return pool.submit(context.run, loop.run_until_complete, carried.run(coroutine)).result()
	finally:
		carried.restore()


def run_until_complete(loop: asyncio.AbstractEventLoop, coroutine: Coroutine) -> Any:
	"""Run a coroutine on this loop; it is cancelled if this thread's call is abandoned."""
	task = loop.create_task(coroutine)
	on_cancel(lambda: loop.call_soon_threadsafe(task.cancel))
	try:
		return loop.run_until_complete(task)
	except BaseException:  # re-raised: also an interrupt abandons the calls
		if not task.done():
			# A signal: no tool may go on beside what this thread does next.
			abandon_calls()
		raise


def iterate(start: Callable[[Callable[[Any], None]], Coroutine], pause_s: float = SILENCE_S) -> Iterator[Any]:
	"""Run `start(put)` and yield what it puts, as it comes; its exception is raised at the end.

	Yields None after `pause_s` seconds of silence, so that a stream can send a keep-alive. A reader who
	leaves early does not stop the coroutine: it runs to its end.
	"""
	items: deque = deque()
	carried = PropagatedContext()
	with borrowed_loop() as loop:

		def put(item: Any) -> None:
			items.append(item)
			# Let the reader have it before the coroutine goes on.
			loop.stop()

		async def work() -> None:
			try:
				await carried.run(start(put))
			finally:
				loop.stop()

		task = loop.create_task(work())
		try:
			while items or not task.done():
				if not items:
					keep_alive = loop.call_later(pause_s, put, None)
					loop.run_forever()
					keep_alive.cancel()
				while items:
					yield items.popleft()
			task.result()
		finally:
			while not task.done():
				loop.run_forever()
			carried.restore()


@contextmanager
def borrowed_loop() -> Iterator[asyncio.AbstractEventLoop]:
	"""A cached event loop, or a new one. One that still has tasks is dropped: they must not go on in another
	run.
	"""
	idle = _idle_loops[os.getpid()]
	loop = idle.pop() if idle else make_loop()
	try:
		yield loop
	finally:
		if not asyncio.all_tasks(loop):
			release_loop(loop, idle)


def make_loop() -> asyncio.AbstractEventLoop:
	"""A new event loop. It holds the context in which it is created: an empty one, not that of a run."""
	return contextvars.Context().run(asyncio.new_event_loop)


def release_loop(loop: asyncio.AbstractEventLoop, idle: list[asyncio.AbstractEventLoop]) -> None:
	"""Keep a loop for the next run, or close it if enough are idle."""
	if len(idle) < MAX_IDLE_LOOPS:
		drop_cancelled_timers(loop)
		idle.append(loop)
		return
	for close in _on_close.pop(loop, ()):
		loop.run_until_complete(close())
	loop.close()


def drop_cancelled_timers(loop: Any) -> None:
	"""asyncio keeps up to a hundred of them, each with the context of its run: documents, request, answer."""
	loop._scheduled[:] = [timer for timer in loop._scheduled if not timer.cancelled()]
	heapq.heapify(loop._scheduled)
	loop._timer_cancelled_count = 0


def on_loop_close(close: Callable[[], Coroutine]) -> None:
	"""Have `close` run on the running loop before it is closed. It must not refer to the loop itself."""
	_on_close.setdefault(asyncio.get_running_loop(), set()).add(close)


def is_loop_running() -> bool:
	"""Whether an event loop runs in this thread."""
	try:
		asyncio.get_running_loop()
	except RuntimeError:
		return False
	return True


async def run_on_model_loop(coroutine: Coroutine) -> Any:
	"""Run a coroutine on the one loop of this process for LiteLLM, whose clients and logging queue belong to
	one loop.
	"""
	return await run_in_background("models", coroutine)


async def run_in_background(name: str, coroutine: Coroutine) -> Any:
	"""Run a coroutine on an event loop that never stops, so that tasks it starts there keep running.

	Cancelling the wait cancels the coroutine. It sees no context variables, so nothing of frappe.
	"""
	loop = get_background_loop(name, os.getpid())
	future = contextvars.Context().run(asyncio.run_coroutine_threadsafe, coroutine, loop)
	return await asyncio.wrap_future(future)


def get_background_loop(name: str, process: int) -> asyncio.AbstractEventLoop:
	key = (name, process)
	if key not in _background_loops:
		loop = make_loop()
		# Threads that arrive at the same time share the loop of the first one.
		if _background_loops.setdefault(key, loop) is loop:
			threading.Thread(target=loop.run_forever, name=f"huf-{name}", daemon=True).start()
		else:
			loop.close()
	return _background_loops[key]
