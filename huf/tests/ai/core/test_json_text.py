"""What a tool result says of itself."""

import unittest

from huf.ai.core.json_text import is_empty_result


class TestEmptyResults(unittest.TestCase):
	def test_a_tool_says_itself_that_it_found_nothing(self):
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

	def test_anything_else_is_a_result(self):
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
