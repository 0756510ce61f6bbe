"""Untrusted JSON and text are parsed safely, empty tool results are recognized, and long ones truncated."""

import json
import unittest

from huf.ai.core.json_text import (
	MAX_JSON_LEVELS,
	is_empty_result,
	make_encodable,
	parse_json,
	parse_result,
	truncate_result,
)
from huf.ai.providers.offline.answers import read_result
from huf.ai.tools.sources import read_sources

ROWS = {"doctype": "ToDo", "rows": [{"name": f"T-{number:03}"} for number in range(100)], "count": 100}


class TestEmptyResults(unittest.TestCase):
	def test_empty_values_and_empty_lists_count_as_an_empty_result(self):
		for text in (
			"",
			"null",
			"[]",
			"{}",
			'{"query": "tea", "results": []}',
			'{"doctype": "ToDo", "rows": [], "count": 0}',
			'{"query": "tea", "hits": 0, "empty": true}',
		):
			self.assertTrue(is_empty_result(text), text)

	def test_values_that_are_not_empty_count_as_a_result(self):
		for text in (
			"Nothing.",
			"0",
			"false",
			'{"query": "tea"}',
			'{"results": [{"title": "Tea"}]}',
			'{"results": [], "rows": [1]}',
			'{"results": [], "empty": false}',
		):
			self.assertFalse(is_empty_result(text), text)

	def test_results_that_are_nested_too_deeply_are_text(self):
		for text in ("[" * 5_000, '{"a":' * 900 + "1" + "}" * 900):
			self.assertFalse(is_empty_result(text))
			self.assertEqual((parse_result(text), read_sources(text), read_result(text)[0]), (text, [], text))


class TestFit(unittest.TestCase):
	def test_result_within_or_without_a_limit_is_unchanged(self):
		self.assertEqual(json.loads(truncate_result(ROWS)), ROWS)
		self.assertEqual(truncate_result("short", 5), "short")

	def test_truncated_rows_are_dropped_from_the_end_and_stay_json(self):
		text = truncate_result(ROWS, 300)
		result = json.loads(text)
		self.assertLess(len(text), 330)
		self.assertEqual(result["rows"], ROWS["rows"][: result["count"]])
		self.assertEqual((result["more"], result["count"] > 5), (True, True))

	def test_long_text_is_cut_with_the_number_of_omitted_characters(self):
		self.assertTrue(truncate_result("x" * 1000, 100).startswith("x" * 100 + "… [900 more characters"))

	def test_a_row_too_long_to_fit_is_cut_as_text(self):
		self.assertIn("more characters", truncate_result({"rows": [{"a": "x" * 500}]}, 100))


class TestTextFromOutside(unittest.TestCase):
	def test_json_nesting_depth_is_limited(self):
		deep = "[" * MAX_JSON_LEVELS + "]" * MAX_JSON_LEVELS
		self.assertIsInstance(parse_json(deep), list)
		for text in (f"[{deep}]", '{"a":' * 500 + "1" + "}" * 500, "[" * 100_000):
			with self.assertRaises(ValueError):
				parse_json(text)
		brackets = "[" * 1000
		self.assertEqual(parse_json(f'["{brackets}"]'), [brackets])

	def test_surrogate_pairs_are_joined_and_lone_surrogates_replaced(self):
		self.assertEqual(make_encodable("caf\u00e9 \ud83d\ude00"), "caf\u00e9 \N{GRINNING FACE}")
		self.assertEqual(make_encodable("\ud83d!"), "\N{REPLACEMENT CHARACTER}!")
