"""Settings of glibc's malloc for processes with many threads; elsewhere they do nothing."""

import ctypes
import sys

M_ARENA_MAX = -8
"""Of mallopt(3)."""
MAX_ARENAS = 1
"""By default there are 8 for each processor, and each keeps what its own peak needed. Python's lock lets
hardly ever two threads allocate at once."""


def limit_arenas() -> bool:
	"""Call it before there are threads. Returns whether malloc has taken the setting."""
	return bool(call("mallopt", M_ARENA_MAX, MAX_ARENAS))


def trim() -> None:
	"""Give free pages inside the heap back to the system. Takes 10 to 60 ms for 250 MB."""
	call("malloc_trim", 0)


def call(name: str, *arguments: int) -> int | None:
	"""What a function of glibc returns; None where there is none."""
	function = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
	return function(*arguments) if function else None
