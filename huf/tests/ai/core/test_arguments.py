"""Arguments are parsed and checked against a schema."""

import json
import socket
import tracemalloc
import unittest

from huf.ai.core.arguments import check_arguments, drop_nulls, parse_arguments, strip_fence
from huf.ai.core.errors import ToolError
from huf.tests.measuring import assert_bounded


class TestReferences(unittest.TestCase):
	def test_schema_that_refers_to_another_document_is_refused_without_fetching_it(self):
		with socket.create_server(("127.0.0.1", 0)) as server:
			server.settimeout(0.2)
			address = f"http://127.0.0.1:{server.getsockname()[1]}/x"
			for schema in (address, "file:///etc/hostname"):
				with self.assertRaisesRegex(ToolError, "refers to something outside"):
					check_arguments({"a": 1}, {"properties": {"a": {"$ref": schema}}})
			self.assertRaises(TimeoutError, server.accept)
		check_arguments(
			{"a": 1}, {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
		)


class TestPatterns(unittest.TestCase):
	def check(self, pattern: str, value: str) -> None:
		check_arguments({"code": value}, {"properties": {"code": {"type": "string", "pattern": pattern}}})

	def test_value_that_does_not_match_the_pattern_is_refused(self):
		self.check("^[A-Z]{2}$", "CZ")
		with self.assertRaisesRegex(ToolError, "'Prague' does not match"):
			self.check("^[A-Z]{2}$", "Prague")

	def test_pattern_with_catastrophic_backtracking_times_out(self):
		with self.assertRaisesRegex(ToolError, "too long to match"):
			self.check("^(a|aa)+$", "a" * 60 + "b")

	def test_unsupported_pattern_syntax_is_not_checked(self):
		self.check(r"^\p{Script=Nowhere}$", "anything")


class TestUniqueItems(unittest.TestCase):
	SCHEMA = {"properties": {"rows": {"type": "array", "uniqueItems": True}}}

	def test_equal_items_are_refused(self):
		check_arguments({"rows": [{"a": 1, "b": 2}, {"a": 1, "b": 3}, "1", 1]}, self.SCHEMA)
		with self.assertRaisesRegex(ToolError, "rows: has equal items"):
			check_arguments({"rows": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}, self.SCHEMA)

	def test_many_objects_are_compared_in_linear_time(self):
		def check(rows: str) -> None:
			check_arguments({"rows": json.loads(rows)}, self.SCHEMA)

		assert_bounded(self, check, lambda count: json.dumps([{"a": each} for each in range(count)]), 20_000)


class TestManyErrors(unittest.TestCase):
	def test_errors_of_many_wrong_items_take_bounded_memory(self):
		texts = {"type": "array", "items": {"type": "string"}}
		for schema in (texts, {"anyOf": [texts, {"type": "null"}]}, {"oneOf": [{"type": "null"}, texts]}):
			with self.subTest(schema):
				tracemalloc.start()
				self.addCleanup(tracemalloc.stop)
				with self.assertRaisesRegex(ToolError, "is not of type 'string'|is not valid under any"):
					check_arguments({"names": [1] * 20_000}, {"properties": {"names": schema}})
				_now, peak = tracemalloc.get_traced_memory()
				self.assertLess(peak, 5_000_000)
				tracemalloc.stop()

	def test_exactly_one_alternative_must_match(self):
		number = {"oneOf": [{"type": "integer"}, {"$ref": "#/$defs/large"}]}
		schema = {"properties": {"a": number}, "$defs": {"large": {"type": "number", "minimum": 3}}}
		check_arguments({"a": 1}, schema)
		check_arguments({"a": 3.5}, schema)
		for value, reason in ((5, "5 is valid under each of"), (2.5, "2.5 is not valid under any of")):
			with self.subTest(value), self.assertRaisesRegex(ToolError, reason):
				check_arguments({"a": value}, schema)


class TestParse(unittest.TestCase):
	def test_code_fence_around_json_is_removed(self):
		for text in ('```json\n{"a": 1}\n```', '```{"a": 1}```', ' {"a": 1} '):
			self.assertEqual(parse_arguments(text), {"a": 1})
		for text in ("```", "`````", "no fence"):
			self.assertEqual(strip_fence(text), text)

	def test_object_encoded_twice_and_null_are_read(self):
		self.assertEqual(parse_arguments(json.dumps('{"a": "b\\n"}')), {"a": "b\n"})
		self.assertEqual(parse_arguments("null"), {})
		for text in ('"a"', '"[1]"', '"{"', json.dumps(json.dumps('{"a": 1}'))):
			with self.assertRaises(ToolError):
				parse_arguments(text)

	def test_unclosed_code_fence_is_refused_in_linear_time(self):
		def refuse(text: str):
			with self.assertRaises(ToolError):
				parse_arguments(text)

		assert_bounded(self, refuse, lambda chars: "```" + " " * chars + "x", 2_000)

	def test_too_deep_arguments_are_refused(self):
		for text in (
			'{"a":' * 500 + "1" + "}" * 500,
			'{"a":' + "[" * 100_000,
			'{"a":' * 500 + "1,}" + "}" * 499,
		):
			with self.assertRaisesRegex(ToolError, "not valid JSON"):
				parse_arguments(text)

	def test_lone_surrogate_is_replaced(self):
		self.assertEqual(parse_arguments(r'{"a": ["\ud800"]}'), {"a": ["\N{REPLACEMENT CHARACTER}"]})

	def test_null_is_dropped_only_for_what_is_optional_and_cannot_be_null(self):
		kinds = {"name": "string", "limit": "integer", "due": ["string", "null"]}
		schema = {"properties": {each: {"type": kind} for each, kind in kinds.items()}, "required": ["name"]}
		schema["properties"] |= {"any": {}, "yes": True}
		given = dict.fromkeys(("name", "limit", "due", "any", "yes", "unknown"))
		self.assertEqual(list(drop_nulls(given, schema)), ["name", "due", "any", "yes", "unknown"])
		self.assertEqual(drop_nulls({"limit": 0}, schema), {"limit": 0})
		self.assertEqual(drop_nulls(given, {}), given)
