"""How many threads of the process use a database at once: the others wait in line.

One interpreter works for one thread at a time, so more at once would only take memory and make all of them
late. Who waits for a model or a client holds no place.
"""

from collections import deque
from threading import Lock

MAX_PLACES = 16
PATIENCE_S = 0.5
"""Where nobody has left for that long, who waits goes ahead: those who hold places may be waiting for it."""


class Places:
	"""At most `maximum` at once, in the order in which they came."""

	def __init__(self, maximum: int = MAX_PLACES):
		self.maximum, self.taken, self.left = maximum, 0, 0
		self._guard = Lock()
		self._waiting: deque[Lock] = deque()

	def take(self) -> None:
		with self._guard:
			if self.taken < self.maximum:
				self.taken += 1
				return
			called = Lock()
			called.acquire()
			self._waiting.append(called)
			seen = self.left
		while not called.acquire(timeout=PATIENCE_S):
			with self._guard:
				if self.left == seen and called in self._waiting:
					self._waiting.remove(called)
					self.taken += 1
					return
				seen = self.left

	def leave(self) -> None:
		with self._guard:
			self.left += 1
			if self._waiting and self.taken <= self.maximum:
				self._waiting.popleft().release()
			else:
				self.taken -= 1
