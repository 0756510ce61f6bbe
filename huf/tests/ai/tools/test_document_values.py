"""Tools refuse values that would be stored as something else."""

from functools import partial

import frappe

from huf.ai.agents.manager import AgentManager
from huf.ai.core.errors import ToolError
from huf.ai.core.session import acting_as
from huf.ai.dry_run.change_tracking import tracking
from huf.ai.tools import document_tools as tools
from huf.ai.tools.types import build_parameters
from huf.install import follow_doctype
from huf.tests.ai.tools.test_erp_documents import INVOICE, PLAIN_RULES, ROW, ErpTestCase
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import CUSTOMER, controller, field, make_doctype
from huf.tests.factories import make, make_agent, make_tool, unique

PLAN, VISIT = "Huf Test Plan", "Huf Test Visit"
REVIEW, REVIEWER, LIMITS = "Huf Test Review", "Huf Test Reviewer", "Huf Test Limits"


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

	def test_mandatory_field_with_a_default_or_a_fetched_value_is_not_required(self):
		if not frappe.db.exists("DocType", VISIT):
			fields = [
				field("title", "Data", reqd=1),
				field("kind", "Select", options="Sale\nService", reqd=1),
				field("customer", "Link", options=CUSTOMER, reqd=1),
				field("city", "Data", fetch_from="customer.city", reqd=1),
			]
			make_doctype(VISIT, fields, PLAIN_RULES)
		tool = frappe.get_doc("Agent Tool Function", make_tool("Create Document", reference_doctype=VISIT))
		self.assertEqual(build_parameters(tool)["required"], ["title", "customer"])
		customer = make(CUSTOMER, title=unique("Customer"), city="Brno").name
		made = tools.create_document(VISIT, {"title": "First", "customer": customer})
		self.assertEqual((made["kind"], made["city"]), ("Sale", "Brno"))

	def test_of_a_submittable_document_only_tables_are_required_because_its_code_may_fill_in_the_rest(self):
		tool = frappe.get_doc("Agent Tool Function", make_tool("Create Document", reference_doctype=INVOICE))
		schema = build_parameters(tool)
		rows = schema["properties"]["items"]["items"]
		self.assertEqual((schema["required"], rows["required"]), (["items"], []))
		values = {"items": [{"item": "Bolt"}]}
		with acting_as(self.user):
			with controller(INVOICE, before_validate=lambda doc: doc.set("company", self.company)):
				self.assertEqual(tools.create_document(INVOICE, values)["company"], self.company)
			self.refused(frappe.MandatoryError, lambda: tools.create_document(INVOICE, values), "company")

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


class TestFieldtypes(SiteTestCase):
	def setUp(self):
		super().setUp()
		if not frappe.db.exists("DocType", REVIEW):
			make_doctype(REVIEWER, [field("user", "Link", options="User")], [], istable=1)
			fields = [
				field("stars", "Rating"),
				field("took", "Duration"),
				field("due", "Date"),
				field("reviewers", "Table MultiSelect", options=REVIEWER),
			]
			make_doctype(REVIEW, fields, [], autoname="hash")
			make_doctype(LIMITS, [field("days", "Int", default="5"), field("note", "Data")], [], issingle=1)
			frappe.db.commit()

	def test_schema_states_the_units_of_durations_and_ratings(self):
		tool = frappe.get_doc("Agent Tool Function", make_tool("Create Document", reference_doctype=REVIEW))
		properties = build_parameters(tool)["properties"]
		self.assertEqual(properties["took"]["description"], "Took: in seconds")
		self.assertEqual((properties["stars"]["minimum"], properties["stars"]["maximum"]), (0, 1))

	def test_rows_of_links_are_written_and_are_no_field_of_a_list(self):
		tool = frappe.get_doc("Agent Tool Function", make_tool("Create Document", reference_doctype=REVIEW))
		rows = build_parameters(tool)["properties"]["reviewers"]
		self.assertIn("user", rows["items"]["properties"])
		created = tools.create_document(REVIEW, {"reviewers": [{"user": "Guest"}]})
		self.assertEqual([row["user"] for row in created["reviewers"]], ["Guest"])
		tool.types = "Get List"
		self.assertNotIn("reviewers", build_parameters(tool)["properties"]["fields"]["description"])

	def test_filter_value_that_no_row_can_have_is_refused(self):
		make(REVIEW, due="2026-12-24", took=60)
		for filters, form in (
			({"due": "05.06.2026"}, "YYYY-MM-DD"),
			({"due": ["in", ["2026-12-24", "soon"]]}, "YYYY-MM-DD"),
			({"creation": [">", "2026-12-24T10:00:00Z"]}, "YYYY-MM-DD HH:MM:SS"),
			({"took": [">", "1 min"]}, "1234.5"),
			({"due": {">=": "2026-12-24"}}, r"\[operator, value\]"),
			({"name": ["in", ["a", ["b"]]]}, r"\[operator, value\]"),
			([["name", "=", ["a", "b"]]], "use in"),
			({"due": ["between", "2026-12-24"]}, "first and last day"),
			({"due": ["between", ["2026-12-24", None]]}, "first and last day"),
			({"took": ["between", [1, 60]]}, ">= and <="),
		):
			with self.subTest(filters), self.assertRaisesRegex(ToolError, form):
				tools.get_list(REVIEW, filters)
		for filters in (
			{"due": "2026-12-24"},
			{"due": ["between", ["2026-12-24", "2026-12-24"]]},
			{"took": ["in", ["60", ""]]},
		):
			with self.subTest(filters):
				self.assertEqual(tools.get_list(REVIEW, filters)["count"], 1)

	def test_list_that_skips_more_rows_than_a_database_counts_is_empty(self):
		self.assertEqual(tools.get_list(REVIEW, start=10**30)["rows"], [])
		self.assertEqual(tools.get_list(REVIEW, start=10**30, group_by=["due"])["rows"], [])

	def test_only_document_of_a_doctype_is_neither_listed_nor_replaced(self):
		tools.update_document(LIMITS, LIMITS, {"days": 9})
		for work in (tools.get_list, partial(tools.create_document, values={"note": "new"})):
			with self.assertRaisesRegex(ToolError, "only one document"):
				work(LIMITS)
		self.assertEqual(tools.get_document(LIMITS, LIMITS)["days"], 9)
		with self.assertRaisesRegex(frappe.ValidationError, "only one document"):
			make_tool("Create Document", reference_doctype=LIMITS)
		for types in ("Update Document", "Get Multiple Documents", "Update Multiple Documents"):
			make_tool(types, reference_doctype=LIMITS)
