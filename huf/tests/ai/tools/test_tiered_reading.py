"""One Read Document record gives a model two tools: key fields of many documents, and one whole document."""

import frappe

from huf.ai.agents.tool_factory import create_tools
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.session import acting_as
from huf.ai.runs.entry import run_agent_sync
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import NONE, PLAIN, field, make_doctype
from huf.tests.factories import make, make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, text, tool_call

MATTER, CLERK, PARTNER = "Huf Test Matter", "Huf Test Clerk", "Huf Test Partner"
FIELDS = [
	field("title", "Data"),
	field("summary", "Small Text", in_list_view=1),
	field("status", "Select", options="Open\nClosed", default="Open"),
	field("due", "Date"),
	field("settled", "Datetime"),
	field("notes", "Text"),
	field("fee", "Data", permlevel=1, in_list_view=1),
]
RULES = [
	{**PLAIN, "role": CLERK},
	{**PLAIN, "role": PARTNER},
	{**NONE, "role": PARTNER, "permlevel": 1, "read": 1, "write": 1},
]


class TestTieredReading(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		frappe.set_user("Administrator")
		for role in (CLERK, PARTNER):
			if not frappe.db.exists("Role", role):
				make("Role", role_name=role)
		if not frappe.db.exists("DocType", MATTER):
			make_doctype(MATTER, FIELDS, RULES, title_field="title", autoname="hash")
		frappe.db.commit()

	def setUp(self):
		super().setUp()
		values = {"title": "Roof", "due": "2026-03-01", "notes": "A long story", "fee": "SECRET"}
		self.matter = make(MATTER, summary="s" * 500, **values).name
		self.name = make_tool("Read Document", reference_doctype=MATTER, description="Matters of the firm.")
		frappe.db.commit()

	def read(self, user: str, suffix: str = "", **arguments) -> dict:
		tools = {tool.name: tool for tool in create_tools(frappe.get_doc("Agent Tool Function", self.name))}
		with acting_as(user):
			call = tools[self.name + suffix].on_invoke_tool(None, frappe.as_json(arguments))
			return frappe.parse_json(run_coroutine(call))

	def test_read_document_record_creates_a_summary_and_a_detail_tool(self):
		summary, detail = create_tools(frappe.get_doc("Agent Tool Function", self.name))
		self.assertEqual((summary.name, detail.name), (self.name, f"{self.name}_detail"))
		self.assertIn(f"{self.name}_detail returns a whole document", summary.description)
		self.assertEqual(list(summary.params_json_schema["properties"]), ["filters", "limit", "start"])

	def test_summary_has_title_status_dates_and_truncated_list_fields(self):
		row = self.read(make_user("Huf User", PARTNER), filters={"name": self.matter})["rows"][0]
		short = {"summary": "s" * 200 + "…", "due": "2026-03-01", "fee": "SECRET"}
		self.assertEqual(row, {"name": self.matter, "title": "Roof", "status": "Open", **short})

	def test_detail_returns_the_whole_document(self):
		document = self.read(make_user("Huf User", PARTNER), "_detail", name=self.matter)
		self.assertEqual((document["notes"], document["fee"]), ("A long story", "SECRET"))

	def test_summary_and_detail_hide_fields_above_the_user_permlevel(self):
		clerk = make_user("Huf User", CLERK)
		for result in (self.read(clerk, limit=500), self.read(clerk, "_detail", name=self.matter)):
			self.assertNotIn("SECRET", frappe.as_json(result))

	def test_agent_calls_the_summary_tool_and_then_the_detail_tool(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server), (self.name,))
			server.script(
				tool_call(self.name, {"filters": {"title": "Roof"}, "limit": 1}),
				tool_call(f"{self.name}_detail", {"name": self.matter}),
				text("It is open."),
			)
			result = run_agent_sync(agent, "How is the roof?")
			self.assertIn("A long story", server.requests[-1]["messages"][-1]["content"])
		self.assertEqual(result["status"], "Success")

	def test_tool_name_too_long_for_the_detail_suffix_is_refused(self):
		with self.assertRaisesRegex(frappe.ValidationError, "at most 64"):
			make_tool("Read Document", name="x" * 60, reference_doctype=MATTER)

	def test_agent_cannot_have_another_tool_with_the_detail_tool_name(self):
		other = make_tool("Get Document", name=f"{self.name}_detail", reference_doctype=MATTER)
		with self.assertRaisesRegex(frappe.ValidationError, "twice"):
			make_agent(tools=(self.name, other))
