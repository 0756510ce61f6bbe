"""Progress that a tool reports while it works: people see it, and it renews the tool's time-out."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from huf.ai.core.secret_text import mask_secrets

MAX_TEXT_CHARS = 200
PAUSE_S = 0.5
"""Reports that follow one another sooner renew the time-out, but are not shown."""

Listen = Callable[[str, float | None], None]


class ToolProgress:
	"""The progress of one call. Made on the event loop that waits for it; `listen` is called there."""

	def __init__(self, listen: Listen | None):
		self.loop, self.listen = asyncio.get_running_loop(), listen
		self.reported_at = self.loop.time()
		self.displayed_at = 0.0

	def report(self, text: str, fraction: float | None) -> None:
		"""May be called from any thread."""
		self.reported_at = now = self.loop.time()
		if now - self.displayed_at < PAUSE_S:
			return
		self.displayed_at = now
		with suppress(RuntimeError):  # the loop is closed, so nobody waits for the result
			self.loop.call_soon_threadsafe(self.pass_on, text, fraction)

	def pass_on(self, text: str, fraction: float | None) -> None:
		if self.listen:
			self.listen(text, fraction)


CURRENT: ContextVar[ToolProgress | None] = ContextVar("huf_tool_progress", default=None)


@contextmanager
def listening(listen: Listen | None) -> Iterator[ToolProgress]:
	"""Receive what a tool reports in the block; what an abandoned call reports later is not shown."""
	progress = ToolProgress(listen)
	token = CURRENT.set(progress)
	try:
		yield progress
	finally:
		progress.listen = None
		CURRENT.reset(token)


def report_progress(text: str, fraction: float | None = None) -> None:
	"""Report the progress of the current tool call; does nothing outside a call.

	Each report renews the Tool Timeout, so that a long call is abandoned only if it falls silent.

	Args:
		text: one line for people, of at most 200 characters.
		fraction: of the work that is done, from 0 to 1, if it is known.
	"""
	if progress := CURRENT.get():
		line = mask_secrets(" ".join(str(text)[: 2 * MAX_TEXT_CHARS].split()))[:MAX_TEXT_CHARS]
		progress.report(line, None if fraction is None else min(max(float(fraction), 0.0), 1.0))
