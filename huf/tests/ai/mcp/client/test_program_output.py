"""Programs that are MCP servers: what they write fills neither the log nor a run."""

import io
import logging
import subprocess
import sys
import time
import unittest
from contextlib import redirect_stderr

from huf.ai.mcp.client import program_output
from huf.ai.mcp.client.program_output import MAX_STDERR_BYTES, limited_stderr

WRITE_5_MB = "import sys; sys.stderr.write('first words ' + 'x' * 5_000_000)"


class TestProgramOutput(unittest.TestCase):
	def test_a_program_that_writes_megabytes_to_stderr_ends_and_adds_their_beginning_to_the_log(self):
		with redirect_stderr(io.StringIO()) as log:
			with limited_stderr("notes") as stderr:
				subprocess.run([sys.executable, "-c", WRITE_5_MB], stderr=stderr, check=True, timeout=30)
			deadline = time.monotonic() + 10
			while "left out" not in log.getvalue() and time.monotonic() < deadline:
				time.sleep(0.01)
		self.assertTrue(log.getvalue().startswith("first words "))
		self.assertIn("notes writes more", log.getvalue())
		self.assertLess(len(log.getvalue()), MAX_STDERR_BYTES + 100)

	def test_lines_that_are_not_mcp_are_logged_once_a_minute(self):
		record = logging.LogRecord("mcp.client.stdio", logging.ERROR, "", 0, "Failed to parse", (), None)
		seldom = program_output.Seldom()
		self.assertEqual([bool(seldom.filter(record)) for _ in range(3)], [True, False, False])
		seldom.last -= program_output.LOG_PAUSE_S
		self.assertTrue(seldom.filter(record))
