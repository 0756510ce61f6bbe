"""Measures the processor time and memory of a call, and how its time grows with what it reads."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from unittest import TestCase

T = TypeVar("T")


def measure(work: Callable[[], object]) -> tuple[float, int]:
	"""Returns (this thread's processor seconds, the bytes by which the process grew at most). Linux only."""
	Path("/proc/self/clear_refs").write_text("5")  # the peak starts at the present size
	before = read_peak_memory()
	return time_thread(work), read_peak_memory() - before


def read_peak_memory() -> int:
	"""The most bytes of RAM that this process has held."""
	status = Path("/proc/self/status").read_text()
	return int(status.split("VmHWM:")[1].split()[0]) * 1024


def time_thread(work: Callable[[], object]) -> float:
	"""Seconds of this thread's processor time."""
	before = time.thread_time()
	work()
	return time.thread_time() - before


def assert_bounded(case: TestCase, read: Callable[[T], object], make: Callable[[int], T], size: int):
	"""Reading `make(size)` takes at most two seconds or, on a slow machine, time linear in the size.

	Four times the size takes four times as long in linear time, and 16 times as long in quadratic time.
	"""
	seconds = time_thread(lambda: read(make(size)))
	if seconds > 2:
		case.assertLess(seconds, 8 * time_thread(lambda: read(make(size // 4))))
