"""Column names in another case, which SQLite treats as equal, reveal no hidden fields."""

import frappe

from huf.tests.base import SiteTestCase
from huf.tests.doctypes import CASE, EDITOR, make_case, make_doctypes
from huf.tests.factories import make_user


class TestOtherCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		make_doctypes()
		self.doc = make_case(title="Roof", fee="canary")
		frappe.set_user(make_user("Huf User", EDITOR))
		self.addCleanup(frappe.set_user, "Administrator")

	def test_hidden_fields_in_other_case_cannot_be_selected(self):
		for fields in (["name", "FEE"], ["name", f"`tab{CASE}`.Fee"], ["name", "Fee as title"]):
			with self.subTest(fields), self.assertRaises(frappe.db.OperationalError):
				frappe.get_list(CASE, fields=fields, filters={"name": self.doc.name})

	def test_hidden_fields_in_other_case_cannot_be_filtered_or_sorted_by(self):
		for query in (
			{"filters": {"FEE": "canary"}},
			{"or_filters": [[CASE, "Fee", "like", "can%"]]},
			{"order_by": "FEE desc"},
			{"order_by": "fee collate binary desc"},
			{"group_by": "FEE"},
		):
			with self.subTest(query), self.assertRaises((frappe.db.OperationalError, frappe.DataError)):
				frappe.get_list(CASE, fields=["name"], **query)

	def test_readable_fields_can_be_selected_and_sorted_by(self):
		found = frappe.get_list(CASE, {"name": self.doc.name}, ["name", "title"], order_by="title desc")
		self.assertEqual(found[0].title, "Roof")
