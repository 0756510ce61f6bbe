"""Installation warns if LiteLLM is missing."""

import unittest
from contextlib import redirect_stdout
from io import StringIO
from unittest.mock import patch

from huf import install


class TestLiteLLM(unittest.TestCase):
	def test_a_missing_litellm_is_reported_with_the_command_to_run(self):
		for found, message in ((None, "bench setup requirements"), (object(), "")):
			with patch.object(install, "find_spec", lambda name, found=found: found):
				with redirect_stdout(StringIO()) as output:
					install.warn_if_litellm_is_missing()
			self.assertIn(message, output.getvalue())
			self.assertEqual(bool(output.getvalue()), bool(message))
