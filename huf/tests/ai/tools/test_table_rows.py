"""Tools change child table rows one by one, as Desk does."""

from functools import partial

import frappe
import frappe.client

from huf.ai.core.errors import ToolError
from huf.ai.core.session import acting_as
from huf.ai.tools import document_tools as tools
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import CUSTOMER, EDITOR, ORDER, make_doctypes
from huf.tests.factories import make, make_user, unique


class TestTableRows(SiteTestCase):
	def setUp(self):
		super().setUp()
		make_doctypes()
		self.customer = make(CUSTOMER, title=unique("Customer")).name
		frappe.db.commit()
		self.editor = make_user("Huf User", EDITOR)

	def test_unknown_or_forbidden_row_field_is_refused(self):
		for line, error in (({"margin": 5}, frappe.PermissionError), ({"colour": "red"}, ToolError)):
			values = {"customer": self.customer, "lines": [{"item": "Bolt", **line}]}
			with acting_as(self.editor), self.assertRaisesRegex(error, next(iter(line))):
				tools.create_document(ORDER, values)
			frappe.db.rollback()

	def test_child_row_deleted_over_rest_is_removed_from_its_parent(self):
		order = make(ORDER, customer=self.customer, lines=[{"item": "Bolt"}, {"item": "Nail"}])
		frappe.db.commit()
		with acting_as(self.editor):
			frappe.client.delete("Huf Test Order Line", order.lines[0].name)
			self.assertRaises(frappe.DoesNotExistError, frappe.client.delete, "Huf Test Order Line", "none")
		order.reload()
		self.assertEqual([(row.item, row.idx) for row in order.lines], [("Nail", 1)])

	def test_rows_copied_to_a_new_document_get_new_names(self):
		order = make(ORDER, customer=self.customer, lines=[{"item": "Bolt"}]).name
		frappe.db.commit()
		with acting_as(self.editor):
			(row,) = tools.get_document(ORDER, order)["lines"]
			copy = tools.create_document(ORDER, {"customer": self.customer, "lines": [row]})
		self.assertNotEqual(copy["lines"][0]["name"], row["name"])
		self.assertEqual(frappe.db.get_value("Huf Test Order Line", row["name"], "parent"), order)

	def test_row_updated_by_name_keeps_omitted_and_hidden_fields(self):
		lines = [{"item": "Bolt", "qty": 2, "margin": 5}, {"item": "Nail", "qty": 3, "margin": 6}]
		order = make(ORDER, customer=self.customer, lines=lines).name
		frappe.db.commit()
		change = partial(tools.update_document, ORDER, order)
		with acting_as(self.editor):
			bolt, nail = tools.get_document(ORDER, order)["lines"]
			for rows, message in (
				([{"item": "Bolt"}, {"item": "Nail"}], "Give the names of all rows"),
				([{"name": "none", "item": "Bolt"}], "Give each name once"),
				([{"name": bolt["name"]}] * 2, "Give each name once"),
			):
				with self.assertRaisesRegex(ToolError, message):
					change({"lines": rows})
			rows = [{"name": nail["name"], "qty": 4}, {"item": "Screw"}, {"name": bolt["name"]}]
			changed = change({"lines": rows})["lines"]
		self.assertEqual([row["item"] for row in changed], ["Nail", "Screw", "Bolt"])
		stored = [(row.item, row.qty, row.margin) for row in frappe.get_doc(ORDER, order).lines]
		self.assertEqual(stored, [("Nail", 4, 6), ("Screw", 1, 0), ("Bolt", 2, 5)])
