"""What databases do differently: values, names of indexes, isolation."""

import frappe

from huf.ai.storage.indexes import LISTED_BY_CREATION, add_indexes
from huf.ai.storage.rows import insert_row, update_row
from huf.ai.storage.untrusted_records import find_outsider, list_untrusted
from huf.ai.tools.fields import clean_filters
from huf.tests.base import SiteTestCase
from huf.tests.contract.connections import elsewhere
from huf.tests.factories import make


class TestValues(SiteTestCase):
	def test_a_row_takes_truth_values_and_text_with_nul(self):
		name = insert_row("Agent Tool Call", {"result": "a\0b", "cached": True})
		self.assertEqual(self.read(name), ("a\N{REPLACEMENT CHARACTER}b", 1))
		update_row("Agent Tool Call", name, {"result": "\0", "cached": False})
		self.assertEqual(self.read(name), ("\N{REPLACEMENT CHARACTER}", 0))

	def read(self, name):
		return frappe.db.get_value("Agent Tool Call", name, ["result", "cached"])


class TestFilters(SiteTestCase):
	def test_documents_are_found_by_whether_a_date_is_set(self):
		word = frappe.generate_hash(length=8)
		without, dated = (make("ToDo", description=word, date="2026-01-01").name for _ in range(2))
		frappe.db.set_value("ToDo", without, "date", None)
		for value, names in ((["is", "not set"], [without]), (["is", "set"], [dated]), (None, [without])):
			filters = clean_filters("ToDo", {"description": word, "date": value}, ["description", "date"])
			found = frappe.get_list("ToDo", filters, pluck="name", order_by="name")
			self.assertEqual(found, names, value)


class TestPostgres(SiteTestCase):
	def setUp(self):
		super().setUp()
		if frappe.db.db_type != "postgres":
			self.skipTest("other databases name indexes per table, and begin all transactions alike")

	def test_each_table_has_its_indexes(self):
		add_indexes()
		for doctype in LISTED_BY_CREATION:
			self.assertIn("creation", self.read_indexed_columns(doctype))
		for doctype in ("Agent LLM Call", "Agent Tool Call", "Agent Message"):
			self.assertIn("run", self.read_indexed_columns(doctype))
		self.assertIn("parent", self.read_indexed_columns("Agent Tool"))

	def read_indexed_columns(self, doctype):
		"""First columns of the indexes of a table."""
		query = """select attname from pg_index join pg_attribute on attrelid = indrelid and attnum = indkey[0]
			where indrelid = (select oid from pg_class where relname = %s and relkind = 'r')"""
		return frappe.db.sql(query, (f"tab{doctype}",), pluck=True)

	def test_documents_with_numbers_for_names_are_looked_up(self):
		self.assertEqual(list_untrusted("Web Form List Column", ["1"]), set())
		self.assertIsNone(find_outsider("Web Form List Column", None))

	def test_a_job_changes_what_others_have_changed_since_it_began(self):
		name = make("ToDo", description="first").name
		frappe.db.commit()

		def job():
			frappe.db.get_value("ToDo", name, "description")
			elsewhere(change, "second")
			change("third")

		def change(description):
			frappe.db.sql("update `tabToDo` set description = %s where name = %s", (description, name))
			frappe.db.commit()

		elsewhere(job)
		self.assertEqual(frappe.db.get_value("ToDo", name, "description"), "third")
