"""What others changed since a run: an undo keeps it, until the user decides."""

from contextlib import suppress

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.undo.scope import UndoSelection
from huf.ai.undo.undo import apply_undo, preview_undo
from huf.tests.ai.undo.runs import (
	ATTACH,
	CREATE,
	UPDATE,
	UndoTestCase,
	changed_names,
	edit,
	undo,
)
from huf.tests.doctypes import CASE, CUSTOMER, EDITOR, ORDER, controller, make_case, make_order
from huf.tests.factories import make, make_user, unique


class TestConflicts(UndoTestCase):
	def test_field_changed_by_a_user_since_is_kept_and_reported_as_a_conflict(self):
		case = make_case(amount=1)
		values = {"amount": 2, "status": "Closed"}
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": values}))
		edit(CASE, case.name, amount=50)
		done = undo(run)
		(conflict,) = done["preview"]["conflicts"]
		self.assertEqual(
			(conflict["path"], conflict["restored"], conflict["written"], conflict["current"]),
			(["amount"], 1, 2, 50),
		)
		self.assertEqual(conflict["changed_by"], "Administrator")
		stored = frappe.db.get_value(CASE, case.name, ["amount", "status"])
		self.assertEqual(tuple(stored), (50, "Open"))

	def test_conflict_can_be_resolved_by_restoring_the_field(self):
		case = make_case(amount=1)
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))
		edit(CASE, case.name, amount=50)
		undo(run, **{f"{CASE}/{case.name}/amount": "restore"})
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 1)

	def test_user_edit_between_two_runs_is_kept(self):
		case = make_case(amount=1)
		first = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))
		edit(CASE, case.name, amount=50)
		second = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 3}}))
		done = undo(first, second)
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 50)
		self.assertEqual(len(done["preview"]["conflicts"]), 1)

	def test_user_edit_of_another_field_is_not_a_conflict(self):
		case = make_case(amount=1)
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))
		edit(CASE, case.name, title="Cellar")
		self.assertEqual(undo(run)["preview"]["conflicts"], [])
		self.assertEqual(tuple(frappe.db.get_value(CASE, case.name, ["amount", "title"])), (1, "Cellar"))

	def test_rows_edited_or_added_by_a_user_are_kept(self):
		order = make_order("nail")
		run = self.run_calls(
			(UPDATE, ORDER, {"name": order.name, "values": {"lines": [{"item": "glue"}, {"item": "tape"}]}})
		)
		doc = frappe.get_doc(ORDER, order.name)
		doc.lines[0].qty = 40
		doc.append("lines", {"item": "rope"})
		doc.save()
		frappe.db.commit()
		done = undo(run)
		items = {row.item for row in frappe.get_doc(ORDER, order.name).lines}
		self.assertEqual(items, {"nail", "glue", "rope"})
		self.assertEqual(len(done["preview"]["conflicts"]), 1)

	def test_a_created_document_that_a_person_changed_is_kept(self):
		run = self.run_calls((CREATE, "ToDo", {"description": "mine now"}))
		(name,) = changed_names(run)
		edit("ToDo", name, priority="High")
		preview = preview_undo(UndoSelection((run,)))
		(conflict,) = preview["conflicts"]
		self.assertEqual((conflict["path"], conflict["current"]), ([], {"priority": "High"}))
		with self.assertRaisesRegex(UsageError, "restore nothing"):
			apply_undo(UndoSelection((run,)), preview["digest"])
		self.assertTrue(frappe.db.exists("ToDo", name))
		undo(run, **{f"ToDo/{name}": "restore"})
		self.assertFalse(frappe.db.exists("ToDo", name))

	def test_an_equal_document_that_a_person_made_since_under_the_same_name_is_kept(self):
		title = unique("Customer")
		run = self.run_calls((CREATE, CUSTOMER, {"title": title, "city": "Oslo"}))
		frappe.delete_doc(CUSTOMER, title)
		make(CUSTOMER, title=title, city="Oslo")
		frappe.db.commit()
		(conflict,) = preview_undo(UndoSelection((run,)))["conflicts"]
		self.assertEqual(conflict["current"], {"title": title, "city": "Oslo"})
		undo(run, **{conflict["key"]: "restore"})
		self.assertFalse(frappe.db.exists(CUSTOMER, title))

	def test_a_created_document_that_others_have_added_to_is_kept(self):
		other = make_user(EDITOR)
		added = {
			"Comment": {"reference_doctype": CASE, "comment_type": "Comment", "content": "Call first"},
			"File": {"attached_to_doctype": CASE, "file_name": "a.txt", "content": "theirs"},
			"ToDo": {"reference_type": CASE, "description": "Look at it"},
		}
		for doctype, values in added.items():
			with self.subTest(doctype):
				run = self.run_calls((CREATE, CASE, {"title": "New"}))
				(name,) = changed_names(run)
				own = self.run_calls((ATTACH, CASE, {"name": name, "file_name": "own.txt", "content": name}))
				field = "attached_to_name" if doctype == "File" else "reference_name"
				doc = make(doctype, **values, **{field: name})
				doc.db_set("owner", other)
				frappe.db.commit()
				preview = undo(run, own)["preview"]
				conflict = next(each for each in preview["conflicts"] if each["doctype"] == CASE)
				self.assertEqual((conflict["current"], conflict["changed_by"]), ({doctype: 1}, other))
				self.assertTrue(frappe.db.exists(CASE, name) and frappe.db.exists(doctype, doc.name))
				undo(run, **{f"{CASE}/{name}": "restore"})
				self.assertFalse(frappe.db.exists(CASE, name))

	def test_what_others_add_after_the_preview_is_shown_before_it_is_deleted(self):
		run = self.run_calls((CREATE, CASE, {"title": "New"}))
		(name,) = changed_names(run)
		edit(CASE, name, title="Edited")
		scope, chosen = UndoSelection((run,)), {f"{CASE}/{name}": "restore"}
		seen = preview_undo(scope, chosen)
		comment = {"reference_doctype": CASE, "comment_type": "Comment", "content": "Call first"}
		make("Comment", **comment, reference_name=name)
		frappe.db.commit()
		with self.assertRaisesRegex(UsageError, "Look at it again"):
			apply_undo(scope, seen["digest"], chosen)
		apply_undo(scope, preview_undo(scope, chosen)["digest"], chosen)
		self.assertFalse(frappe.db.exists(CASE, name))

	def test_document_deleted_by_a_user_is_an_unrestorable_conflict(self):
		case = make_case(amount=1)
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))
		frappe.delete_doc(CASE, case.name)
		frappe.db.commit()
		(conflict,) = preview_undo(UndoSelection((run,)))["conflicts"]
		self.assertFalse(conflict["can_restore"])

	def test_linked_document_blocks_the_undo_until_it_is_kept(self):
		title, case = unique("Customer"), make_case(amount=1)
		run = self.run_calls(
			(CREATE, CUSTOMER, {"title": title}), (UPDATE, CASE, {"name": case.name, "values": {"amount": 2}})
		)
		order = make_order(customer=title)
		preview = preview_undo(UndoSelection((run,)))
		(problem,) = preview["problems"]
		self.assertEqual(problem["name"], title)
		self.assertIn(order.name, problem["error"])
		with self.assertRaises(UsageError):
			apply_undo(UndoSelection((run,)), preview["digest"])
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 2)
		undo(run, **{f"{CUSTOMER}/{title}": "keep"})
		self.assertTrue(frappe.db.exists(CUSTOMER, title))
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 1)

	def test_document_whose_controller_commits_is_a_problem_and_others_are_undone(self):
		title, case = unique("Customer"), make_case(amount=1)
		run = self.run_calls(
			(CREATE, CUSTOMER, {"title": title}), (UPDATE, CASE, {"name": case.name, "values": {"amount": 2}})
		)
		with controller(CASE, on_update=lambda doc: frappe.db.commit()):
			(problem,) = preview_undo(UndoSelection((run,)))["problems"]
			self.assertIn("commits by itself", problem["error"])
			undo(run, **{problem["key"]: "keep"})
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 2)
		self.assertFalse(frappe.db.exists(CUSTOMER, title))

	def test_undo_that_cannot_be_previewed_is_a_usage_error(self):
		case = make_case(amount=1)
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))

		def on_update(doc):
			with suppress(Exception):
				frappe.db.commit()

		with (
			controller(CASE, on_update=on_update),
			self.assertRaisesRegex(UsageError, "commits by itself") as refused,
		):
			preview_undo(UndoSelection((run,)))
		self.assertNotIn("without an agent", str(refused.exception))

	def test_document_kept_by_one_undo_can_be_undone_later(self):
		title, case = unique("Customer"), make_case(amount=1)
		run = self.run_calls(
			(CREATE, CUSTOMER, {"title": title}), (UPDATE, CASE, {"name": case.name, "values": {"amount": 2}})
		)
		first = undo(run, **{f"{CUSTOMER}/{title}": "keep"})["run"]
		self.assertTrue(frappe.db.exists(CUSTOMER, title))
		edit(CASE, case.name, amount=5)
		undo(run)
		self.assertFalse(frappe.db.exists(CUSTOMER, title))
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 5)
		edit(CASE, case.name, amount=1)
		undo(first)
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 2)
		self.assertFalse(frappe.db.exists(CUSTOMER, title))
		with self.assertRaises(UsageError):
			undo(first)

	def test_undo_is_refused_if_documents_changed_after_the_preview(self):
		case = make_case(amount=1)
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 2, "status": "Closed"}}))
		preview = preview_undo(UndoSelection((run,)))
		edit(CASE, case.name, amount=7)
		with self.assertRaises(UsageError):
			apply_undo(UndoSelection((run,)), preview["digest"])
		self.assertEqual(tuple(frappe.db.get_value(CASE, case.name, ["amount", "status"])), (7, "Closed"))
