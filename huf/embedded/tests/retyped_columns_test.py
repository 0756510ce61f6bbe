"""Fields whose type changes: what becomes of the values in their columns, and of their indexes."""

import frappe
from frappe.database.schema import pad_times

from huf.embedded.tests.sites import SiteTestCase

DOCTYPE = "Retyped Thing"


class TestRetypedColumns(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.drop()
		self.addCleanup(self.drop)

	def drop(self):
		frappe.db.rollback()
		frappe.delete_doc("DocType", DOCTYPE, force=True)
		frappe.db.sql_ddl(f"drop table if exists `tab{DOCTYPE}`")
		frappe.db.commit()

	def make(self, *values, **fields):
		"""A DocType with the field `size`, and a document for each value."""
		fields = [{"fieldname": "size", "label": "Size", **fields}]
		frappe.get_doc(
			{"doctype": "DocType", "name": DOCTYPE, "module": "Huf", "custom": 1, "fields": fields}
		).insert()
		for number, value in enumerate(values):
			frappe.get_doc({"doctype": DOCTYPE, "size": value}).insert(set_name=str(number))
		frappe.db.commit()

	def retype(self, fieldtype: str, **values):
		definition = frappe.get_doc("DocType", DOCTYPE)
		definition.fields[0].update({"fieldtype": fieldtype, **values})
		definition.save()

	def read(self) -> list:
		return frappe.db.sql(f"select size from `tab{DOCTYPE}` order by name", pluck=True)

	def test_values_are_stored_as_the_new_type_stores_them(self):
		for old, new, before, after in (
			("Data", "Int", ["007", "", None, "-3"], [7, 0, 0, -3]),
			("Float", "Int", [2.6, 0], [3, 0]),
			("Int", "Float", [3], [3.0]),
			("Check", "Data", [1, 0], ["1", "0"]),
			("Select", "Check", ["1", ""], [1, 0]),
			("Data", "Long Int", ["5", ""], [5, None]),
			("Data", "Duration", ["90", ""], [90.0, None]),
			("Text", "Date", ["2024-02-29", ""], ["2024-02-29", None]),
			("Date", "Datetime", ["2024-02-29"], ["2024-02-29 00:00:00"]),
			("Datetime", "Data", ["2024-02-29 10:30:00"], ["2024-02-29 10:30:00"]),
		):
			with self.subTest(f"{old} to {new}"):
				self.drop()
				self.make(*before, fieldtype=old)
				self.retype(new)
				stored = self.read()
				self.assertEqual([str(each) for each in stored], [str(each) for each in after])

	def test_times_of_earlier_versions_get_two_digits_for_the_hour(self):
		self.make("10:30", "09:05", None, fieldtype="Time")
		frappe.db.sql(f"update `tab{DOCTYPE}` set size = '9:05:00' where name = '1'")
		pad_times()
		self.assertEqual(frappe.get_all(DOCTYPE, {"size": "9:05"}, pluck="name"), ["1"])

	def test_empty_values_do_not_become_the_default(self):
		self.make("", None, "4", fieldtype="Data")
		self.retype("Int", default="5")
		self.assertEqual(self.read(), [0, 0, 4])

	def test_values_that_do_not_fit_leave_the_column_as_it_is(self):
		for value, fieldtype in (
			("ten", "Int"),
			("ten", "Long Int"),
			("ten", "Duration"),
			("nan", "Int"),
			("nan", "Float"),
			("inf", "Float"),
			("1" * 17, "Int"),
			("1" * 30, "Int"),
			("never", "Datetime"),
		):
			with self.subTest(f"{value} to {fieldtype}"):
				self.drop()
				self.make("1", value, fieldtype="Data")
				with self.assertRaisesRegex(frappe.ValidationError, f"Size cannot become {fieldtype}"):
					self.retype(fieldtype)
				frappe.db.rollback()
				self.assertEqual(self.read(), ["1", value])
				self.assertEqual(frappe.get_meta(DOCTYPE).get_field("size").fieldtype, "Data")
				self.assertFalse(frappe.db.has_column(DOCTYPE, "_new_size"))

	def test_a_column_is_replaced_within_one_transaction(self):
		self.make("1", fieldtype="Data")
		seen = []
		frappe.db.before_commit.add(lambda: seen.append(self.read()))
		self.retype("Int")
		self.assertEqual(seen[0], [1])

	def test_a_field_that_is_no_longer_unique_takes_equal_values(self):
		self.make("1", fieldtype="Data", unique=1)
		for values in ({"unique": 0}, {"unique": 0, "search_index": 1}):
			self.retype("Data", **values)
			frappe.get_doc({"doctype": DOCTYPE, "size": "1"}).insert()
		self.assertEqual(self.read(), ["1", "1", "1"])
