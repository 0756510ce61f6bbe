"""Context variables, in which frappe keeps its state, between a coroutine, its tasks and a thread that works for it."""

import asyncio
import contextvars
import os
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

IDLE = 60
"""Seconds after which a thread that nobody needs ends."""
SOON = 0.001
"""Seconds for which an event loop stands still for a thread: most are done by then, and to hear of it there takes as long."""

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


class Ended(NamedTuple):
	"""How something ended: what it gave, or what it raised."""

	value: Any = None
	error: BaseException | None = None

	def result(self) -> Any:
		if self.error:
			raise self.error
		return self.value


def ended(function: Callable[[], Any]) -> Ended:
	try:
		return Ended(function())
	except BaseException as error:
		return Ended(error=error)


async def awaited(begun: Awaitable | Ended) -> Any:
	return begun.result() if isinstance(begun, Ended) else await begun


class InThread:
	"""Synchronous code at work in a thread of its own. Until it ends, frappe is its alone.

	`ended` is how, if it was soon; else somebody has to wait. It cannot be ended from outside: a wait that is cancelled calls
	`left`, which takes frappe away from it.
	"""

	def __init__(self, function: Callable[[], Any], left: Callable[[], None]):
		self.loop, self.left = asyncio.get_running_loop(), left
		self.context, self.how = contextvars.copy_context(), Ended()
		self.under_way, self.bell = threading.Lock(), None
		self.under_way.acquire()
		kept.lent = getattr(kept, "lent", 0) + 1
		put_to_work(partial(self.work, function), self.tell)
		self.ended: Ended | None = None
		if self.under_way.acquire(timeout=SOON):
			kept.lent -= 1
			self.give_back()

	def work(self, function: Callable[[], Any]) -> None:
		self.how = ended(partial(self.context.run, function))

	def tell(self) -> None:
		self.under_way.release()
		if self.bell:
			with suppress(RuntimeError):  # nobody waits any more, and the loop is closed
				self.loop.call_soon_threadsafe(self.bell.set)

	async def wait(self) -> Any:
		"""What it gives in the end, or raises."""
		if self.ended is None:
			self.bell = asyncio.Event()
			try:
				# It may have come to its end before it could see the bell.
				if not self.under_way.acquire(blocking=False):
					await self.bell.wait()
			except asyncio.CancelledError:
				self.left()
				raise
			finally:
				kept.lent -= 1
			self.give_back()
		return self.how.result()

	def give_back(self) -> None:
		carry_back(self.context)
		self.ended = self.how


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
