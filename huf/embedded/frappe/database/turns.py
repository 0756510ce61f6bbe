"""Whose turn it is to write to a file, among the threads of a process: one after the other, in the order in
which they came.

SQLite alone would have each of them ask again and again, and one of many might never be heard. It still has
the last word: who has waited for too long asks it, and has the turn if it may write.
"""

from collections import deque
from threading import Lock

PATIENCE = 1.0
"""Seconds to wait for a thread that has the turn."""


class Turns:
	"""`who` is anything by which a writer is known again."""

	def __init__(self):
		self._guard = Lock()
		self._holder: object | None = None
		self.waiting: deque[tuple[object, Lock]] = deque()

	def take(self, who: object) -> bool:
		"""Wait for the turn, but not for ever: whether it is theirs now."""
		with self._guard:
			if self._holder is None:
				self._holder = who
				return True
			called = Lock()
			called.acquire()
			place = (who, called)
			self.waiting.append(place)
		if called.acquire(timeout=PATIENCE):
			return True
		with self._guard:
			if place in self.waiting:
				self.waiting.remove(place)
			return self._holder is who

	def keep(self, who: object) -> None:
		"""It may write: the holder of the turn is gone."""
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
	"""Those of the file at `path`."""
	return _turns.get(path) or _turns.setdefault(path, Turns())
