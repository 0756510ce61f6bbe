import json

import frappe

from huf.ai.agents.tool_factory import create_tool
from huf.ai.core.event_loops import run_coroutine
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_tool


class TestAgentToolFunction(SiteTestCase):
	def test_create_tool_has_parameters_from_the_fields_of_its_doctype(self):
		parameters = self.get_parameters("Create Document", reference_doctype="ToDo")
		self.assertIn("description", parameters["properties"])
		self.assertEqual(parameters["required"], ["description"])
		self.assertEqual(parameters["properties"]["priority"]["enum"], ["High", "Medium", "Low"])

	def test_listed_parameters_narrow_a_create_tool(self):
		rows = [{"fieldname": "description", "type": "string", "required": 1}]
		parameters = self.get_parameters("Create Document", reference_doctype="ToDo", parameters=rows)
		self.assertEqual(list(parameters["properties"]), ["description"])
		self.assertFalse(parameters["additionalProperties"])

	def test_effect_of_document_tools_follows_from_their_type(self):
		name = make_tool("Delete Document", reference_doctype="ToDo", effect="read")
		self.assertEqual(frappe.db.get_value("Agent Tool Function", name, "effect"), "write")

	def test_effect_of_a_get_tool_can_be_set(self):
		name = make_tool("GET", base_url="https://example.com", effect="read")
		self.assertEqual(frappe.db.get_value("Agent Tool Function", name, "effect"), "read")

	def test_result_limit_of_a_tool_truncates_its_result(self):
		row = frappe.get_doc(
			"Agent Tool Function", make_tool("Get List", reference_doctype="DocType", result_limit=300)
		)
		result = run_coroutine(create_tool(row).on_invoke_tool(None, "{}"))
		self.assertLess(len(result), 350)
		self.assertTrue(json.loads(result)["more"])

	def test_options_and_defaults_have_the_type_of_their_parameter(self):
		number = {"fieldname": "a", "type": "integer", "options": "1\n2", "default_value": "2"}
		text = {"fieldname": "b", "type": "string", "options": "1\n2", "default_value": "2"}
		properties = self.get_parameters("GET", base_url="https://example.com", parameters=[number, text])[
			"properties"
		]
		self.assertEqual((properties["a"]["enum"], properties["a"]["default"]), ([1, 2], 2))
		self.assertEqual((properties["b"]["enum"], properties["b"]["default"]), (["1", "2"], "2"))

	def test_schemas_with_patterns_for_names_of_properties_are_refused(self):
		nested = {"type": "object", "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}
		schema = {"type": "object", "properties": {"total": {"type": "number"}, "more": nested}}
		operation = {"method": "POST", "path": "/bills", "parameters": {}, "schema": schema, "body": "more"}
		with self.assertRaisesRegex(frappe.ValidationError, "patternProperties"):
			make_tool("Run Agent", agent=make_agent(), result_schema=json.dumps(schema))
		with self.assertRaisesRegex(frappe.ValidationError, "patternProperties"):
			make_tool("POST", base_url="https://shop.example", operation=json.dumps(operation))

	def test_invalid_tool_definitions_are_refused_with_the_reason(self):
		number = {"fieldname": "a", "type": "integer"}
		for values, reason in (
			({"types": "Get List"}, "needs"),
			({"types": "Get List", "reference_doctype": "Agent Tool"}, "child table"),
			(
				{
					"types": "Update Document",
					"reference_doctype": "ToDo",
					"second_person": 1,
					"amount_field": "Grand Total",
				},
				"has no field Grand Total",
			),
			({"types": "GET", "name": "get it"}, "letters, digits"),
			({"types": "GET", "headers": [{"header": "X", "value": "y"}]}, "needs a Base URL"),
			({"types": "GET", "base_url": "example.com"}, "must begin"),
			({"types": "GET", "parameters": [{"fieldname": "a b", "type": "string"}]}, "cannot be"),
			({"types": "GET", "parameters": [{"fieldname": "a", "type": "string"}] * 2}, "twice"),
			({"types": "GET", "parameters": [{"fieldname": "a", "type": "texts"}]}, "cannot be texts"),
			(
				{"types": "GET", "parameters": [{**number, "default_value": "ten"}]},
				"a: ten is not of the type",
			),
			(
				{"types": "Create Document", "reference_doctype": "ToDo", "parameters": [number]},
				"ToDo has no field a",
			),
			({"types": "Get List", "reference_doctype": "Huf Settings"}, "only one document"),
			({"types": "GET", "parameters": [{**number, "options": "1\n2.5"}]}, "a: 2.5 is not of the type"),
		):
			with self.subTest(values), self.assertRaisesRegex(frappe.ValidationError, reason):
				make_tool(**values)

	def get_parameters(self, types, **values):
		name = make_tool(types, **values)
		return frappe.parse_json(frappe.db.get_value("Agent Tool Function", name, "function_definition"))[
			"parameters"
		]
