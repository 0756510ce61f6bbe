"""Runs coroutines from Frappe's synchronous code: one event loop a thread, kept, with its connections.

Frappe's own state (`frappe.local`) lives in context variables. A coroutine starts with a copy of them; what it changed
is carried back when it ends, so that what it left for the commit of its caller is found there.
"""

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from huf.ai.contexts import Carried

kept = threading.local()
END = object()


def event_loop() -> asyncio.AbstractEventLoop:
	"""This thread's event loop. A forked process does not go on with its parent's."""
	if getattr(kept, "pid", None) != os.getpid() or kept.loop.is_closed():
		kept.loop, kept.pid = asyncio.new_event_loop(), os.getpid()
	return kept.loop


def run_coroutine(coroutine: Coroutine) -> Any:
	"""Run to the end and give the result; also from within a coroutine's own synchronous code."""
	if is_running():
		# A tool's function started an agent in the synchronous way. This thread waits, so frappe is the other's alone.
		context = contextvars.copy_context()
		with ThreadPoolExecutor(1) as pool:
			return pool.submit(context.run, run_coroutine, coroutine).result()
	carried = Carried()
	try:
		return event_loop().run_until_complete(carried.run(coroutine))
	finally:
		carried.restore()


def is_running() -> bool:
	try:
		asyncio.get_running_loop()
	except RuntimeError:
		return False
	return True


def iterate(start: Callable[[Callable[[Any], None]], Coroutine], pause: float = 15) -> Iterator[Any]:
	"""Run `start(put)` and yield what it puts, as it comes; its exception is raised at the end.

	After `pause` seconds without anything comes a None, so that whoever passes it on shows a sign of life. A reader who leaves early does not stop it: the coroutine is run to its end all the same.
	"""
	loop = event_loop()
	queue: asyncio.Queue = asyncio.Queue()
	carried = Carried()
	task = loop.create_task(carried.run(start(queue.put_nowait)))
	task.add_done_callback(lambda _: queue.put_nowait(END))
	try:
		while (item := loop.run_until_complete(next_item(queue, pause))) is not END:
			yield item
		task.result()
	finally:
		if not task.done():
			loop.run_until_complete(task)
		carried.restore()


async def next_item(queue: asyncio.Queue, pause: float) -> Any:
	try:
		return await asyncio.wait_for(queue.get(), pause)
	except asyncio.TimeoutError:
		return None
