"""Measures the processor time and memory of a call, and how its time grows with the length of a text."""

import time
import tracemalloc
from collections.abc import Callable
from unittest import TestCase


def measure(work: Callable[[], object]) -> tuple[float, int]:
	"""Returns (upper bound of this thread's processor seconds, peak bytes).

	Tracing memory slows `work` down, up to eight times on Python 3.14: slow calls are timed again without it.
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
	"""Reading `text_of(chars)` takes at most two seconds or, on a slow machine, time linear in the length.

	Four times the length takes four times as long in linear time, and 16 times as long in quadratic time.
	"""
	seconds = time_thread(lambda: read(text_of(chars)))
	if seconds > 2:
		case.assertLess(seconds, 8 * time_thread(lambda: read(text_of(chars // 4))))
