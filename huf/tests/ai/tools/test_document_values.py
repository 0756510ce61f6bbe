"""Tools refuse values that would be stored as something else."""

from functools import partial

import frappe

from huf.ai.agents.manager import AgentManager
from huf.ai.core.errors import ToolError
from huf.ai.dry_run.change_tracking import tracking
from huf.ai.runs.admission import acting_as
from huf.ai.tools import document_tools as tools
from huf.ai.tools.types import build_parameters
from huf.install import follow_doctype
from huf.tests.ai.tools.test_erp_documents import INVOICE, PLAIN_RULES, ROW, ErpTestCase
from huf.tests.doctypes import field, make_doctype
from huf.tests.factories import make_agent, make_tool, unique

PLAN = "Huf Test Plan"


class TestValues(ErpTestCase):
	def test_values_of_the_wrong_field_type_are_refused(self):
		with acting_as(self.user):
			name = self.create()["name"]
			frappe.db.commit()
			for fieldname, value, expected in (
				("printed", "many", "1234.5"),
				("printed", "1.234,50", "1234.5"),
				("due_on", "soon", "YYYY-MM-DD"),
				("items", "Bolt", "list of rows"),
			):
				with self.subTest(f"{fieldname}: {value}"):
					set_value_call = partial(tools.set_value, INVOICE, name, fieldname, value)
					self.refused(ToolError, set_value_call, fieldname, expected)
			self.refused(ToolError, lambda: self.create(items=[{"item": "Bolt", "rate": "5 EUR"}]), "5 EUR")
			self.assertEqual(tools.set_value(INVOICE, name, "printed", "2")["printed"], 2)

	def test_document_that_its_creator_names_gets_the_given_name(self):
		if not frappe.db.exists("DocType", PLAN):
			make_doctype(PLAN, [field("title", "Data", reqd=1)], PLAIN_RULES, autoname="prompt")
		tool = frappe.get_doc("Agent Tool Function", make_tool("Create Document", reference_doctype=PLAN))
		schema = build_parameters(tool)
		self.assertEqual(schema["required"], ["name", "title"])
		with acting_as(self.user):
			name = unique("Plan")
			self.assertEqual(tools.create_document(PLAN, {"name": name, "title": "A"})["name"], name)

	def test_tool_offers_a_field_that_its_doctype_or_a_table_has_got_since(self):
		agent = make_agent(None, (make_tool("Create Document", reference_doctype=INVOICE),))

		def offered() -> str:
			(tool,) = AgentManager(agent).prepare_agent().tools
			return str(tool.params_json_schema)

		for doctype in (INVOICE, ROW):
			added = unique("late").replace(" ", "_")
			doc = frappe.get_doc("DocType", doctype)
			doc.append("fields", field(added, "Data"))
			doc.save()
			frappe.db.commit()
			self.assertIn(added, offered())
			doc.fields.pop()
			doc.save()
			frappe.db.commit()
			self.assertNotIn(added, offered())

	def test_save_of_a_doctype_says_nothing_of_a_tool_that_cannot_follow_it(self):
		tool = make_tool("Create Document", reference_doctype=INVOICE)
		broken = {"types": "App Provided", "provider_app": "huf", "function_path": "gone.gone"}
		frappe.db.set_value("Agent Tool Function", tool, broken)
		messages = list(frappe.local.message_log)
		frappe.get_doc("DocType", INVOICE).save()
		frappe.db.commit()
		self.assertEqual(frappe.local.message_log, messages)
		frappe.delete_doc("Agent Tool Function", tool)
		frappe.db.commit()

	def test_tools_that_follow_a_doctype_are_no_change_of_the_call_that_saved_it(self):
		tool = make_tool("Create Document", reference_doctype=INVOICE)
		frappe.db.set_value("Agent Tool Function", tool, "function_definition", "{}")
		with tracking(is_dry_run=False) as tracker:
			follow_doctype(frappe.get_doc("DocType", INVOICE), "on_update")
		self.assertEqual(list(tracker.documents), [])
		frappe.db.commit()
		self.assertIn("printed", frappe.db.get_value("Agent Tool Function", tool, "function_definition"))
