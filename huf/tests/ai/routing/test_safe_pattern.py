"""Which patterns a site may add, and which are refused."""

import unittest

from huf.ai.core.errors import UsageError
from huf.ai.routing.safe_pattern import check_safe_pattern

SAFE = (
	"nabídk",
	r"busca .{0,20}precio",
	r"^\s*hola",
	"price|cost",
	"(a|b)?c",
	"[a-z]+",
	r"a\)+",
	"[)]*x",
	r"a.*b.*c",
)
UNSAFE = {
	"(": "not a regular expression",
	"(a+)+$": "repeats a group",
	"(a|aa)*": "repeats a group",
	"(?:ab){2,}": "repeats a group",
	"a*b*c*": "repeats too much",
	"a?" * 25: "repeats too much",
	r"(a)\1": "refers back",
	"x" * 301: "300 characters",
}


class TestSafePattern(unittest.TestCase):
	def test_plain_patterns_pass(self):
		for pattern in SAFE:
			with self.subTest(pattern):
				check_safe_pattern(pattern)

	def test_invalid_or_catastrophic_patterns_are_refused_with_the_reason(self):
		for pattern, reason in UNSAFE.items():
			with self.subTest(pattern), self.assertRaisesRegex(UsageError, reason):
				check_safe_pattern(pattern)
