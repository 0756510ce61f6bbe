"""A pack is removed of which an interrupted removal, or a person, has deleted something already."""

import json

import frappe

from huf.ai.packs.removing import remove_pack
from huf.tests.packs.samples import PackTestCase, what_there_is


class TestInterruptedRemoval(PackTestCase):
	def test_removal_goes_on_without_a_deleted_doctype_and_keeps_its_table(self):
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
		remove_pack(self.name)
		self.assertTrue(frappe.db.table_exists(self.plant, cached=False))
		frappe.db.sql_ddl(f"drop table `tab{self.plant}`")
		self.assertEqual(what_there_is(), before)
