"""Arguments of requests that may be JSON: a wrong one is refused with its name."""

import unittest

from huf.ai.core.errors import UsageError
from huf.ai.core.request_values import read_json_object, read_text_list, read_text_map


class TestRequestValues(unittest.TestCase):
	def test_objects_and_lists_are_read_as_they_are_or_from_json(self):
		for given in ({"a": "b"}, '{"a": "b"}'):
			self.assertEqual(read_json_object(given, "values"), {"a": "b"})
			self.assertEqual(read_text_map(given, "headers"), {"a": "b"})
		for given in (["a"], '["a"]'):
			self.assertEqual(read_text_list(given, "names"), ["a"])

	def test_argument_of_another_type_is_refused_with_its_name(self):
		for read, given in (
			(read_json_object, [{"a": "b"}]),
			(read_json_object, "5"),
			(read_json_object, None),
			(read_json_object, "{"),
			(read_text_map, {"a": 5}),
			(read_text_map, ["a"]),
			(read_text_list, {"a": "b"}),
			(read_text_list, [5]),
		):
			with self.subTest(read.__name__, given=given), self.assertRaisesRegex(UsageError, "the_argument"):
				read(given, "the_argument")
