"""Results of document tools over MCP match the output schemas that the tools declare."""

import json

import frappe
from jsonschema import Draft202012Validator

from huf.ai.chat.run_states import read_state
from huf.ai.mcp.server.output_schemas import SHAPES, structure_result
from huf.ai.mcp.server.results import describe_result
from huf.tests.api.test_mcp import McpTestCase
from huf.tests.doctypes import ORDER
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.mcp_fixture import tools


class TestOutputSchemas(McpTestCase):
	def offer(self, **types: dict) -> dict[str, str]:
		"""Make a server with one tool of each type; returns {type: tool name}."""
		names = {each: make_tool(each, reference_doctype=ORDER, **values) for each, values in types.items()}
		agent = make_agent(make_model(self.server), tuple(names.values()))
		self.slug = self.make_server(agent, tuple(names.values()))
		return names

	def schemas(self) -> dict[str, dict]:
		tools = self.result("tools/list")["tools"]
		return {each["name"]: each["outputSchema"] for each in tools if "outputSchema" in each}

	def assert_matches(self, tool: str, arguments: dict, form: int = 0) -> dict:
		"""Check a result against the `anyOf` schema `form`: 0 the type's shape, 1 text, 2 a draft."""
		schema = self.schemas()[tool]
		Draft202012Validator.check_schema(schema)
		result = self.call(tool, arguments)
		self.assertFalse(result.get("isError"), result)
		Draft202012Validator(schema).validate(result["structuredContent"])
		Draft202012Validator(schema["anyOf"][form]).validate(result["structuredContent"])
		return result["structuredContent"]

	def test_results_match_the_declared_output_schemas(self):
		kinds = (
			"Get Document",
			"Get Multiple Documents",
			"Get List",
			"Read Document",
			"Get Value",
			"Set Value",
		)
		names = self.offer(**dict.fromkeys([*kinds, "Update Document", "Delete Document"], {}))
		order = self.order.name
		for types, arguments in (
			("Get Document", {"name": order}),
			("Get Multiple Documents", {"names": [order]}),
			("Get List", {"limit": 1}),
			("Read Document", {"limit": 1}),
			("Get Value", {"name": order, "fieldname": "note"}),
			("Set Value", {"name": order, "fieldname": "note", "value": "set"}),
			("Update Document", {"name": order, "values": {"note": "updated"}}),
		):
			with self.subTest(types):
				self.assert_matches(names[types], arguments)
			if types == "Read Document":
				self.assert_matches(f"{names[types]}_detail", {"name": order})
		# Arguments from MCP clients are untrusted content, so a deletion waits for approval.
		self.assert_matches(names["Delete Document"], {"name": order}, form=2)

	def test_waiting_calls_and_truncated_results_match_the_output_schema(self):
		names = self.offer(
			**{"Update Document": {"requires_approval": 1}, "Get Document": {"result_limit": 40}}
		)
		arguments = {"name": self.order.name, "values": {"note": "later"}}
		waiting = self.assert_matches(names["Update Document"], arguments, form=2)
		self.assertTrue(frappe.db.exists("Agent Draft", waiting["draft"]))
		self.assert_matches(names["Get Document"], {"name": self.order.name}, form=1)

	def test_tools_without_a_known_result_shape_have_no_output_schema(self):
		name = make_tool("GET", base_url="https://example.com", effect="read")
		agent = make_agent(make_model(self.server), (name,))
		self.slug = self.make_server(agent, (name,))
		self.assertEqual((self.names(), self.schemas()), ([name], {}))

	def test_only_results_in_the_format_of_the_protocol_are_passed_on_unchanged(self):
		path = f"{tools.__name__}.{tools.test_simple_text.__name__}"
		name = make_tool("Custom Function", function_path=path, effect="read")
		agent = make_agent(make_model(self.server), (name,))
		self.slug = self.make_server(agent, (name,))
		self.assertNotIn("structuredContent", self.call(name))
		run = frappe.get_last_doc("Agent Run", {"agent": agent}).name
		page = {"content": [], "total": 3}
		frappe.db.set_value("Agent Tool Call", {"run": run}, "result", json.dumps(page))
		frappe.db.commit()
		self.assertEqual(describe_result(read_state(run)).structured_content, page)

	def test_result_that_does_not_match_the_schema_is_returned_as_text(self):
		for types in SHAPES:
			self.assertEqual(structure_result(types, {"rows": 1}, "as text"), {"result": "as text"})
		self.assertEqual(structure_result("GET", {"rows": 1}, "as text"), {"rows": 1})
