"""What test processes fork from."""

import subprocess
import sys
import unittest

WITHOUT_A2A = """
import sys
sys.modules["a2a"] = None
import huf.tests.warm_modules
"""


class TestWarmModules(unittest.TestCase):
	def test_what_is_installed_is_loaded_where_optional_libraries_are_missing(self):
		loaded = subprocess.run(
			[sys.executable, "-c", WITHOUT_A2A], capture_output=True, text=True, timeout=120
		)
		self.assertEqual(loaded.returncode, 0, loaded.stderr)
