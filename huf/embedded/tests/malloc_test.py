"""A server uses one malloc arena and no thread caches, ends idle threads, and returns free memory to the
system.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from frappe.utils import job_worker

from huf.embedded.malloc import SETTINGS as SETTINGS_OF_MALLOC
from huf.embedded.malloc import VARIABLE
from huf.embedded.tests.server_test import Server
from huf.embedded.thread_pool import IDLE_S
from huf.tests.ports import find_free_port

HEAP_BYTES = 64 * 2**20
TRIM = """
from pathlib import Path
from huf.embedded.malloc import start_with_settings, trim
start_with_settings()
def read_mb():
	return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 2**20
pieces = [bytes(20_000) for _ in range(4_000)]
kept = pieces[::10]
del pieces
before = read_mb()
trim()
print(before - read_mb())
"""

SETTINGS = """
import os, sys
from huf.embedded.malloc import start_with_settings
print(os.getpid(), os.environ.get("GLIBC_TUNABLES"), sys.argv[1:], flush=True)
start_with_settings()
print(os.getpid(), os.environ.get("GLIBC_TUNABLES"), sys.argv[1:], flush=True)
"""


def count_arenas(pid: int) -> int:
	"""Arenas other than the first thread's: used memory at a multiple of 64 MB, then reserved memory."""
	maps = [line.split()[:2] for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
	areas = [(*(int(each, 16) for each in place.split("-")), rights) for place, rights in maps]
	return sum(
		start % HEAP_BYTES == 0 and (rights, after[2], after[1] % HEAP_BYTES) == ("rw-p", "---p", 0)
		for (start, _end, rights), after in pairwise(areas)
	)


@unittest.skipUnless(platform.libc_ver()[0] == "glibc", "There is no glibc.")
class TestMalloc(unittest.TestCase):
	def test_trim_returns_free_memory_between_live_objects_to_the_system(self):
		done = subprocess.run([sys.executable, "-c", TRIM], capture_output=True, text=True, check=True)
		self.assertGreater(int(done.stdout), 30)

	def test_process_restarts_once_with_malloc_settings_that_children_do_not_get(self):
		for own in ("", "glibc.malloc.check=0"):
			environment = {**os.environ, **({VARIABLE: own} if own else {})}
			command = [sys.executable, "-c", SETTINGS, "a", "b c"]
			done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
			process, *lines = done.stdout.splitlines()
			pid = process.split()[0]
			values = [own, own] if own else ["None", SETTINGS_OF_MALLOC, "None"]
			expected = [f"{pid} {each} ['a', 'b c']" for each in values]
			self.assertEqual([process, *lines], expected)

	def test_server_keeps_one_arena_and_its_idle_threads_end(self):
		home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, home, ignore_errors=True)
		server = Server(home, find_free_port())
		self.addCleanup(server.stop)
		worker = self.find_child(server.process.pid)
		before = self.count_threads(worker)
		with ThreadPoolExecutor(40) as pool:
			list(pool.map(lambda _: server.call("/api/method/ping").read(), range(400)))
		self.assertEqual((count_arenas(server.process.pid), count_arenas(worker)), (0, 0))
		self.assertGreater(self.count_threads(worker), before)
		deadline = time.monotonic() + IDLE_S + 10
		while (after := self.count_threads(worker)) > before and time.monotonic() < deadline:
			time.sleep(0.5)
		self.assertLessEqual(after, before)

	def find_child(self, pid: int) -> int:
		return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

	def count_threads(self, pid: int) -> int:
		return len(list(Path(f"/proc/{pid}/task").iterdir()))


class Beats(threading.Event):
	"""An event that is set after `beats` waits."""

	def __init__(self, beats: int):
		super().__init__()
		self.beats = beats

	def wait(self, timeout: float | None = None) -> bool:
		self.beats -= 1
		return self.beats < 0


class TestWatch(unittest.TestCase):
	def test_a_worker_gives_free_memory_back_once_a_minute(self):
		home = tempfile.mkdtemp(prefix="huf-test-")
		self.addCleanup(shutil.rmtree, home, ignore_errors=True)
		Path(home, "site").mkdir()
		worker = job_worker.Worker("site", home)
		worker.stopping = Beats(2 * job_worker.BEATS_PER_MINUTE)
		with patch.object(job_worker, "trim") as trim:
			worker._watch()
		self.assertEqual(trim.call_count, 2)
