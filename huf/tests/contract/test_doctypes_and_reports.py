"""DocTypes created at run time, as packs do, and reports. Runs on both runtimes."""

import datetime

import frappe
from frappe.desk.query_report import run

from huf.tests.base import SiteTestCase

REFUSALS = (frappe.ValidationError, frappe.db.OperationalError, frappe.db.DataError)
REFUSED_FIELDS = (
	dict(fieldname="x" * 65),
	dict(fieldname="", label=""),
	dict(hidden=1, reqd=1),
	dict(fieldtype="Section Break", reqd=1),
	dict(fieldtype="Text", search_index=1),
	dict(fieldtype="Text", unique=1),
	dict(fieldtype="HTML", in_list_view=1),
	dict(fieldtype="Link", options="No Such DocType"),
	dict(fieldtype="Table", options="User"),
	dict(fieldtype="Dynamic Link", options="no_such_field"),
	dict(fieldtype="Check", default="2"),
	dict(fieldtype="Select", options="A\nB", default="C"),
	dict(fieldtype="Rating", options="20"),
	dict(fieldtype="Float", precision="12"),
	dict(depends_on="eval:doc.code = 1"),
)
REFUSED_SETTINGS = (
	dict(search_fields="no_such_field"),
	dict(sort_field="no_such_field"),
	dict(title_field="no_such_field"),
	dict(image_field="code"),
	dict(autoname="field:no_such_field"),
	dict(autoname="naming_series:"),
	dict(permissions=[dict(role="System Manager", read=1)] * 2),
)


class TestNewDocuments(SiteTestCase):
	def test_new_document_is_not_stored_and_has_the_defaults_of_its_fields(self):
		note, todo = frappe.new_doc("Note"), frappe.new_doc("ToDo")
		self.assertEqual((note.is_new(), note.name, note.get("title")), (True, None, None))
		self.assertEqual((todo.status, todo.priority, todo.get("description")), ("Open", "Medium", None))


class TestDocTypesAtRunTime(SiteTestCase):
	doctype = "Huf Test Thing"

	def setUp(self):
		super().setUp()
		self.drop()
		fields = [
			dict(fieldname="code", fieldtype="Data", label="Code", reqd=1),
			dict(fieldname="serial", fieldtype="Data", label="Serial", unique=1),
			dict(fieldname="day", fieldtype="Date", label="Day"),
			dict(fieldname="hour", fieldtype="Time", label="Hour"),
			dict(fieldname="person", fieldtype="Data", options="Name", label="Person"),
			dict(fieldname="office", fieldtype="Data", options="Phone", label="Office"),
			dict(fieldname="mobile", fieldtype="Phone", label="Mobile"),
			dict(fieldname="pause", fieldtype="Duration", label="Pause"),
		]
		rules = [dict(role="System Manager", read=1, write=1, create=1, delete=1)]
		values = dict(name=self.doctype, module="Huf", custom=1, autoname="field:code", fields=fields)
		frappe.get_doc(dict(doctype="DocType", permissions=rules, **values)).insert()
		self.addCleanup(self.drop)

	def test_a_doctype_of_fixtures_may_link_to_one_that_does_not_exist_yet(self):
		def save():
			doc = frappe.get_doc("DocType", self.doctype)
			doc.append("fields", dict(fieldname="other", fieldtype="Link", label="Other", options="No Such"))
			doc.save()

		self.assertRaises(frappe.ValidationError, save)
		frappe.flags.in_fixtures = True
		self.addCleanup(frappe.flags.pop, "in_fixtures")
		save()
		self.assertEqual(frappe.get_meta(self.doctype).get_field("other").options, "No Such")

	def drop(self):
		frappe.db.rollback()
		if frappe.db.exists("DocType", self.doctype):
			frappe.db.delete(self.doctype)
			frappe.delete_doc("DocType", self.doctype, force=True)
		frappe.db.commit()

	def make(self, code, **values):
		return frappe.get_doc(dict(doctype=self.doctype, code=code, **values)).insert()

	def test_documents_can_be_inserted_right_after_their_doctype(self):
		self.assertEqual(self.make("a", day="2024-02-29").name, "a")
		self.assertEqual(str(frappe.get_doc(self.doctype, "a").day), "2024-02-29")

	def test_names_with_tags_and_those_of_new_forms_are_refused(self):
		for code in ("a<b", "a>b", f"New {self.doctype} 1"):
			self.assertRaises(frappe.NameError, self.make, code)
		self.assertEqual(self.make(f"new {self.doctype}").name, f"new {self.doctype}")

	def test_a_time_without_seconds_is_stored_and_an_invalid_time_refused(self):
		self.make("a", hour="10:30")
		rows = frappe.get_all(self.doctype, fields=["hour"], order_by="code asc", pluck="hour")
		self.assertEqual(rows, [datetime.timedelta(hours=10.5)])
		with self.assertRaises(frappe.db.OperationalError):
			self.make("c", hour="late")

	def test_values_that_do_not_fit_their_fields_are_refused(self):
		fitting = dict(person="Anna O'Neil-Müller", office="(030) 12345", mobile="+49-15112345678", pause=90)
		made = self.make("a", **fitting)
		self.assertEqual({name: made.get(name) for name in fitting}, fitting)
		self.assertTrue(self.make("c", mobile="+1 (415) 555-2671").name)
		for number, values in enumerate(
			(
				dict(person="Anna <anna>"),
				dict(office="call me"),
				dict(mobile="12345"),
				dict(pause="an hour"),
				dict(day="2024-02-29T10:30:00Z"),
			)
		):
			with self.subTest(values), self.assertRaises(REFUSALS):
				self.make(f"b{number}", **values)
			frappe.db.rollback()

	def test_times_are_compared_and_sorted_as_times(self):
		self.make("a", hour="9:05:00.000000")
		self.make("b", hour="10:30")
		names = frappe.get_all(self.doctype, order_by="hour asc", pluck="name")
		self.assertEqual(names, ["a", "b"])
		for operator, hour, found in (("=", "09:05", ["a"]), ("=", "9:5:00", ["a"]), (">", "09:30", ["b"])):
			with self.subTest(operator, hour=hour):
				self.assertEqual(
					frappe.get_all(self.doctype, {"hour": [operator, hour]}, pluck="name"), found
				)

	def test_a_date_field_cannot_be_unique(self):
		doctype = frappe.get_doc("DocType", self.doctype)
		self.assertEqual(doctype.fields[0].unique, 1)
		for change in ({"autoname": "field:day"}, {"autoname": "field:code"}):
			doctype = frappe.get_doc("DocType", self.doctype).update(change)
			doctype.fields[2].unique = int(change["autoname"] == "field:code")
			with self.assertRaisesRegex(frappe.ValidationError, "cannot be unique"):
				doctype.save()

	def test_a_doctype_whose_fields_do_not_fit_is_refused(self):
		for change in REFUSED_FIELDS:
			field = dict(fieldname="extra", label="Extra", fieldtype="Data") | change
			self.check_refused(change, fields=[field])
		for settings in REFUSED_SETTINGS:
			self.check_refused(settings, **settings)

	def check_refused(self, case, **values):
		rules = [dict(role="System Manager", read=1)]
		fields = [dict(fieldname="code", label="Code", fieldtype="Data")]
		values = dict(fields=fields, permissions=rules) | values
		doctype = dict(doctype="DocType", name="Huf Test Refused", module="Huf", custom=1) | values
		with self.subTest(case), self.assertRaises(frappe.ValidationError):
			frappe.get_doc(doctype).insert()
		frappe.db.rollback()

	def test_a_new_field_has_its_default_in_existing_rows(self):
		self.make("a")
		frappe.db.commit()
		self.add_field(fieldname="size", fieldtype="Int", label="Size", default="7")
		self.assertEqual(frappe.get_doc(self.doctype, "a").size, 7)
		self.assertTrue(frappe.db.has_column(self.doctype, "size"))

	def test_a_new_long_int_has_its_default_in_existing_rows(self):
		self.make("a")
		frappe.db.commit()
		try:
			self.add_field(fieldname="bytes", fieldtype="Long Int", label="Bytes", default="8")
		except frappe.ValidationError:
			self.skipTest("Frappe 15 allows this type only in DocTypes of apps")
		self.assertEqual(frappe.get_doc(self.doctype, "a").bytes, 8)

	def add_field(self, **values):
		definition = frappe.get_doc("DocType", self.doctype)
		definition.append("fields", values)
		definition.save()

	def change_type(self, fieldname: str, fieldtype: str, **values):
		definition = frappe.get_doc("DocType", self.doctype)
		next(each for each in definition.fields if each.fieldname == fieldname).update(
			{"fieldtype": fieldtype, **values}
		)
		definition.save()

	def test_a_changed_field_type_converts_stored_values(self):
		self.make("a", serial="10", day="2024-02-29")
		frappe.db.commit()
		self.change_type("serial", "Int", unique=0)
		self.change_type("day", "Data", search_index=1)
		self.make("b", serial=9, day="0123")
		rows = frappe.get_all(self.doctype, fields=["serial", "day"], order_by="serial asc", as_list=True)
		self.assertEqual([tuple(row) for row in rows], [(9, "0123"), (10, "2024-02-29")])
		frappe.db.commit()
		self.change_type("serial", "Data", unique=1)
		self.make("c", serial="007")
		self.assertEqual(frappe.db.get_value(self.doctype, {"serial": "007"}, "name"), "c")
		self.assertEqual(self.make("d").serial, None)

	def test_a_field_type_that_stored_values_do_not_fit_is_refused(self):
		self.make("a", serial="ten")
		frappe.db.commit()
		refusals = frappe.ValidationError, frappe.db.DataError, frappe.db.OperationalError
		with self.assertRaises(refusals):
			self.change_type("serial", "Int", unique=0)
		frappe.db.rollback()
		self.assertEqual(frappe.get_doc(self.doctype, "a").serial, "ten")

	def test_a_unique_field_allows_several_empty_values(self):
		for code in ("a", "b"):
			self.make(code, serial="")
		self.make("c", serial="1")
		with self.assertRaises(frappe.UniqueValidationError):
			self.make("d", serial="1")

	def test_adding_the_same_index_twice_is_allowed(self):
		frappe.db.add_index(self.doctype, ["day", "code"])
		frappe.db.add_index(self.doctype, ["day", "code"])

	def test_standard_names_are_refused_as_fields(self):
		definition = frappe.get_doc("DocType", self.doctype)
		definition.append("fields", dict(fieldname="creation", fieldtype="Data", label="Creation"))
		with self.assertRaises(frappe.ValidationError):
			definition.save()


class TestReports(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.report = frappe.get_doc(
			dict(
				doctype="Report",
				report_name=frappe.generate_hash(length=10),
				ref_doctype="Error Log",
				report_type="Query Report",
				is_standard="No",
				query="select name as `Name:Link/Error Log:120`, 3 as `Number:Int` from `tabError Log` where method = %(method)s",
				roles=[dict(role="System Manager")],
			)
		).insert()
		self.addCleanup(self.remove_report)
		self.log = frappe.log_error("Huf test error", "message")

	def remove_report(self):
		frappe.delete_doc("Report", self.report.name, ignore_missing=True)
		frappe.db.commit()

	def test_a_query_report_returns_columns_and_rows(self):
		# Frappe 16 and later begin a read-only transaction for the report.
		frappe.db.commit()
		answer = run(self.report.name, {"method": "Huf test error"})
		self.assertEqual([column["fieldname"] for column in answer["columns"]], ["name", "number"])
		self.assertEqual(answer["columns"][0]["options"], "Error Log")
		self.assertIn({"name": self.log.name, "number": 3}, answer["result"])

	def test_a_user_without_the_role_is_refused(self):
		frappe.set_user("Guest")
		with self.assertRaises(frappe.PermissionError):
			run(self.report.name, {"method": "x"})

	def test_a_disabled_report_does_not_run(self):
		self.report.db_set("disabled", 1)
		with self.assertRaises(frappe.ValidationError):
			run(self.report.name, {"method": "x"})

	def test_a_query_that_writes_is_refused(self):
		self.report.db_set("query", "delete from `tabError Log` where method = %(method)s")
		with self.assertRaises(frappe.PermissionError):
			run(self.report.name, {"method": "Huf test error"})
		self.assertTrue(frappe.db.exists("Error Log", self.log.name))
