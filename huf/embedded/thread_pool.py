"""A pool whose idle threads end, so that their stacks are freed."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import Empty, SimpleQueue

IDLE_S = 10


class ThreadPool(Executor):
	"""At most `max_threads`. The one that was busy last takes the next work, so that others may end."""

	def __init__(self, max_threads: int, idle_s: float = IDLE_S):
		self.max_threads, self.idle_s = max_threads, idle_s
		self.guard, self.is_closed = threading.Lock(), False
		self.threads = 0
		self.idle: list[SimpleQueue] = []
		self.waiting: deque[tuple[Future, Callable]] = deque()

	def submit(self, function: Callable, /, *args, **kwargs) -> Future:
		work = future, _call = Future(), partial(function, *args, **kwargs)
		with self.guard:
			if self.is_closed:
				raise RuntimeError("The pool is closed")
			if self.idle:
				self.idle.pop().put(work)
			elif self.threads < self.max_threads:
				threading.Thread(target=self.work_off, args=(work,), name="huf-request").start()
				self.threads += 1
			else:
				self.waiting.append(work)
		return future

	def work_off(self, work: tuple[Future, Callable] | None) -> None:
		inbox: SimpleQueue = SimpleQueue()
		while work:
			run(*work)
			work = None  # nothing of it stays while this thread waits
			work = self.find_work(inbox)

	def find_work(self, inbox: SimpleQueue) -> tuple[Future, Callable] | None:
		"""The next work item; None if this thread should end."""
		with self.guard:
			if self.waiting:
				return self.waiting.popleft()
			if self.is_closed:
				return None
			self.idle.append(inbox)
		try:
			return inbox.get(timeout=self.idle_s)
		except Empty:
			with self.guard:
				if inbox in self.idle:
					self.idle.remove(inbox)
					self.threads -= 1
					return None
		return inbox.get()  # `submit` has just taken this thread

	def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
		"""Stop taking work. Does not wait; the process ends after the work that was taken."""
		with self.guard:
			self.is_closed = True
			while self.idle:
				self.idle.pop().put(None)
			while cancel_futures and self.waiting:
				self.waiting.pop()[0].cancel()


def run(future: Future, call: Callable) -> None:
	if not future.set_running_or_notify_cancel():
		return
	try:
		result = call()
	except BaseException as error:  # the caller gets it from the future; the thread goes on
		future.set_exception(error)
	else:
		future.set_result(result)
