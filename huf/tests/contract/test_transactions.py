"""Savepoints, commit callbacks, direct writes and counters that the app relies on. Runs on both runtimes."""

import frappe
from frappe.model.naming import NamingSeries, make_autoname

from huf.tests.base import SiteTestCase
from huf.tests.contract.connections import elsewhere, together
from huf.tests.doctypes import make_doctypes, make_order

THREADS, ROUNDS = 8, 40


def make_note(title="a note", **values):
	return frappe.get_doc(dict(doctype="Note", title=title, **values)).insert()


def title_of(name):
	return frappe.db.get_value("Note", name, "title")


class TestSavepoints(SiteTestCase):
	def test_a_rollback_to_a_savepoint_keeps_what_was_written_before_it(self):
		before = make_note()
		frappe.db.savepoint("here")
		after = make_note()
		frappe.db.rollback(save_point="here")
		self.assertEqual(frappe.db.exists("Note", before.name), before.name)
		self.assertIsNone(frappe.db.exists("Note", after.name))

	def test_an_inner_savepoint_may_be_undone_alone(self):
		note = make_note("first")
		frappe.db.savepoint("first_point")
		frappe.db.set_value("Note", note.name, "title", "second")
		frappe.db.savepoint("second_point")
		frappe.db.set_value("Note", note.name, "title", "third")
		frappe.db.rollback(save_point="second_point")
		self.assertEqual(title_of(note.name), "second")
		frappe.db.rollback(save_point="first_point")
		self.assertEqual(title_of(note.name), "first")

	def test_a_released_savepoint_keeps_its_writes(self):
		frappe.db.savepoint("here")
		note = make_note()
		frappe.db.release_savepoint("here")
		self.assertTrue(frappe.db.exists("Note", note.name))

	def test_a_failed_statement_does_not_end_the_transaction(self):
		note, role = make_note(), dict(doctype="Role", role_name="System Manager")
		frappe.db.savepoint("here")
		with self.assertRaises(frappe.DuplicateEntryError):
			frappe.get_doc(role).insert()
		if frappe.db.db_type == "postgres":  # it refuses further statements until a rollback
			frappe.db.rollback(save_point="here")
		self.assertTrue(frappe.db.exists("Note", note.name))


class TestTransactions(SiteTestCase):
	def test_nobody_else_sees_a_row_before_the_commit(self):
		note = make_note()
		self.assertIsNone(elsewhere(title_of, note.name))
		frappe.db.commit()
		self.addCleanup(elsewhere, frappe.delete_doc, "Note", note.name)
		self.assertTrue(elsewhere(title_of, note.name))

	def test_an_update_follows_a_change_that_was_committed_since_the_row_was_read(self):
		note = make_note("first").name
		frappe.db.commit()
		self.addCleanup(elsewhere, frappe.delete_doc, "Note", note)

		def retitle(before, after):
			query = "update `tabNote` set title = %s where name = %s and title = %s"
			frappe.db.sql(query, (after, note, before))

		def read_and_update():
			title_of(note)
			elsewhere(retitle, "first", "second")
			retitle("second", "third")

		elsewhere(read_and_update)
		self.assertEqual(elsewhere(title_of, note), "third")

	def test_writes_are_counted_until_the_transaction_ends(self):
		self.assertEqual(frappe.db.transaction_writes, 0)
		frappe.get_all("Note", limit=1)
		self.assertEqual(frappe.db.transaction_writes, 0)
		make_note()
		self.assertGreater(frappe.db.transaction_writes, 0)
		frappe.db.rollback()
		self.assertEqual(frappe.db.transaction_writes, 0)

	def test_commit_and_rollback_callbacks_run_once_and_only_for_their_event(self):
		ran = []
		frappe.db.before_commit.add(lambda: ran.append("before commit"))
		frappe.db.after_commit.add(lambda: ran.append("commit"))
		frappe.db.after_rollback.add(lambda: ran.append("rollback"))
		frappe.db.rollback()
		self.assertEqual(ran, ["rollback"])
		frappe.db.before_commit.add(lambda: ran.append("before commit"))
		frappe.db.after_commit.add(lambda: ran.append("commit"))
		frappe.db.commit()
		frappe.db.commit()
		self.assertEqual(ran, ["rollback", "before commit", "commit"])

	def test_saving_a_document_changed_by_another_connection_is_refused(self):
		note = make_note("mine")
		frappe.db.commit()
		self.addCleanup(elsewhere, frappe.delete_doc, "Note", note.name)
		elsewhere(lambda: frappe.get_doc("Note", note.name).update(dict(title="theirs")).save())
		note.title = "mine again"
		with self.assertRaises(frappe.TimestampMismatchError):
			note.save()
		frappe.db.rollback()
		self.assertEqual(title_of(note.name), "theirs")


class TestDirectWrites(SiteTestCase):
	def test_set_value_writes_one_document_or_all_that_match(self):
		names = [make_note("many").name for _ in range(3)]
		frappe.db.set_value("Note", names[0], {"title": "one", "public": 1})
		frappe.db.set_value("Note", {"name": ["in", names], "public": 0}, "title", "others")
		self.assertEqual([title_of(name) for name in names], ["one", "others", "others"])

	def test_set_value_can_keep_the_modified_timestamp(self):
		note = make_note()
		before = frappe.db.get_value("Note", note.name, "modified")
		frappe.db.set_value("Note", note.name, "title", "x", update_modified=False)
		self.assertEqual(frappe.db.get_value("Note", note.name, "modified"), before)

	def test_bulk_insert_writes_rows_as_they_are(self):
		fields = ["name", "title", "owner", "creation", "modified"]
		moment = frappe.utils.now_datetime()
		rows = [[f"bulk-{n}", f"title {n}", "Administrator", moment, moment] for n in range(250)]
		frappe.db.bulk_insert("Note", fields, rows)
		self.assertEqual(frappe.db.count("Note", {"name": ["like", "bulk-%"]}), 250)
		self.assertEqual(frappe.get_doc("Note", "bulk-7").creation, moment)

	def test_sql_parameters_are_escaped(self):
		note = make_note('it\'s 100% `quoted` "text" %s ? \\ \u00fc')
		found = frappe.db.sql(
			"select title from tabNote where name = %s and title = %s", (note.name, note.title)
		)
		self.assertEqual(list(found), [(note.title,)])
		named = frappe.db.sql("select name from tabNote where title = %(t)s", {"t": note.title}, pluck=True)
		self.assertEqual(named, [note.name])

	def test_a_list_parameter_in_sql_is_expanded(self):
		names = [make_note().name for _ in range(2)]
		found = frappe.db.sql("select count(*) from tabNote where name in %(names)s", {"names": names})
		self.assertEqual(list(found), [(2,)])


class TestCounters(SiteTestCase):
	def test_no_increment_is_lost_between_threads(self):
		todo = frappe.get_doc(dict(doctype="ToDo", description="counter")).insert()
		frappe.db.set_value("ToDo", todo.name, "idx", 0)
		frappe.db.commit()
		self.addCleanup(elsewhere, frappe.delete_doc, "ToDo", todo.name)

		def increment():
			for _ in range(ROUNDS):
				frappe.db.sql("update `tabToDo` set idx = idx + 1 where name = %s", todo.name)
				frappe.db.commit()

		together([(increment,)] * THREADS)
		frappe.db.rollback()
		self.assertEqual(frappe.db.get_value("ToDo", todo.name, "idx"), THREADS * ROUNDS)

	def test_deleting_the_last_document_of_a_series_frees_its_number(self):
		make_doctypes()
		last = make_order()
		last.delete()
		self.assertEqual(make_order().name, last.name)

	def test_a_series_goes_on_after_the_number_that_its_counter_is_set_to(self):
		series = NamingSeries(f"{frappe.generate_hash(length=6)}-.YYYY.-.###")
		self.assertRegex(series.get_prefix(), r"^\w{6}-20\d\d-$")
		self.assertEqual(series.get_current_value(), 0)
		for number in (7, 41):
			series.update_counter(number)
			self.assertEqual(series.get_current_value(), number)
		self.assertEqual(make_autoname(series.series), f"{series.get_prefix()}042")

	def test_concurrent_inserts_never_get_the_same_series_name(self):
		series = f"{frappe.generate_hash(length=6)}-.######"
		elsewhere(make_autoname, series)  # MariaDB may deadlock if several threads begin a series

		def insert():
			names = []
			for _ in range(ROUNDS):
				note = frappe.get_doc(dict(doctype="Note", title="x")).insert(set_name=make_autoname(series))
				names.append(note.name)
				frappe.db.commit()
			return names

		names = [name for found in together([(insert,)] * THREADS) for name in found]
		self.addCleanup(elsewhere, frappe.db.delete, "Note", {"name": ["in", names]})
		self.assertEqual(len(set(names)), THREADS * ROUNDS)
		self.assertEqual({int(name.split("-")[1]) for name in names}, set(range(2, THREADS * ROUNDS + 2)))
