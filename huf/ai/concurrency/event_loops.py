"""Runs coroutines from Frappe's synchronous code, on event loops that are kept, with their connections.

Frappe's own state (`frappe.local`) lives in context variables. A coroutine starts with a copy of them; what it changed
is carried back when it ends, so that what it left for the commit of its caller is found there.
"""

import asyncio
import os
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from huf.ai.concurrency.contexts import Carried
from huf.ai.concurrency.driver import drive

idle: dict[int, list[asyncio.AbstractEventLoop]] = defaultdict(list)
"""Event loops that nobody runs, by process; the one that was used last, and has the freshest connections, is the next.

They belong to no thread: many servers have one for each request.
"""


@contextmanager
def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
	"""A loop for as long as the caller needs it. A forked process does not go on with its parent's."""
	try:
		loop = idle[os.getpid()].pop()
	except IndexError:
		loop = asyncio.new_event_loop()
	try:
		yield loop
	finally:
		# What a run has left there unended must not go on within somebody else's.
		if not asyncio.all_tasks(loop):
			idle[os.getpid()].append(loop)


def run_coroutine(coroutine: Coroutine) -> Any:
	"""Run to the end and give the result; also from within a coroutine's own synchronous code."""
	carried = Carried()
	try:
		with event_loop() as loop:
			return drive(loop, loop.create_task(carried.run(coroutine)))
	finally:
		carried.restore()


def iterate(start: Callable[[Callable[[Any], None]], Coroutine], pause: float = 15) -> Iterator[Any]:
	"""Run `start(put)` and yield what it puts, as it comes; its exception is raised at the end.

	After `pause` seconds without anything comes a None, so that whoever passes it on shows a sign of life. A reader who leaves early does not stop it: the coroutine is run to its end all the same.
	"""
	items: deque = deque()
	with event_loop() as loop:

		def put(item: Any) -> None:
			items.append(item)
			# What was put is read before the coroutine goes on, as soon as that waits for anything.
			loop.stop()

		async def work() -> None:
			try:
				await carried.run(start(put))
			finally:
				loop.stop()

		carried = Carried()
		task = loop.create_task(work())
		try:
			while items or not task.done():
				if not items:
					sign_of_life = loop.call_later(pause, put, None)
					loop.run_forever()
					sign_of_life.cancel()
				while items:
					yield items.popleft()
			task.result()
		finally:
			while not task.done():
				loop.run_forever()
			carried.restore()
