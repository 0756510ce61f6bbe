"""A fair queue for the write lock of a file, among the threads of a process.

With SQLite alone each thread would poll with a connection of its own, and one of many might starve. SQLite
still decides: the first in the queue, if it has waited too long, tries the lock itself, and takes the turn if
it succeeds.
"""

from collections import deque
from threading import Lock

PATIENCE = 1.0
"""Seconds after which the first in the queue no longer waits for the thread that has the turn."""


class Turns:
	"""`who`: any object that identifies a writer."""

	def __init__(self):
		self._guard = Lock()
		self._holder: object | None = None
		self.waiting: deque[tuple[object, Lock]] = deque()

	def take(self, who: object) -> bool:
		"""Wait for the turn. Returns False if the writer should try SQLite's lock without it."""
		with self._guard:
			if self._holder is None:
				self._holder = who
				return True
			called = Lock()
			called.acquire()
			place = (who, called)
			self.waiting.append(place)
		try:
			while not called.acquire(timeout=PATIENCE):
				with self._guard:
					if self.waiting and self.waiting[0] is place:
						self.waiting.popleft()
						return False
		except BaseException:  # re-raised: a job that timed out while it waited must not keep its place
			self.leave(place)
			raise
		return True

	def leave(self, place: tuple[object, Lock]) -> None:
		"""Leave the queue; a turn that was granted in the meantime is passed on."""
		with self._guard:
			if place in self.waiting:
				self.waiting.remove(place)
				return
		self.give(place[0])

	def keep(self, who: object) -> None:
		"""Take the turn after SQLite has granted the lock: its earlier holder is gone."""
		with self._guard:
			self._holder = who

	def give(self, who: object) -> None:
		with self._guard:
			if self._holder is not who:
				return
			self._holder = None
			if self.waiting:
				self._holder, called = self.waiting.popleft()
				called.release()


_turns: dict[str, Turns] = {}


def turns_of(path: str) -> Turns:
	"""The turns of the file at `path`."""
	return _turns.get(path) or _turns.setdefault(path, Turns())
