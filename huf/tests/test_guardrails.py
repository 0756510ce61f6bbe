"""The page of guardrails names tests that are there."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(test_\w+)`")
DEFINED = re.compile(r"def (test_\w+)\(")


class TestGuardrails(unittest.TestCase):
	def test_every_guardrail_on_the_page_has_its_test(self):
		page = (ROOT / "docs" / "guardrails.md").read_text()
		rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
		defined = {name for path in ROOT.glob("huf/**/*.py") for name in DEFINED.findall(path.read_text())}
		self.assertEqual([row for row in rows if not NAMED.search(row)], [])
		self.assertEqual(sorted(set(NAMED.findall(page)) - defined), [])
