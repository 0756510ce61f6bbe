"""Undo of submissions whose controllers change further documents, as an invoice makes its ledger entries."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.storage.agent_changes import list_agent_changes
from huf.ai.undo.scope import UndoSelection
from huf.ai.undo.undo import preview_undo
from huf.tests.ai.undo.runs import SUBMIT, UndoTestCase, undo
from huf.tests.base import enter
from huf.tests.doctypes import CASE, ORDER, controller, make_order


def make_entry(order) -> None:
	"""Submit an entry of the order, and set a value by another object of it."""
	frappe.get_doc({"doctype": CASE, "title": order.name}).insert().submit()
	frappe.get_doc(ORDER, order.name).db_set("status", "Paid")


def list_entries(order: str, *fields: str) -> list:
	return frappe.get_all(CASE, {"title": order}, [*fields], as_list=True)


class TestSubmission(UndoTestCase):
	def setUp(self):
		super().setUp()
		enter(self, controller(ORDER, on_submit=make_entry))

	def submit_order(self) -> tuple[str, str]:
		order = make_order().name
		return order, self.run_calls((SUBMIT, ORDER, {"name": order}))

	def test_it_is_recorded_with_what_all_objects_of_the_document_have_saved(self):
		_order, run = self.submit_order()
		(row,) = list_agent_changes({"run": run, "reference_doctype": ORDER})
		before, after = frappe.parse_json(row.before), frappe.parse_json(row.after)
		self.assertEqual((row.action, row.cause), ("submit", None))
		self.assertEqual((before["docstatus"], before["fields"]["status"]), (0, "New"))
		self.assertEqual((after["docstatus"], after["fields"]["status"]), (1, "Paid"))

	def test_cancelling_the_document_decides_about_its_entries_after_a_rename_too(self):
		order, run = self.submit_order()
		renamed = frappe.rename_doc(ORDER, order, f"{order}-B", force=True)
		frappe.db.commit()
		result = undo(run)
		self.assertEqual(
			[(each["name"], each["action"]) for each in result["restored"]], [(renamed, "cancel")]
		)
		self.assertEqual(list_entries(order, "docstatus"), ((1,),))

	def test_cancelling_the_document_decides_about_its_entries(self):
		def refuse(entry) -> None:
			frappe.throw("An entry is cancelled with its order.")

		def close_entries(order) -> None:
			frappe.db.set_value(CASE, {"title": order.name}, "status", "Closed")

		enter(self, controller(CASE, before_cancel=refuse))
		enter(self, controller(ORDER, on_cancel=close_entries))
		order, run = self.submit_order()
		result = undo(run)
		self.assertEqual([(each["name"], each["action"]) for each in result["restored"]], [(order, "cancel")])
		self.assertEqual(frappe.db.get_value(ORDER, order, "docstatus"), 2)
		self.assertEqual(list_entries(order, "docstatus", "status"), ((1, "Closed"),))

	def test_entries_that_the_cancellation_waits_for_are_cancelled_first(self):
		def need_cancelled(order) -> None:
			if list_entries(order.name, "docstatus") != ((2,),):
				frappe.throw("Cancel the entry first.")

		enter(self, controller(ORDER, before_cancel=need_cancelled))
		order, run = self.submit_order()
		restored = [(each["doctype"], each["action"]) for each in undo(run)["restored"]]
		self.assertEqual(restored, [(CASE, "cancel"), (ORDER, "cancel")])

	def test_a_document_that_is_kept_keeps_its_entries(self):
		order, run = self.submit_order()
		keep = {f"{ORDER}/{order}": "keep"}
		preview = preview_undo(UndoSelection((run,)), keep)
		self.assertEqual((preview["difference"]["changes"], preview["kept"]), ([], list(keep)))
		with self.assertRaisesRegex(UsageError, "would restore nothing"):
			undo(run, **keep)
		self.assertEqual(list_entries(order, "docstatus"), ((1,),))
