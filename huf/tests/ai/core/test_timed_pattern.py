"""User-written patterns cannot block the process, neither during compilation nor during a search."""

import unittest

from huf.ai.core.timed_pattern import PatternError, compile_pattern


class TestTimedPattern(unittest.TestCase):
	def test_search_with_catastrophic_backtracking_times_out(self):
		with self.assertRaises(TimeoutError):
			compile_pattern("^(a|aa)+$").occurs_in("a" * 60 + "!")

	def test_repetitions_that_fill_memory_are_refused(self):
		for pattern in (
			"a{1000000000}",
			"(?:(?:(?:a{1000}){1000}){1000})",
			"(?:" * 25 + "a" + "){2}" * 25,
			"(?x)(?:a{1000}) {1000} # {1000}",
			"(?:a{1000})(?#b){ 1000}",
			"(" * 5000,
		):
			with self.subTest(pattern[:40]):
				with self.assertRaises(PatternError):
					compile_pattern(pattern)

	def test_usual_repetitions_are_compiled(self):
		for pattern, text in (
			(r"^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", "123e4567-e89b-12d3-a456-426614174000"),
			(r"^(?:\d{1,3}\.){3}\d{1,3}$", "192.168.0.1"),
			(r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$", "2026-11-23T15:00:00"),
			(r"^.{1,5000}$", "x" * 5000),
		):
			self.assertTrue(compile_pattern(pattern).occurs_in(text), pattern)
