"""DocTypes as forms: metadata, records, search and cards, with permissions."""

import json

import frappe

from huf.ai.core.errors import UsageError
from huf.api import record
from huf.tests.base import SiteTestCase
from huf.tests.factories import SECRET, make, make_tool, make_user, unique


class TestRecords(SiteTestCase):
	def test_meta_has_fields_tables_and_permissions_of_a_doctype(self):
		meta = record.get_meta("Agent Tool Function")
		fields = {field["fieldname"]: field for field in meta["fields"]}
		self.assertEqual((meta["title_field"], meta["is_single"]), ("tool_name", False))
		self.assertEqual(record.get_meta("Agent Tool Function", "de")["label"], "Werkzeug eines Agenten")
		self.assertIn(
			"doc.types", fields["base_url"]["mandatory_depends_on"] + fields["report"]["depends_on"]
		)
		self.assertEqual(meta["tables"]["Has Role"][0]["options"], "Role")
		self.assertEqual(meta["can"], {"write": True, "create": True, "delete": True})

	def test_field_that_names_a_document_is_set_only_once(self):
		fields = {field["fieldname"]: field for field in record.get_meta("Agent Tool Function")["fields"]}
		self.assertEqual([name for name in fields if fields[name].get("set_only_once")], ["tool_name"])
		tool = frappe.get_doc("Agent Tool Function", make_tool("Get List", reference_doctype="ToDo"))
		tool.update({"tool_name": "another_name"}).save()
		self.assertEqual(tool.tool_name, tool.name, "a changed name would be lost")

	def test_meta_and_records_are_refused_without_read_permission(self):
		frappe.set_user(make_user("Huf User"))
		for endpoint in (record.get_meta, record.get_records):
			self.assertRaises(frappe.PermissionError, endpoint, "AI Provider")

	def test_meta_of_a_read_only_doctype_allows_no_writes(self):
		frappe.set_user(make_user("Huf User"))
		self.assertFalse(any(record.get_meta("Agent")["can"].values()))

	def test_record_is_searchable_by_list_fields_and_hides_passwords(self):
		name = make("AI Provider", provide_name=unique("Searched"), api_key=SECRET).name
		self.assertEqual([row.name for row in record.get_records("AI Provider", text=name[4:])], [name])
		self.assertEqual(record.get_records("AI Provider", text=f"{name}?"), [])
		read = record.get_record("AI Provider", name)
		self.assertNotIn(SECRET, str(read))
		self.assertTrue(read["can"]["delete"])

	def test_search_ignores_fields_above_the_user_permlevel(self):
		rules = [
			{"role": "System Manager", "read": 1, "create": 1, "write": 1},
			{"role": "Huf User", "read": 1},
		]
		secret = {"fieldname": "fee", "fieldtype": "Data", "label": "Fee", "permlevel": 1, "in_list_view": 1}
		shown = {"fieldname": "title", "fieldtype": "Data", "label": "Title", "in_list_view": 1}
		doctype, title, fee = unique("Searched Type"), unique("Bolt"), unique("Fee")
		values = {"module": "Huf", "custom": 1, "fields": [shown, secret], "title_field": "fee"}
		make(
			"DocType",
			name=doctype,
			autoname="hash",
			permissions=[*rules, {**rules[0], "permlevel": 1}],
			**values,
		)
		make(doctype, title=title, fee=fee)
		make_tool("Get List", reference_doctype=doctype)
		frappe.set_user(make_user("Huf User"))
		self.assertEqual([row.title for row in record.get_records(doctype, text=title[5:])], [title])
		self.assertEqual(record.get_records(doctype, text=fee[4:]), [])
		self.assertEqual([row["doctype"] for row in record.find(title)], [doctype])

	def test_filters_that_do_not_fit_are_refused_with_a_reason(self):
		# Frappe 17 says of a missing field that one may not read it.
		refusals = (UsageError, frappe.ValidationError, frappe.PermissionError)
		for filters in ({"no_such": 1}, {"description": ["between", 1]}, [None]):
			with self.subTest(filters), self.assertRaises(refusals):
				record.get_records("ToDo", filters=json.dumps(filters))

	def test_records_of_a_doctype_that_is_gone_are_not_found(self):
		# The DocType of a removed pack, say, in an old link.
		for read in (record.get_record, record.get_card, record.trust_record):
			with self.subTest(read.__name__):
				self.assertRaises(frappe.DoesNotExistError, read, "No Such DocType", "x")

	def test_single_doctype_cannot_be_listed(self):
		self.assertRaisesRegex(UsageError, "has one record", record.get_records, "Huf Settings")

	def test_card_shows_title_and_list_fields_and_requires_read_permission(self):
		name = make("ToDo", description="<p>Call <b>Anna</b></p>" + "x" * 300, priority="High").name
		card = record.get_card("ToDo", name, "de")
		values = {field["label"]: field["value"] for field in card["fields"]}
		self.assertIn("Open", values.values())
		self.assertTrue(
			all("<" not in value and len(value) <= 120 for value in (card["title"], *values.values()))
		)
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, record.get_card, "ToDo", name)
