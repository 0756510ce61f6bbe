"""`huf start` in processes that are forked from one with the modules already loaded."""

import os
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from huf.embedded.tests.server_test import Server
from huf.tests.forks import FORKS


class WarmServer(Server):
	def __init__(self, home: Path, port: int, **environment: str):
		self.url, self.began, self.output = f"http://127.0.0.1:{port}", time.perf_counter(), ""
		self.tokens, self.has_samples = {}, True
		reader, writer = FORKS.Pipe(duplex=False)
		self.process = FORKS.Process(target=start, args=(home, port, {**os.environ, **environment}, writer))
		self.process.start()
		writer.close()
		self.lines = os.fdopen(os.dup(reader.fileno()))
		reader.close()
		self.read_until_ready(self.lines)

	def stop(self) -> float:
		began = time.perf_counter()
		self.process.terminate()
		self.process.join(10)
		self.lines.close()
		return time.perf_counter() - began


def start(home: Path, port: int, environment: dict[str, str], output: Connection) -> None:
	from huf.embedded.cli import cli

	os.setsid()
	os.umask(0o077)
	os.environ.clear()
	os.environ.update(environment)
	for stream in (sys.stdout, sys.stderr):
		os.dup2(output.fileno(), stream.fileno())
		stream.reconfigure(line_buffering=True)
	with suppress(SystemExit):
		cli(["--home", str(home), "start", "--port", str(port)], prog_name="huf")
