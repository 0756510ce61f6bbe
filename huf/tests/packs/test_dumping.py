"""Texts of exported documents are written as lines that people can read, and are read back as they were."""

import json

import frappe

from huf.ai.core.yaml_lines import load_yaml
from huf.ai.packs.dumping import to_yaml
from huf.ai.packs.exporting import export_pack
from huf.ai.packs.removing import remove_pack
from huf.ai.tools.operations import Operation
from huf.tests.factories import make
from huf.tests.packs.samples import PackTestCase


class TestDumping(PackTestCase):
	def test_an_operation_is_exported_as_lines_and_read_back_as_it_was(self):
		schema = {"type": "object", "properties": {"day": {"type": "string", "description": "Größe: x\ny"}}}
		operation = Operation("GET", "/stock", {"day": {"name": "day", "in": "query"}}, schema)
		values = {
			"types": "GET",
			"base_url": "https://stock.example.com",
			"description": "Stock: all\nof it ",
		}
		one_line = json.dumps(json.loads(operation.as_json()))
		tool = make("Agent Tool Function", tool_name=f"stock_{self.key}", operation=one_line, **values).name
		slots = [{"tool": tool}]
		agent = make("Agent", agent_name=f"Buyer {self.key}", instructions="Buy.", agent_tool=slots).name
		files = export_pack(f"stock_{self.key}", agents=[agent])
		self.assertIn('  operation: |-\n    {\n     "method": "GET",\n', files["pack.yaml"])
		for doctype, name in (("Agent", agent), ("Agent Tool Function", tool)):
			frappe.delete_doc(doctype, name)
		frappe.db.commit()
		self.install_files(files)
		self.addCleanup(remove_pack, f"stock_{self.key}")
		stored = frappe.get_doc("Agent Tool Function", tool)
		self.assertEqual(json.loads(stored.operation), json.loads(one_line))
		self.assertEqual(stored.description, values["description"])
		self.assertEqual(export_pack(f"stock_{self.key}", agents=[agent]), files)

	def test_values_of_custom_fields_are_left_out(self):
		self.install()
		field = frappe.get_meta(self.plant).get_field("height")
		self.addCleanup(frappe.clear_cache, doctype=self.plant)
		field.is_custom_field = 1  # as Frappe marks them
		(record,) = json.loads(
			export_pack(self.name, doctypes=[self.plant], with_records=True)["records.json"]
		)
		self.assertEqual(record, {"doctype": self.plant, "plant_name": f"Rose {self.key}"})

	def test_texts_of_any_characters_are_read_back_as_they_were(self):
		chars = " \n\t\r:#-{}[]'\"|>a\u2028\x85é*&!%@0,\ufeff"
		for text in (
			*chars,
			*(f"{a}{b}c\n {a}" for a in chars for b in chars),
			"10:30",
			"a" * 200 + "\n b  ",
		):
			values = {"agents": [{"a": text, "b": [{"c": text}]}]}
			self.assertEqual(load_yaml(to_yaml(values)), values)
