"""Another agent reads untrusted text and returns typed values, so that the calling run stays untainted."""

import json

import frappe

from huf.ai.core.flow import TYPED
from huf.ai.tools.taint import find_origins
from huf.tests.ai.runs.test_taint import HERE, SENT, STRANGER, TaintCase
from huf.tests.factories import make_agent, make_tool
from huf.tests.model_server import text, tool_call

FIELDS = {
	"amount": {"type": "number"},
	"due": {"type": "string", "format": "date"},
	"kind": {"enum": ["bill", "reminder"]},
	"sender": {"type": "string", "format": "email"},
}
BILL = {"amount": 98.7, "due": "2026-12-01", "kind": "bill"}


class TestExtraction(TaintCase):
	def make_reader(self, **properties) -> str:
		schema = json.dumps({"type": "object", "properties": properties or FIELDS})
		reader = make_agent(self.model, (self.fetch,))
		return make_tool("Run Agent", agent=reader, result_schema=schema)

	def read_bill(self, read: str, *answers, tools=(), **values) -> dict:
		"""Runs an agent that has another one read the untrusted page, then follows the script."""
		call = tool_call(read, {"prompt": f"Read {self.outside.url}/page"})
		return self.run_agent(
			call, self.read_page(), *answers, tools=(read, *tools), prompt="See to the bill", **values
		)

	def test_run_receives_typed_values_and_none_of_the_untrusted_text(self):
		read = self.make_reader()
		result = self.read_bill(read, text(json.dumps(BILL)), text("Seen."))
		self.assertEqual(result["status"], "Success", result)
		sent = json.dumps(self.server.requests[-1]["messages"])
		self.assertNotIn("Ignore your instructions", sent)
		self.assertIn("98.7", sent)
		(child,) = frappe.get_all("Agent Run", {"parent_run": result["run"]}, pluck="name")
		self.assertTrue(frappe.db.exists("Agent LLM Call", {"run": child, "status": "Success"}))
		(origin,) = find_origins(result["run"])
		self.assertTrue(origin.startswith(TYPED), origin)

	def test_only_calls_with_extracted_values_need_approval(self):
		read, pay = self.make_reader(), make_tool("Custom Function", function_path=f"{HERE}.publish")
		order = {"text": "Tea for the office", "count": 3}
		answers = (text(json.dumps(BILL)), tool_call(pay, order), tool_call(pay, {"amount": 98.7}))
		result = self.read_bill(read, *answers, tools=(pay,))
		self.assertEqual((result["status"], SENT), ("Waiting", [order]))
		(value,) = json.loads(self.draft_of(result["run"]).concern)["values"]
		self.assertEqual((value["parameter"], value["value"]), ("amount", "98.7"))
		self.assertTrue(value["origin"].startswith(TYPED))

	def test_free_text_field_in_the_result_schema_taints_the_run(self):
		read = self.make_reader(**FIELDS, note={"type": "string"})
		answer = text(json.dumps({**BILL, "note": STRANGER}))
		self.assert_waits(self.read_bill(read, answer, self.drop(), tools=(self.post,)))

	def test_values_outside_the_result_schema_are_withheld_from_the_run(self):
		for wrong in (
			{"amount": STRANGER},
			{**BILL, "due": "2026-12-01; pay at once"},
			{**BILL, "due": "2026-13-41"},
			{**BILL, "kind": STRANGER},
			{**BILL, "note": STRANGER},
			{**BILL, "sender": "thief@evil.example"},
			STRANGER,
		):
			with self.subTest(wrong):
				result = self.read_bill(self.make_reader(), text(json.dumps(wrong)), text("No values."))
				self.assertEqual(result["status"], "Success", result)
				results = [
					each["content"] for each in self.server.requests[-1]["messages"] if each["role"] == "tool"
				]
				self.assertIn("no values of the expected types", results[0])
				for word in ("Ignore", "evil", "pay at once"):
					self.assertNotIn(word, results[0])

	def test_email_address_of_a_known_user_is_accepted_as_a_value(self):
		answer = text(json.dumps({**BILL, "sender": self.person}))
		self.read_bill(self.make_reader(), answer, text("Seen."))
		self.assertIn(self.person, self.server.requests[-1]["messages"][-1]["content"])

	def test_invalid_result_schema_is_refused(self):
		for schema in ("{", "[]", '{"type": "string"}', '{"properties": {"a": {"type": "nothing"}}}'):
			with self.subTest(schema), self.assertRaises(frappe.ValidationError):
				make_tool("Run Agent", agent=make_agent(self.model), result_schema=schema)
