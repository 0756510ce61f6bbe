"""Who drives an event loop, and makes the calls of synchronous code in between.

A driven loop stands still for such a call, with nothing of it on the thread's stack: a call that lasts keeps that thread, and
another goes on with the loop. On a loop without a driver every call has a thread of its own.
"""

import asyncio
import contextvars
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from huf.ai.concurrency.contexts import Ended, carry_back, ended

IDLE = 60
"""Seconds after which a thread that nobody needs ends."""
SOON = 0.001
"""Seconds for which a loop without a driver stands still: most calls are done by then, and to hear of it takes as long."""
LONG = 0.1
"""Seconds after which a call keeps its thread, and another drives the loop."""
GRACE = 5.0
"""Seconds that a call has to end when the one who waits for its run is stopped from outside."""

kept = threading.local()
idle: dict[int, list[SimpleQueue]] = defaultdict(list)
"""What idle threads wait at, by process: a forked one has none of its parent's."""
drivers: dict[asyncio.AbstractEventLoop, "Driver"] = {}
"""Of the loops that are driven."""


class Work:
	"""A call of synchronous code, made when it is awaited. Until it ends, frappe is its alone.

	It cannot be ended from outside: a wait that is cancelled calls `left` with the call's context variables as they are by
	then, and that takes frappe away from it.
	"""

	def __init__(self, function: Callable[[], Any], left: Callable[[contextvars.Context], None]):
		self.function, self.left, self.how = function, left, Ended()
		self.under_way, self.is_begun, self.bell = threading.Lock(), False, None

	def __await__(self) -> Generator[Any, None, Any]:
		"""What it gives, or raises."""
		return self.whole().__await__()

	async def whole(self) -> Any:
		how = await self.soon()
		return how.result() if how else await self.rest()

	async def soon(self) -> Ended | None:
		"""Begin. How it ended, if that was soon; else there is the `rest` to wait for."""
		self.loop, self.context = asyncio.get_running_loop(), contextvars.copy_context()
		self.under_way.acquire()
		driver, patience = drivers.get(self.loop), 0.0
		try:
			is_made = bool(driver) and await driver.make(self)
		except asyncio.CancelledError:
			if self.is_begun:
				self.leave()
			raise
		if not is_made:
			put_to_work(self.do, self.tell)
			patience = SOON
		if self.under_way.acquire(timeout=patience):
			return self.give_back()
		lent().append(self)
		return None

	async def rest(self) -> Any:
		"""What it gives in the end, or raises."""
		self.bell = asyncio.Event()
		try:
			# It may have come to its end before it could see the bell.
			if not self.under_way.acquire(blocking=False):
				await self.bell.wait()
		except asyncio.CancelledError:
			self.leave()
			raise
		finally:
			with suppress(ValueError):  # whoever waited was stopped, and this is only tidied away
				lent().remove(self)
		return self.give_back().result()

	def leave(self, patience: float = 0) -> None:
		"""Nobody waits for it any more: if it does not end within so many seconds, it goes on without frappe."""
		if not self.under_way.acquire(timeout=patience):
			# The original is in use by its thread.
			self.left(self.context.copy())

	def do(self) -> None:
		self.is_begun = True
		self.how = ended(partial(self.context.run, self.function))

	def tell(self) -> None:
		self.under_way.release()
		if self.bell:
			with suppress(RuntimeError):  # nobody waits any more, and the loop is closed
				self.loop.call_soon_threadsafe(self.bell.set)

	def give_back(self) -> Ended:
		carry_back(self.context)
		return self.how


class Driver:
	"""Runs a loop until a task in it is done, or until a call has lasted so long that another thread took the loop over."""

	def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task):
		self.loop, self.task, self.lock, self.is_mine = loop, task, threading.Lock(), True
		self.asked: deque[tuple[Work, asyncio.Future]] = deque()
		self.made: tuple[Work, asyncio.Future] | None = None
		self.since = 0.0
		task.add_done_callback(lambda _: loop.stop())

	async def make(self, work: Work) -> bool:
		"""Have a call made. It has ended then, or lasts in a thread that drives no more; False: it has not even begun."""
		begun = self.loop.create_future()
		self.asked.append((work, begun))
		self.loop.stop()
		return await begun

	def run(self) -> None:
		while self.is_mine and not self.task.done():
			# Whoever waits for the task is told of them by the task.
			with suppress(KeyboardInterrupt, SystemExit):
				self.loop.run_forever()
			while self.is_mine and self.asked:
				self.make_next()

	def make_next(self) -> None:
		work, begun = self.asked.popleft()
		if begun.cancelled():
			return
		self.made, self.since = (work, begun), time.monotonic()
		work.do()
		work.tell()
		with self.lock:
			if self.is_mine:
				self.made = None
				begun.set_result(True)

	def take_over(self) -> bool:
		"""Whether a call has lasted for long. It keeps its thread; the loop is the asking thread's then."""
		with self.lock:
			if self.made is None or time.monotonic() - self.since < LONG:
				return False
			self.is_mine = False
		self.made[1].set_result(True)
		for _, begun in self.asked:
			if not begun.cancelled():
				begun.set_result(False)
		return True

	def halt(self, stopped: threading.Lock) -> None:
		"""Stop in the middle, so that nothing goes on beside what the waiting thread does next."""
		with self.lock:
			self.is_mine, made = False, self.made
		if made is None:
			self.loop.call_soon_threadsafe(self.loop.stop)
		if not stopped.acquire(timeout=GRACE) and self.made:
			self.made[0].leave()


def drive(loop: asyncio.AbstractEventLoop, task: asyncio.Task) -> Any:
	"""Run a loop in another thread until a task in it is done; gives or raises what that does."""
	driver, stopped = Driver(loop, task), threading.Lock()
	stopped.acquire()
	try:
		drivers[loop] = driver
		put_to_work(driver.run, stopped.release)
		# A thread in whose own loop somebody waits can take no other over.
		while not stopped.acquire(timeout=LONG):
			if not is_running() and driver.take_over():
				break
	except BaseException:  # a signal: what is waited for is left as it stands
		driver.halt(stopped)
		raise
	finally:
		drivers.pop(loop, None)
	try:
		return task.result() if task.done() else loop.run_until_complete(task)
	except BaseException:  # a signal here as well: no call goes on beside what this thread does next
		for work in [each for each in lent() if each.loop is loop]:
			lent().remove(work)
			work.leave(GRACE)
		raise


def is_running() -> bool:
	"""Whether an event loop is at work in this thread."""
	try:
		asyncio.get_running_loop()
	except RuntimeError:
		return False
	return True


def is_lent() -> bool:
	"""Whether synchronous code is at work in another thread for the loop of this one."""
	return bool(lent())


def lent() -> list[Work]:
	"""The calls that this thread's loop waits for."""
	return kept.__dict__.setdefault("lent", [])


def put_to_work(work: Callable[[], None], tell: Callable[[], None]) -> None:
	"""Have a thread do it that does nothing else meanwhile, and tell of its end; there are as many as were needed at once."""
	try:
		jobs = idle[os.getpid()].pop()
	except IndexError:
		jobs = SimpleQueue()
		# A daemon: one that never ends must not keep the process.
		thread = threading.Thread(target=work_on, args=(jobs, idle[os.getpid()]), name="huf-run", daemon=True)
		# It is nobody's in particular: what is only tried may start none, but this one.
		contextvars.Context().run(thread.start)
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
			try:
				work()
				# Before it is told, so that who hears of it finds this thread and makes no other.
				waiting.append(jobs)
			finally:
				tell()
			# What a request had is not kept until there is something else to do.
			work = tell = None
