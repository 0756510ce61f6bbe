"""Context variables, in which frappe keeps its state, between a coroutine, its tasks and a thread that works for it."""

import asyncio
import contextvars
import os
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

IDLE = 60
"""Seconds after which a thread that nobody needs ends."""

kept = threading.local()
idle: dict[int, list[SimpleQueue]] = defaultdict(list)
"""What idle threads wait at, by process: a forked one has none of its parent's."""


class Carried:
	"""Context variables as a coroutine left them: what is waited for in a task of its own has a copy of them."""

	def __init__(self):
		self.context: contextvars.Context | None = None

	async def run(self, awaitable: Awaitable) -> Any:
		try:
			return await awaitable
		finally:
			self.context = contextvars.copy_context()

	def restore(self) -> None:
		carry_back(self.context or {})


def carry_back(context: Mapping[contextvars.ContextVar, Any]) -> None:
	"""Make this context's variables what they are in another."""
	for variable, value in context.items():
		if variable.get(None) is not value:
			variable.set(value)


async def in_thread(function: Callable[[], Any], left: Callable[[], None]) -> Any:
	"""Call synchronous code without holding up this thread's event loop. Until it ends, frappe is its alone.

	It cannot be ended from outside: a wait that is cancelled calls `left`, which takes frappe away from it.
	"""
	loop, ended = asyncio.get_running_loop(), asyncio.Event()
	context, outcome = contextvars.copy_context(), {}

	def work() -> None:
		try:
			outcome["value"] = context.run(function)
		except BaseException as error:
			outcome["error"] = error

	def tell() -> None:
		with suppress(RuntimeError):  # nobody waits any more, and the loop is closed
			loop.call_soon_threadsafe(ended.set)

	kept.lent = getattr(kept, "lent", 0) + 1
	put_to_work(work, tell)
	try:
		await ended.wait()
	except asyncio.CancelledError:
		left()
		raise
	finally:
		kept.lent -= 1
	carry_back(context)
	if "error" in outcome:
		raise outcome["error"]
	return outcome["value"]


def put_to_work(work: Callable[[], None], tell: Callable[[], None]) -> None:
	"""Have a thread do it that does nothing else meanwhile, and tell of its end; there are as many as were needed at once."""
	try:
		jobs = idle[os.getpid()].pop()
	except IndexError:
		jobs = SimpleQueue()
		# A daemon: one that never ends must not keep the process.
		threading.Thread(target=work_on, args=(jobs, idle[os.getpid()]), name="huf-tool", daemon=True).start()
	jobs.put((work, tell))


def work_on(jobs: SimpleQueue, waiting: list[SimpleQueue]) -> None:
	while True:
		try:
			work, tell = jobs.get(timeout=IDLE)
		except Empty:
			# Whoever has taken it from the list a moment ago is about to put something in.
			with suppress(ValueError):
				waiting.remove(jobs)
				return
		else:
			work()
			# Before it is told, so that who hears of it finds this thread and makes no other.
			waiting.append(jobs)
			tell()
			# What a request had is not kept until there is something else to do.
			work = tell = None


def is_lent() -> bool:
	"""Whether synchronous code is at work in another thread for this one."""
	return getattr(kept, "lent", 0) > 0
