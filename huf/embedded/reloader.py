"""Restarts the server after changes of the site's apps, for `huf start --reload`."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

SUFFIXES = (".py", ".json", ".yaml", ".md", ".txt", ".csv")
POLL_S = 0.5
STOP_TIMEOUT_S = 20


def serve_reloading(home: Path, host: str, port: int, open_browser: bool) -> None:
	"""Serve the site of `home` until SIGINT or SIGTERM. A browser opens only at the first start."""
	words = ("--home", str(home), "start", "--port", str(port), "--host", host)
	first_options = ("--open",) if open_browser else ()
	reloader = Reloader((sys.executable, "-m", "huf.embedded", *words), home / "apps", first_options)
	signal.signal(signal.SIGTERM, lambda *_: reloader.stop())
	with suppress(KeyboardInterrupt):  # Ctrl-C, which the server has received too
		reloader.run()


class Reloader:
	"""Runs a command, and again whenever a file in `folder` has changed, until `stop`.

	A command that ends by itself, as after a broken DocType file, is run again after the next change. Only
	the first run has the `first_options`.
	"""

	def __init__(
		self, command: Sequence[str], folder: Path, first_options: Sequence[str] = (), poll_s: float = POLL_S
	):
		self.command, self.folder, self.first_options, self.poll_s = command, folder, first_options, poll_s
		self.stopped = threading.Event()

	def run(self) -> None:
		options = self.first_options
		while not self.stopped.is_set():
			before = self.read_times()
			process = subprocess.Popen((*self.command, *options))
			options = ()
			try:
				while not self.stopped.wait(self.poll_s) and self.read_times() == before:
					pass
			finally:
				end(process)

	def stop(self) -> None:
		self.stopped.set()

	def read_times(self) -> dict[str, int]:
		"""When each file was last changed, in nanoseconds."""
		return dict(self.list_times())

	def list_times(self) -> Iterator[tuple[str, int]]:
		for folder, folders, names in os.walk(self.folder):
			folders[:] = [each for each in folders if not each.startswith((".", "__", "node_modules"))]
			for name in names:
				path = os.path.join(folder, name)
				# An editor may be replacing the file.
				with suppress(FileNotFoundError):
					if name.endswith(SUFFIXES):
						yield path, os.stat(path).st_mtime_ns


def end(process: subprocess.Popen) -> None:
	process.terminate()
	try:
		process.wait(STOP_TIMEOUT_S)
	except subprocess.TimeoutExpired:
		process.kill()
		process.wait()
