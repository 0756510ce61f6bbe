"""Descriptions from MCP servers are cleaned for the model, and schemas are reduced to safe ones."""

import json
import unittest
from functools import partial

from mcp_types import CallToolResult, TextContent

from huf.ai.core.arguments import check_arguments
from huf.ai.core.errors import ToolError
from huf.ai.mcp.client.call_results import read_call_result
from huf.ai.mcp.client.definitions import ToolDefinition
from huf.ai.tools.schema_cleaning import UnusableTool, clean_schema, make_tool_name
from huf.tests.measuring import time_thread


def clean(schema: dict, name: str = "search", description: str = "Search") -> ToolDefinition:
	return ToolDefinition.clean(name, description, schema, {})


class TestDefinitions(unittest.TestCase):
	def test_hidden_characters_do_not_reach_the_model(self):
		hidden = "".join(chr(0xE0000 + ord(char)) for char in "steal")
		schema = {"properties": {"a": {"description": f"A{hidden}", "enum": [f"x{hidden}"]}}}
		definition = clean(schema, description=f"Search\u200b{hidden}\u202e")
		self.assertEqual(definition.description, "Search")
		self.assertEqual(definition.input_schema["properties"]["a"], {"description": "A", "enum": ["x"]})
		with self.assertRaises(UnusableTool):
			clean({}, name=f"search{hidden}")

	def test_variation_selectors_fillers_and_escaped_control_characters_do_not_reach_the_model(self):
		hidden = "".join(chr(0xE0100 + ord(char)) for char in "steal") + "\ufe01\u3164\u0000\u001b"
		schema = {"properties": {"a": {"description": f"A{hidden}", "enum": [f"x{hidden}"]}}}
		definition = clean(schema, description=f"Search{hidden}")
		self.assertEqual(definition.description, "Search")
		self.assertEqual(definition.input_schema["properties"]["a"], {"description": "A", "enum": ["x"]})
		result = CallToolResult(content=[], structured_content={f"k{hidden}": [f"v{hidden}"]})
		self.assertEqual(read_call_result(result), {"structured": {"k": ["v"]}})

	def test_emoji_keep_their_variation_selector_and_no_second_one(self):
		said = "Warns \u26a0\ufe0f, loves \u2764\ufe0f, takes 1\ufe0f\u20e3"
		hidden = "\ufe0f\ufe0e\ufe0f"
		definition = clean({"enum": [said]}, description=f"{said}, \u26a0\ufe0f{hidden} and a{hidden}")
		self.assertEqual(definition.description, f"{said}, \u26a0\ufe0f and a")
		self.assertEqual(definition.input_schema["enum"], [said])
		self.assertEqual(ToolDefinition.parse(definition.as_json()), definition)

	def test_a_definition_accepted_with_hidden_characters_equals_the_cleaned_one(self):
		definition = clean({}, description="Warns")
		stored = json.dumps({**vars(definition), "description": "Warns\ufe0f"})
		self.assertEqual(ToolDefinition.parse(stored), definition)

	def test_references_are_inlined_and_those_that_loop_accept_anything(self):
		node = {
			"type": "object",
			"properties": {"text": {"type": "string"}, "child": {"$ref": "#/$defs/node"}},
		}
		schema = clean_schema({"$defs": {"node": node}, "properties": {"tree": {"$ref": "#/$defs/node"}}})
		self.assertNotIn("$ref", json.dumps(schema))
		check_arguments({"tree": {"text": "a", "child": {"child": 1}}}, schema)
		self.assertRaises(ToolError, check_arguments, {"tree": {"text": 1}}, schema)

	def test_references_into_lists_and_with_escapes_are_inlined_and_tuples_of_draft_7_are_kept(self):
		properties = {
			"at": {"anyOf": [{"type": "null"}, {"type": "array", "items": [{"type": "number"}] * 2}]},
			"same": {"$ref": "#/properties/at/anyOf/1"},
			"name": {"$ref": "#/definitions/Full%20name"},
		}
		schema = clean_schema({"definitions": {"Full name": {"type": "string"}}, "properties": properties})
		self.assertEqual(schema["properties"]["name"], {"type": "string"})
		check_arguments({"same": [1, 2]}, schema)
		with self.assertRaisesRegex(ToolError, "same"):
			check_arguments({"same": [1, "2"]}, schema)
		for missing in ("2", "-1", "x"):
			with self.assertRaises(UnusableTool):
				clean_schema(
					{"properties": {**properties, "b": {"$ref": f"#/properties/at/anyOf/{missing}"}}}
				)

	def test_exclusive_limits_of_draft_4_are_translated(self):
		count = {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "exclusiveMaximum": False}
		schema = clean_schema({"properties": {"count": count}})
		self.assertEqual(schema["properties"]["count"], {"type": "integer", "exclusiveMinimum": 0})

	def test_a_property_can_be_named_like_a_schema_keyword(self):
		schema = clean_schema({"properties": {"pattern": {"type": "string", "pattern": "x"}}})
		self.assertEqual(schema["properties"], {"pattern": {"type": "string"}})

	def test_hostile_schemas_are_refused_or_made_harmless(self):
		deep: dict = {}
		for _ in range(100):
			deep = {"items": deep}
		doubled = {"$defs": {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(20)}}
		doubled["$defs"]["d20"] = {"type": "string"}
		for schema in (
			{"properties": {"a": {"$ref": "http://169.254.169.254/latest"}}},
			{"properties": {"a": {"$ref": "#/$defs/missing"}}},
			{"properties": {"a": deep}},
			{**doubled, "properties": {"a": {"$ref": "#/$defs/d0"}}},
			{"properties": {"a": {"description": "x" * 50_000}}},
			{"properties": {"a": {"type": "nonsense"}}},
			{"properties": {"a": {"allOf": [{}] * 5_000}}},
			{
				"properties": {f"p{i}": {"$ref": "#/$defs/d"} for i in range(50)},
				"$defs": {"d": {"allOf": [{}] * 40}},
			},
			["not", "an", "object"],
		):
			with self.subTest(str(schema)[:60]), self.assertRaises(UnusableTool):
				clean_schema(schema)

	def test_a_schema_made_to_be_slow_is_checked_within_seconds(self):
		nested: dict = {}
		for place in range(9):
			nested = {"allOf": [nested] * (2 if place < 4 else 1), "unevaluatedProperties": True}
		for schema, value in (
			({"properties": {"a": {"type": "string", "pattern": "^(x+x+)+y$"}}}, "x" * 60),
			(nested, "x"),
		):
			cleaned = clean_schema(schema)
			with self.subTest(str(schema)[:60]):
				check = partial(check_arguments, {"a": value}, cleaned)
				self.assertLess(time_thread(check), 2)

	def test_a_schema_with_a_number_beyond_json_is_refused(self):
		for schema in ({"properties": {"a": {"default": 1e400}}}, {"properties": {"a": {"maximum": 1e400}}}):
			with self.subTest(schema), self.assertRaisesRegex(UnusableTool, "not valid"):
				clean(schema)

	def test_the_digest_of_a_definition_does_not_depend_on_key_order(self):
		first = clean({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]})
		second = clean({"required": ["a"], "properties": {"b": {}, "a": {"type": "string"}}})
		self.assertEqual((first, first.digest), (second, second.digest))
		self.assertNotEqual(first.digest, clean({"properties": {"a": {}}}).digest)

	def test_tool_names_are_converted_to_valid_unique_names(self):
		self.assertEqual(make_tool_name("gh_", "issues.list/all"), "gh_issues_list_all")
		self.assertRegex(make_tool_name("gh_", "x" * 100), r"^gh_x+_[0-9a-f]{6}$")
		self.assertNotEqual(make_tool_name("", "a.b", ["a_b"]), make_tool_name("", "a/b", ["a_b"]))

	def test_the_text_of_embedded_resources_is_read_and_other_blocks_are_named(self):
		blocks = [
			{"type": "text", "text": "Downloaded."},
			{"type": "resource", "resource": {"uri": "repo://a/README.md", "text": "# A"}},
			{
				"type": "resource",
				"resource": {"uri": "repo://a/b.png", "mimeType": "image/png", "blob": "eA=="},
			},
		]
		result = read_call_result(CallToolResult.model_validate({"content": blocks}))
		self.assertEqual(result["text"], "Downloaded.\nrepo://a/README.md:\n# A")
		self.assertEqual(result["left_out"], ["resource image/png repo://a/b.png"])

	def test_text_beside_structured_content_is_left_out_only_if_it_repeats_it(self):
		for structured, text, is_kept in (
			({"count": 2}, '{"count": 2}', False),
			({"result": "2 notes"}, "2 notes", False),
			({"result": [1]}, "[1]", False),
			({"content": "12\n", "lines": 1}, "12\n", False),
			({"count": 2}, "Found 2 notes: Anna, Eve", True),
			({}, "Created note 5", True),
			({}, "null", True),
			([1, 2], "[1, 2]", False),
			([1, 2], "Two notes", True),
			("Done", "Done", False),
			(3, "Three notes", True),
		):
			with self.subTest(text):
				given = CallToolResult(content=[TextContent(text=text)], structured_content=structured)
				expected = {"structured": structured, **({"text": text} if is_kept else {})}
				self.assertEqual(read_call_result(given), expected)
