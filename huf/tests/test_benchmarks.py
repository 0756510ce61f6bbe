"""How the names of `scripts/bench` are read."""

import unittest

from huf.tests.benchmarks.__main__ import read_names


class TestNames(unittest.TestCase):
	def test_numbers_belong_to_the_benchmark_before_them(self):
		self.assertEqual(read_names(["soak", "60", "http"]), [["soak", "60"], ["http"]])

	def test_an_unknown_benchmark_is_refused_with_the_known_names(self):
		for unknown in ("nosuch", "5", "--help"):
			with self.assertRaises(SystemExit) as caught:
				read_names([unknown])
			self.assertIn(f"There is no benchmark {unknown}. Choose from: load, ", str(caught.exception))
