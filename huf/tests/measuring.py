"""What a call takes of the processor and of memory, and how that grows with the length of a text."""

import time
import tracemalloc
from collections.abc import Callable
from unittest import TestCase


def measure(work: Callable[[], object]) -> tuple[float, int]:
	"""(at most these seconds of this thread's processor time, bytes at the peak).

	Tracing memory slows `work` down, on Python 3.14 up to eight times: what is slow is timed again without it.
	"""
	tracemalloc.start()
	try:
		seconds = time_thread(work)
		peak = tracemalloc.get_traced_memory()[1]
	finally:
		tracemalloc.stop()
	return (seconds if seconds < 1 else time_thread(work)), peak


def time_thread(work: Callable[[], object]) -> float:
	"""Seconds of this thread's processor time."""
	before = time.thread_time()
	work()
	return time.thread_time() - before


def assert_bounded(case: TestCase, read: Callable[[str], object], text_of: Callable[[int], str], chars: int):
	"""Reading `text_of(chars)` takes at most two seconds; on a slow machine, time in proportion to the length.

	Four times the length takes four times as long if the time is in proportion, sixteen if it grows with the
	square.
	"""
	seconds = time_thread(lambda: read(text_of(chars)))
	if seconds > 2:
		case.assertLess(seconds, 8 * time_thread(lambda: read(text_of(chars // 4))))
