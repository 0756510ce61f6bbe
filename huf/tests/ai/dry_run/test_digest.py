"""Logs, random names and the time of the write differ on each run, and do not make it another change."""

import datetime

import frappe
from frappe.utils import now

from huf.ai.dry_run.digest import DryRunResult, is_time_of_write
from huf.ai.dry_run.preview import PreviewChanged, apply_approved, preview_changes
from huf.ai.tools import document_tools as tools
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import CUSTOMER, ORDER, controller, field, make_doctype, make_doctypes, make_order
from huf.tests.factories import make, unique

LOG = "Transaction Log"


class TestDigest(SiteTestCase):
	def setUp(self):
		super().setUp()
		make_doctypes()
		if not frappe.db.exists("DocType", LOG):
			make_doctype(LOG, [field("data", "Long Text"), field("reference_doctype", "Data")], [])
			frappe.db.commit()

	def test_a_change_that_writes_the_transaction_log_can_be_approved(self):
		order, data = make_order(), unique("data")

		def on_submit(doc):
			make(LOG, reference_doctype=doc.doctype, data=f"{data} {now()} {frappe.generate_hash()}")

		with controller(ORDER, on_submit=on_submit):
			work = lambda: tools.submit_document(ORDER, order.name)  # noqa: E731
			preview = preview_changes(work)
			frappe.db.rollback()
			self.assertEqual([change["doctype"] for change in preview.changes], [ORDER])
			apply_approved(work, preview.digest)
		self.assertEqual(frappe.db.get_value(ORDER, order.name, "docstatus"), 1)
		self.assertEqual(frappe.db.count(LOG, {"data": ["like", f"{data}%"]}), 1)

	def test_a_random_name_that_code_fills_in_is_provisional(self):
		"""As that of a batch on ERPNext, which its DocType names by a field."""
		order = make_order()

		def on_submit(doc):
			title = frappe.generate_hash(length=7)
			make(CUSTOMER, title=title, city="Graz")
			frappe.db.set_value(ORDER, doc.name, "note", title)

		with controller(ORDER, on_submit=on_submit):
			work = lambda: tools.submit_document(ORDER, order.name)  # noqa: E731
			preview = preview_changes(work)
			frappe.db.rollback()
			(made,) = [change for change in preview.changes if change["doctype"] == CUSTOMER]
			self.assertTrue(made["provisional"])
			apply_approved(work, preview.digest)
		self.assertTrue(frappe.db.exists(CUSTOMER, frappe.db.get_value(ORDER, order.name, "note")))

	def test_a_name_that_is_the_same_each_time_belongs_to_what_is_approved(self):
		values = {"title": unique("same")}
		work = lambda: tools.create_document(CUSTOMER, values)  # noqa: E731
		preview = preview_changes(work)
		frappe.db.rollback()
		self.assertFalse(preview.changes[0]["provisional"])
		values["title"] = unique("other")
		with self.assertRaises(PreviewChanged):
			apply_approved(work, preview.digest)

	def test_a_moment_before_the_write_is_not_its_time(self):
		began = datetime.datetime(2026, 11, 28, 10, 58, 24, 300_000)
		outcome = DryRunResult({}, {}, (), {}, began, began + datetime.timedelta(seconds=2))
		for value, expected in (
			("10:58:23.817986", False),
			("10:58:24.299999", False),
			("10:58:24.300000", True),
			("10:58:24", True),
			("10:58:23", False),
			("10:58:26.300001", False),
		):
			with self.subTest(value):
				self.assertEqual(is_time_of_write(value, "Time", outcome), expected)
				self.assertEqual(is_time_of_write(f"2026-11-28 {value}", "Datetime", outcome), expected)
