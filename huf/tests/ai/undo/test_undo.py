"""Undo restores each kind of change, with what belongs to it."""

from pathlib import Path
from unittest.mock import patch

import frappe
from frappe.core.doctype.file.file import File
from frappe.utils import get_datetime, now_datetime

from huf.ai.core.session import acting_as
from huf.ai.tools.document_tools import amend_document
from huf.ai.undo.capture import read_stored_image
from huf.ai.undo.scope import UndoSelection
from huf.ai.undo.undo import preview_undo
from huf.tests.ai.undo.runs import (
	ATTACH,
	CANCEL,
	CREATE,
	DELETE,
	SUBMIT,
	UPDATE,
	UndoTestCase,
	Worker,
	changed_names,
	undo,
)
from huf.tests.doctypes import CASE, CUSTOMER, EDITOR, ORDER, make_case, make_order
from huf.tests.factories import make, make_file, make_role, make_tool, make_user, unique


class TestKinds(UndoTestCase):
	def test_changed_fields_get_their_earlier_values(self):
		case = make_case(amount=3)
		before = read_stored_image(CASE, case.name)
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 9, "status": "Closed"}}))
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 9)
		undo(run)
		self.assertEqual(read_stored_image(CASE, case.name), before)

	def test_several_changes_of_one_document_go_back_to_the_first_state(self):
		case = make_case(amount=3)
		before = read_stored_image(CASE, case.name)
		steps = [(UPDATE, CASE, {"name": case.name, "values": {"amount": number}}) for number in (4, 5, 6)]
		undo(self.run_calls(*steps))
		self.assertEqual(read_stored_image(CASE, case.name), before)

	def test_child_rows_are_restored_with_their_names(self):
		order = make_order("nail", "screw", "bolt")
		before = read_stored_image(ORDER, order.name)
		lines = [{"item": "glue"}, {"item": "screw", "qty": 7}]
		run = self.run_calls((UPDATE, ORDER, {"name": order.name, "values": {"lines": lines}}))
		self.assertEqual(len(read_stored_image(ORDER, order.name)["rows"]["lines"]), 2)
		undo(run)
		self.assertEqual(read_stored_image(ORDER, order.name), before)

	def test_a_created_document_is_deleted(self):
		run = self.run_calls((CREATE, "ToDo", {"description": "undo me"}))
		(name,) = changed_names(run)
		preview = undo(run)["preview"]
		self.assertEqual([each["action"] for each in preview["difference"]["changes"]], ["delete"])
		self.assertFalse(frappe.db.exists("ToDo", name))

	def test_a_deleted_document_is_created_again_as_it_was(self):
		order = make_order("nail", "screw", note="keep")
		frappe.db.set_value(ORDER, order.name, "owner", make_user(EDITOR), update_modified=False)
		frappe.db.commit()
		before = read_stored_image(ORDER, order.name)
		undo(self.run_calls((DELETE, ORDER, {"name": order.name})))
		self.assertEqual(read_stored_image(ORDER, order.name), before)

	def test_restored_documents_keep_their_creator_and_were_last_changed_by_who_undoes(self):
		undoer = make_user(EDITOR, "Huf Manager")
		for call in ((UPDATE, {"values": {"note": "x"}}), (DELETE, {})):
			order = make_order("nail", note="keep")
			origin = {"owner": make_user(EDITOR), "creation": "2026-01-02 03:04:05"}
			frappe.db.set_value(ORDER, order.name, origin, update_modified=False)
			frappe.db.commit()
			run = self.run_calls((call[0], ORDER, {"name": order.name, **call[1]}))
			began = now_datetime()
			with acting_as(undoer):
				undo(run)
			stored = frappe.get_doc(ORDER, order.name)
			self.assertEqual((stored.owner, str(stored.creation)[:19]), tuple(origin.values()))
			self.assertEqual(stored.modified_by, undoer)
			self.assertGreaterEqual(get_datetime(stored.modified), began)

	def test_facts_that_a_manager_restores_are_still_those_of_who_wrote_them(self):
		role = make_role()
		user, manager = make_user("Huf User", role), make_user("Huf Manager")
		worker = Worker(self.server, ("Agent Memory",))
		for call in ((UPDATE, {"values": {"fact": "Pay later."}}), (DELETE, {})):
			with self.subTest(call[0]):
				with acting_as(user):
					fact = make("Agent Memory", fact="Pay Bob first.", scope="Role", role=role)
				frappe.db.commit()
				run = worker.run((call[0], "Agent Memory", {"name": fact.name, **call[1]}))
				with acting_as(manager):
					undone = undo(run)
				fact.reload()
				self.assertEqual((fact.fact, fact.modified_by), ("Pay Bob first.", user))
				undo(undo(undone["run"])["run"])
				fact.reload()
				self.assertEqual((fact.fact, fact.modified_by), ("Pay Bob first.", user))

	def test_undo_of_a_deletion_says_that_comments_do_not_come_back(self):
		order = make_order()
		run = self.run_calls((DELETE, ORDER, {"name": order.name}))
		(note,) = undo(run)["preview"]["notes"]
		self.assertIn("Comments, to-dos, shares and facts", note["note"])

	def test_naming_series_does_not_reuse_the_number_of_a_restored_document(self):
		order = make_order()
		undo(self.run_calls((DELETE, ORDER, {"name": order.name})))
		self.assertEqual(make_order().name, f"HUF-ORD-{int(order.name[-5:]) + 1:05}")

	def test_restored_document_keeps_an_empty_field_that_has_a_default(self):
		case = make_case()
		case.db_set("status", "")
		frappe.db.commit()
		before = read_stored_image(CASE, case.name)
		undo(self.run_calls((DELETE, CASE, {"name": case.name})))
		self.assertEqual(read_stored_image(CASE, case.name), before)

	def test_a_submitted_document_is_cancelled(self):
		order = make_order()
		undo(self.run_calls((SUBMIT, ORDER, {"name": order.name})))
		self.assertEqual(frappe.db.get_value(ORDER, order.name, "docstatus"), 2)

	def test_a_cancelled_document_is_amended_and_submitted(self):
		order = make_order("nail", "screw")
		order.submit()
		frappe.db.commit()
		done = undo(self.run_calls((CANCEL, ORDER, {"name": order.name})))
		amended = frappe.get_doc(ORDER, done["restored"][0]["name"])
		self.assertEqual((amended.amended_from, amended.docstatus), (order.name, 1))
		self.assertEqual([row.item for row in amended.lines], ["nail", "screw"])

	def test_cancelled_document_that_was_amended_is_listed_as_a_problem(self):
		order = make_order()
		order.submit()
		frappe.db.commit()
		run = self.run_calls((CANCEL, ORDER, {"name": order.name}))
		amended = amend_document(ORDER, order.name, {"note": "corrected"})["name"]
		frappe.db.commit()
		(problem,) = preview_undo(UndoSelection((run,)))["problems"]
		self.assertEqual(problem["error"], f"It has been amended already, as {amended}.")
		frappe.db.set_value(ORDER, amended, "amended_from", None)
		frappe.db.commit()
		(problem,) = preview_undo(UndoSelection((run,)))["problems"]
		self.assertEqual(problem["error"], "Its name is taken.")

	def test_undo_amends_the_last_cancelled_amendment(self):
		order = make_order()
		order.submit()
		frappe.db.commit()
		run = self.run_calls((CANCEL, ORDER, {"name": order.name}))
		name = amend_document(ORDER, order.name, {"note": "corrected"})["name"]
		second = self.run_calls((SUBMIT, ORDER, {"name": name}))
		(problem,) = preview_undo(UndoSelection((run,)))["problems"]
		self.assertIn(name, problem["error"])
		done = undo(run, second)
		restored = {each["action"]: each["name"] for each in done["restored"]}
		self.assertEqual(restored["cancel"], name)
		amended = frappe.get_doc(ORDER, restored["amend"])
		self.assertEqual((amended.amended_from, amended.docstatus, amended.note), (name, 1, order.note))

	def test_document_created_and_submitted_by_runs_is_cancelled(self):
		self.run_calls((CREATE, CUSTOMER, {"title": "Anna"})) if not frappe.db.exists(CUSTOMER, "Anna") else 0
		run = self.run_calls((CREATE, ORDER, {"customer": "Anna", "lines": [{"item": "nail"}]}))
		(name,) = changed_names(run)
		second = self.run_calls((SUBMIT, ORDER, {"name": name}))
		done = undo(run, second)
		self.assertEqual(frappe.db.get_value(ORDER, name, "docstatus"), 2)
		self.assertIn("cancelled", done["restored"][0]["note"])

	def test_attached_file_is_deleted_and_restored_by_undo_of_the_undo(self):
		case = make_case()
		run = self.run_calls(
			(ATTACH, CASE, {"name": case.name, "file_name": "a.txt", "content": unique("text")})
		)
		attached = {"attached_to_doctype": CASE, "attached_to_name": case.name}
		name = frappe.db.get_value("File", attached)
		file = frappe.get_doc("File", name)
		content, url = file.get_content(), file.file_url
		first = undo(run)["run"]
		self.assertFalse(frappe.db.exists("File", attached))
		undo(first)
		again = frappe.get_doc("File", frappe.db.get_value("File", attached))
		self.assertEqual((again.name, again.get_content(), again.file_url), (name, content, url))

	def test_deleted_file_is_restored_byte_for_byte(self):
		case, content = make_case(), b"\xef\xbb\xbfName;Ort\r\n" + frappe.generate_hash().encode()
		attached = {"attached_to_doctype": CASE, "attached_to_name": case.name}
		make_file("byte-order-mark.csv", content, **attached)

		def get_text(file, encodings=None):
			"""Drops the byte order mark, as Frappe does."""
			return Path(file.get_full_path()).read_bytes().decode("utf-8-sig")

		with patch.object(File, "get_content", get_text):
			run = self.run_calls((DELETE, CASE, {"name": case.name}))
		undo(run)
		again = frappe.get_doc("File", frappe.db.get_value("File", attached))
		self.assertEqual(Path(again.get_full_path()).read_bytes(), content)

	def test_linked_documents_are_undone_in_dependency_order(self):
		title = unique("Customer")
		run = self.run_calls(
			(CREATE, CUSTOMER, {"title": title}),
			(CREATE, ORDER, {"customer": title, "lines": [{"item": "nail"}]}),
			(UPDATE, CUSTOMER, {"name": title, "values": {"city": "Oslo"}}),
		)
		first = undo(run)["run"]
		self.assertFalse(frappe.db.exists(CUSTOMER, title))
		undo(first)
		self.assertEqual(frappe.db.get_value(CUSTOMER, title, "city"), "Oslo")
		self.assertTrue(frappe.db.exists(ORDER, {"customer": title}))

	def test_a_child_run_is_undone_with_the_run_that_started_it(self):
		tool = make_tool("Run Agent", agent=self.worker.agent)
		parent = Worker(self.server, (), tool)
		from huf.tests.model_server import text, tool_call

		todo = self.worker.tools[CREATE, "ToDo"]
		description = unique("by a child")

		def answer(request):
			names = {each["function"]["name"] for each in request["tools"]}
			if any(message["role"] == "tool" for message in request["messages"]):
				return text("Done.")
			return (
				tool_call(tool, {"prompt": "go"})
				if tool in names
				else tool_call(todo, {"description": description})
			)

		self.server.forever(answer)
		from huf.ai.runs.entry import run_agent_sync

		run = run_agent_sync(parent.agent, "Go", external_id=unique("x"))["run"]
		self.assertTrue(frappe.db.exists("ToDo", {"description": ["like", f"%{description}%"]}))
		self.assertEqual(undo(run)["preview"]["external"], [])
		self.assertFalse(frappe.db.exists("ToDo", {"description": ["like", f"%{description}%"]}))
