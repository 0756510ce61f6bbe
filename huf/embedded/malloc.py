"""Settings of glibc's malloc for processes with many threads; elsewhere they do nothing."""

import ctypes
import os
import sys

VARIABLE = "GLIBC_TUNABLES"
SETTINGS = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"
"""By default each thread caches up to 236 KB of freed memory, which fills up slowly: a server with 350
threads grew by 60 MB. And each of eight arenas for each processor keeps what its own peak needed. Python's
lock hardly ever lets two threads allocate at once.
"""


def start_with_settings() -> None:
	"""Replace this process by itself with these settings, unless it has them or the operator's own.

	glibc reads them when a program starts. Programs that this one starts do not inherit them.
	"""
	if sys.platform != "linux":
		return
	if VARIABLE not in os.environ:
		command = [sys.executable, *sys.orig_argv[1:]]
		os.execve(sys.executable, command, {**os.environ, VARIABLE: SETTINGS})  # noqa: S606 (this program)
	if os.environ[VARIABLE] == SETTINGS:
		del os.environ[VARIABLE]


def trim() -> None:
	"""Give free pages inside the heap back to the system. Takes 10 to 60 ms for 250 MB."""
	function = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
	if function:
		function(0)
