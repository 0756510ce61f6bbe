"""Bounds what a program that is an MCP server adds to the log of this process: its stderr, and the SDK's
tracebacks about lines that are not MCP.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

MAX_STDERR_BYTES = 100_000
"""Limit for a session. More is read and dropped: a program whose output nobody reads would hang."""
PIECE_BYTES = 65_536
LOG_PAUSE_S = 60.0


@contextmanager
def limited_stderr(name: str) -> Iterator[TextIO]:
	"""The stderr of a program, of which the beginning is passed on to that of this process."""
	reading, writing = os.pipe()
	threading.Thread(target=pass_on, args=(reading, name), daemon=True).start()
	with open(writing, "w") as stderr:
		yield stderr


def pass_on(descriptor: int, name: str) -> None:
	left = MAX_STDERR_BYTES
	with open(descriptor, "rb", buffering=0) as output:
		while piece := output.read(PIECE_BYTES):
			if left > 0:
				end = f"\n{name} writes more, which is left out.\n" if len(piece) > left else ""
				with suppress(OSError, ValueError):  # a closed log, or a full disk
					sys.stderr.write(piece[:left].decode(errors="replace") + end)
					sys.stderr.flush()
			left -= len(piece)


class Seldom(logging.Filter):
	"""Passes one record a minute."""

	last = -LOG_PAUSE_S

	def filter(self, record: logging.LogRecord) -> bool:
		now = time.monotonic()
		is_due = now - self.last >= LOG_PAUSE_S
		self.last = now if is_due else self.last
		return is_due


logging.getLogger("mcp.client.stdio").addFilter(Seldom())
