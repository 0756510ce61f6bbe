"""Differences between databases: values, index names, isolation."""

import frappe

from huf.ai.core.database_connections import is_own_job, is_own_path, let_updates_wait
from huf.ai.core.errors import ToolError
from huf.ai.core.stored_text import clip
from huf.ai.knowledge.indexing import index_source
from huf.ai.knowledge.store import ITEM
from huf.ai.storage.indexes import LISTED_BY_CREATION, add_indexes
from huf.ai.storage.rows import insert_row, insert_rows, update_row
from huf.ai.storage.untrusted_records import find_outsider, list_untrusted
from huf.ai.tools.filters import clean_filters
from huf.tests.base import SiteTestCase
from huf.tests.contract.connections import elsewhere
from huf.tests.doctypes import CASE, PLAIN, field, make_case, make_doctype, make_doctypes
from huf.tests.factories import make, make_agent, unique
from huf.tests.knowledge import make_source

SAMPLE = "Huf Test Measured Value"
COLUMNS = [
	field("number", "Int"),
	field("ratio", "Float"),
	field("day", "Date"),
	field("moment", "Datetime"),
	field("word", "Data"),
]
STANDARD = ["name", "creation", "docstatus"]
ROWS = {
	"A": {},
	"B": {"number": 7, "ratio": 0.5, "day": "2024-02-29", "moment": "2024-02-29 10:00:00", "word": "one"},
	"C": {"number": 1, "day": "2031-01-01", "word": "two"},
}
FILTERS = [
	(("number", "is", "set"), "B C"),
	(("number", "in", [7, None]), "B"),
	(("number", "not in", [7, None]), "A C"),
	(("number", "in", ["7", "1"]), "B C"),
	(("number", "in", []), ""),
	(("number", "not in", [7]), "A C"),
	(("number", "not in", []), "A B C"),
	(("day", "in", ["2024-02-29"]), "B"),
	(("day", "not in", ["2024-02-29"]), "A C"),
	(("day", "not in", ["2024-02-29", None]), "C"),
	(("day", "in", [None]), "A"),
	(("moment", "is", "not set"), "A C"),
	(("word", "in", ["one", None]), "A B"),
	(("word", "not in", ["one", None]), "C"),
	(("docstatus", "not in", [2]), "A B C"),
	(("docstatus", "!=", "2"), "A B C"),
	(("creation", "is", "set"), "A B C"),
	(("creation", "is", "not set"), ""),
]
FILTERS_ON_POSTGRES = [
	(("number", "is", "not set"), "A"),
	(("ratio", "not in", [0.5, 2]), "A C"),
	(("moment", "not in", ["2024-02-29 10:00:00"]), "A C"),
]
"""Other databases compare these as text: a stored 0.5 is 0.500000000, and times have microseconds."""


class TestValues(SiteTestCase):
	def test_rows_accept_booleans_and_replace_nul_characters(self):
		name = insert_row("Agent Tool Call", {"result": "a\0b", "cached": True})
		self.assertEqual(self.read(name), ("a\N{REPLACEMENT CHARACTER}b", 1))
		update_row("Agent Tool Call", name, {"result": "\0", "cached": False})
		self.assertEqual(self.read(name), ("\N{REPLACEMENT CHARACTER}", 0))

	def read(self, name):
		return frappe.db.get_value("Agent Tool Call", name, ["result", "cached"])

	def test_a_clipped_text_fits_into_a_field_of_mariadb(self):
		for text in ("a" * 30_000, "ä" * 30_000, "😀" * 18_000, "😀" * 30_000):
			clipped = clip(text)
			self.assertLessEqual(len(clipped), 20_000)
			self.assertLessEqual(len(clipped.encode()), 65_535)
			self.assertTrue(clipped.endswith("…"))
		for text in ("a" * 20_000, "😀" * 16_000, "", None):
			self.assertEqual(clip(text), text)


class TestFilters(SiteTestCase):
	def setUp(self):
		super().setUp()
		if not frappe.db.exists("DocType", SAMPLE):
			make_doctype(SAMPLE, COLUMNS, [{**PLAIN, "role": "System Manager"}], autoname="prompt")
			frappe.db.commit()
		for name, values in ROWS.items():
			make(SAMPLE, name=name, **values)

	def test_documents_are_found_by_whether_a_date_is_set(self):
		word = frappe.generate_hash(length=8)
		without, dated = (make("ToDo", description=word, date="2026-01-01").name for _ in range(2))
		frappe.db.set_value("ToDo", without, "date", None)
		for value, names in (
			(["is", "not set"], [without]),
			(["is", "set"], [dated]),
			(None, [without]),
			(["is", None], [without]),
		):
			filters = clean_filters("ToDo", {"description": word, "date": value}, ["description", "date"])
			found = frappe.get_list("ToDo", filters, pluck="name", order_by="name")
			self.assertEqual(found, names, value)
		with self.assertRaisesRegex(ToolError, "needs a value"):
			clean_filters("ToDo", {"date": [">", None]}, ["date"])

	def test_in_and_is_set_filters_handle_numbers_dates_and_empty_values(self):
		on_postgres = frappe.db.db_type == "postgres"
		for condition, names in FILTERS + (FILTERS_ON_POSTGRES if on_postgres else []):
			with self.subTest(condition):
				self.assertEqual(self.find(*condition), names.split())

	def test_like_filter_on_a_number_finds_nothing_or_raises_a_tool_error(self):
		try:
			self.assertEqual(self.find("number", "like", "%a%"), [])
		except ToolError as error:
			self.assertIn("number is a Int", str(error))
			self.assertEqual(frappe.db.db_type, "postgres")

	def find(self, *condition):
		filters = clean_filters(
			SAMPLE, [list(condition)], [column["fieldname"] for column in COLUMNS] + STANDARD
		)
		return frappe.get_list(SAMPLE, filters, pluck="name", order_by="name asc")


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

	def test_documents_with_integer_names_are_looked_up(self):
		self.assertEqual(list_untrusted("Web Form List Column", ["1"]), set())
		self.assertIsNone(find_outsider("Web Form List Column", None))

	def test_job_can_update_rows_changed_since_its_transaction_began(self):
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


class TestSnapshotIsolation(SiteTestCase):
	"""In the Desk, a transaction on MariaDB 11.6.2 or later may not change rows changed since it began."""

	def setUp(self):
		super().setUp()
		make_doctypes()
		if frappe.db.db_type == "mariadb":
			self.addCleanup(let_updates_wait)
			frappe.db.sql("set @huf = 1 /*M!110602 , session innodb_snapshot_isolation = on */")
		self.before = self.read_isolation()

	def test_a_document_is_saved_while_a_job_indexes_its_earlier_content(self):
		doc = make_case(title=unique("Roof"))
		source = make_source(reference_doctype=CASE)
		doc.update({"title": unique("Gutter")}).save()
		frappe.db.commit()
		doc = frappe.get_doc(CASE, doc.name)
		elsewhere(index_source, source)
		doc.update({"title": unique("Tile")}).save()
		frappe.db.commit()
		state = frappe.db.get_value(ITEM, {"source": source, "reference_name": doc.name}, "state")
		self.assertEqual(state, "Waiting")
		self.assertEqual(self.read_isolation(), self.before)

	def test_a_document_is_renamed_while_a_run_works(self):
		old, new = unique("Team"), unique("Team")
		make("Huf Test Team", title=old)
		# MariaDB reads all rows of a small table.
		rows = [{"reference_doctype": "Huf Test Team", "reference_name": name} for name in (old, *range(200))]
		about, *others = insert_rows("Agent Run", rows)
		frappe.db.commit()
		frappe.get_doc("Huf Test Team", old)
		elsewhere(update_row, "Agent Run", others[-1], {"steps": 1})
		frappe.rename_doc("Huf Test Team", old, new, force=True)
		self.assertEqual(frappe.db.get_value("Agent Run", about, "reference_name"), new)
		self.assertEqual(self.read_isolation(), self.before)

	def test_an_agent_is_saved_while_another_one_is_saved(self):
		first, second = make_agent(), make_agent()
		frappe.db.commit()
		agent = frappe.get_doc("Agent", first)
		elsewhere(lambda: frappe.get_doc("Agent", second).update({"instructions": "Be brief."}).save())
		agent.update({"instructions": "Be kind."}).save()
		frappe.db.commit()
		self.assertEqual(frappe.db.get_value("Agent", first, "instructions"), "Be kind.")
		self.assertEqual(self.read_isolation(), self.before)

	def test_hooks_prepare_requests_and_jobs_of_huf_only(self):
		run_scheduled = "frappe.core.doctype.scheduled_job_type.scheduled_job_type.run_scheduled_job"
		self.assertTrue(is_own_job(run_scheduled, {"job_type": "huf.ai.runs.queue.recover_runs"}))
		self.assertFalse(is_own_job(run_scheduled, {"job_type": "frappe.email.queue.flush"}))
		self.assertTrue(is_own_job("huf.ai.agent_hooks.run_agent_for_doc", {}))
		self.assertTrue(is_own_path("/agent/hook/orders"))
		self.assertTrue(is_own_path("/api/v2/method/huf.api.chat.send"))
		self.assertFalse(is_own_path("/api/resource/ToDo"))

	def read_isolation(self) -> int:
		if frappe.db.db_type != "mariadb":
			return 0
		return frappe.db.sql("select 0 /*M!110602 + @@innodb_snapshot_isolation */")[0][0]
