"""docs/guardrails.md names tests and modules that exist."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"`(test_\w+)`")
MODULE = re.compile(r"^\| [^|]+ \| `([\w/.]+)` \|")
DEFINED = re.compile(r"def (test_\w+)\(")


class TestGuardrails(unittest.TestCase):
	def setUp(self):
		page = (ROOT / "docs" / "guardrails.md").read_text()
		self.rows = [line for line in page.splitlines() if line.startswith("| ")][1:]

	def test_every_guardrail_on_the_page_has_its_test(self):
		defined = {name for path in ROOT.glob("huf/**/*.py") for name in DEFINED.findall(path.read_text())}
		self.assertEqual([row for row in self.rows if not TEST.search(row)], [])
		named = {name for row in self.rows for name in TEST.findall(row)}
		self.assertEqual(sorted(named - defined), [])

	def test_every_guardrail_on_the_page_has_its_module(self):
		self.assertTrue(self.rows)
		for row in self.rows:
			module = MODULE.match(row)
			self.assertTrue(module and (ROOT / "huf" / "ai" / module[1]).exists(), row)
