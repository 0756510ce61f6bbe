"""A pack of which something is gone already, after an interrupted removal, say, is removed."""

import json

import frappe

from huf.ai.packs.removing import remove_pack
from huf.tests.packs.samples import PackTestCase, what_there_is


class TestInterruptedRemoval(PackTestCase):
	def test_removal_goes_on_where_a_doctype_is_deleted_and_its_table_is_not(self):
		before = what_there_is()
		(plant,) = json.loads((self.folder / "doctypes.json").read_text())
		pot = {**plant, "name": f"Pot {self.key}"}
		self.put("doctypes.json", json.dumps([plant, pot]))
		self.install()
		for doctype in ("Agent Tool Function", "Agent"):
			frappe.db.delete(doctype, {"name": ["in", [f"list_{self.key}", self.agent]]})
		frappe.db.delete("Agent Tool", {"parent": self.agent})
		frappe.delete_doc("DocType", self.plant, force=True, delete_permanently=True)
		frappe.db.commit()
		frappe.clear_cache()
		self.assertTrue(frappe.db.table_exists(self.plant, cached=False))
		remove_pack(self.name)
		self.assertFalse(frappe.db.table_exists(self.plant, cached=False))
		self.assertEqual(what_there_is(), before)
