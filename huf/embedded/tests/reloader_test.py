"""`huf start --reload` restarts the server after changes of apps."""

import os
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from huf.embedded.reloader import Reloader
from huf.tests.base import enter

MAX_WAIT_S = 20


class TestReloader(unittest.TestCase):
	def setUp(self):
		self.root = Path(enter(self, tempfile.TemporaryDirectory(prefix="huf-test-")))
		self.apps, self.log = self.root / "apps", self.root / "log"
		self.write("my_tools/tools.py", "VERSION = 1\n")

	def write(self, path: str, text: str) -> None:
		file = self.apps / path
		file.parent.mkdir(parents=True, exist_ok=True)
		file.write_text(text)

	def start(self, code: str) -> Reloader:
		"""Run a reloader whose command logs that it has started, and then executes `code`."""
		line = f"import os, time; open({str(self.log)!r}, 'a').write(f'{{os.getpid()}}\\n'); {code}"
		reloader = Reloader((sys.executable, "-c", line), self.apps, poll_s=0.02)
		thread = threading.Thread(target=reloader.run)
		thread.start()
		self.addCleanup(thread.join)
		self.addCleanup(reloader.stop)
		return reloader

	def wait_for_starts(self, number: int) -> list[int]:
		end = time.monotonic() + MAX_WAIT_S
		while time.monotonic() < end:
			lines = self.log.read_text().splitlines() if self.log.exists() else []
			if len(lines) >= number:
				return [int(line) for line in lines]
			time.sleep(0.02)
		self.fail(f"not started {number} times")

	def test_changed_and_new_files_restart_the_command_and_others_do_not(self):
		self.start("time.sleep(60)")
		[first] = self.wait_for_starts(1)
		self.write("my_tools/__pycache__/tools.pyc", "")
		self.write("my_tools/data.bin", "")
		self.write("my_tools/tools.py", "VERSION = 22\n")
		self.assertEqual(self.wait_for_starts(2)[0], first)
		self.write("my_tools/more.py", "")
		self.assertEqual(len(set(self.wait_for_starts(3))), 3)
		self.assertRaises(ProcessLookupError, os.kill, first, 0)

	def test_command_that_has_failed_runs_again_after_the_next_change(self):
		self.start("raise SystemExit(1)")
		self.wait_for_starts(1)
		self.write("my_tools/doctype/order.json", "{}")
		self.assertEqual(len(self.wait_for_starts(2)), 2)

	def test_stopping_ends_the_command(self):
		reloader = self.start("time.sleep(60)")
		[process] = self.wait_for_starts(1)
		reloader.stop()
		self.doCleanups()
		self.assertRaises(ProcessLookupError, os.kill, process, 0)
