"""Tools refuse values that would be stored as something else."""

from functools import partial

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.runs.admission import acting_as
from huf.ai.tools import document_tools as tools
from huf.tests.ai.tools.test_erp_documents import INVOICE, ErpTestCase


class TestValues(ErpTestCase):
	def test_values_of_the_wrong_field_type_are_refused(self):
		with acting_as(self.user):
			name = self.create()["name"]
			frappe.db.commit()
			for field, value, expected in (
				("printed", "many", "1234.5"),
				("printed", "1.234,50", "1234.5"),
				("due_on", "soon", "YYYY-MM-DD"),
				("items", "Bolt", "list of rows"),
			):
				with self.subTest(f"{field}: {value}"):
					set_value_call = partial(tools.set_value, INVOICE, name, field, value)
					self.refused(ToolError, set_value_call, field, expected)
			self.refused(ToolError, lambda: self.create(items=[{"item": "Bolt", "rate": "5 EUR"}]), "5 EUR")
			self.assertEqual(tools.set_value(INVOICE, name, "printed", "2")["printed"], 2)
