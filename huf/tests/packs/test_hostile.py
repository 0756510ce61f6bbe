"""Malformed and hostile packs are refused with a reason, and leave nothing behind."""

import json

import frappe

from huf.ai.core.errors import UsageError
from huf.tests.factories import make
from huf.tests.packs.samples import PackTestCase, what_there_is


class TestHostile(PackTestCase):
	def setUp(self):
		super().setUp()
		self.before = what_there_is()

	def refuse(self, message: str) -> None:
		with self.assertRaisesRegex(UsageError, message):
			self.install()
		self.assertEqual(what_there_is(), self.before)

	def test_manifests_are_refused(self):
		for before, after, message in (
			("temperature: 0.2", "temperature: 0.2\n    roles: &a [*a]", "Line 10: this is not YAML"),
			("temperature: 0.2", "<<: {temperature: 0.3}", "Line 9: this is not YAML"),
			("temperature: 0.2", "doctype: User", "Line 9: Agent has no field 'doctype'"),
			("temperature: 0.2", "description: !!set {a, b}", "Line 9: description must be text or a number"),
			("temperature: 0.2", "description: !!binary aGVsbG8=", "Line 9: description must be text"),
			("temperature: 0.2", "temperature: .nan", "Line 9: temperature must be a number"),
			("temperature: 0.2", 'description: "a\\ud800"', "has half of a character"),
			(
				"instructions_file: prompt.md",
				'instructions_file: "a\\0b"',
				"Line 8: .* cannot be the name of a",
			),
			("instructions_file: prompt.md", "instructions_file: /etc/passwd", "is not in the pack's folder"),
			(
				"instructions_file: prompt.md",
				"instructions_file: .",
				"Line 8: . cannot be read: Is a directory",
			),
			("title: Test", f"title: {'t' * 141}", "Line 2: title can have at most 140 characters"),
			(
				"title: Test",
				f"title: Test\ndescription: {'t' * 10_001}",
				"can have at most 10,000 characters",
			),
			("title: Test", 'title: Test\nmail: "a\\0b"', "cannot be the name of a file"),
		):
			with self.subTest(after[:60]):
				self.write()
				text = (self.folder / "pack.yaml").read_text()
				self.put("pack.yaml", text.replace(before, after))
				self.refuse(message)

	def test_records_are_refused(self):
		plant = f'"doctype": "{self.plant}", "plant_name": "x"'
		for text, message in (
			('{"doctype": "Agent", "agent_name": ["x"]}', "document 1: agent_name must be text or a number"),
			(
				f'{{"doctype": "{self.plant}", "plant_name": {{"a": 1}}}}',
				"plant_name must be text or a number",
			),
			(f'{{{plant}, "plant_name": "y"}}', "records.json: .*'plant_name' appears twice"),
			(f'{{{plant}, "height": NaN}}', "height must be a number"),
			(f'{{{plant}, "height": 1e999}}', "height must be a number"),
			(f'{{{plant}, "docstatus": [1]}}', "docstatus must be text or a number"),
			(f'{{{plant}, "docstatus": "a"}}', "docstatus must be 0 or 1"),
			(f'{{"doctype": "{self.plant}", "plant_name": "x\\ud800"}}', "has half of a character"),
			('{"doctype": "DocType", "name": "x", "custom": 0}', 'needs a name, and "custom": 1'),
		):
			with self.subTest(text):
				self.put("records.json", f"[{text}]")
				self.refuse(message)

	def test_doctypes_are_refused(self):
		(doctype,) = json.loads((self.folder / "doctypes.json").read_text())
		self.put("records.json", "[]")
		for values, message in (
			({"name": " x "}, "at most 61 characters, and no spaces around"),
			({"name": "x" * 200}, "at most 61 characters"),
			({"name": "x'`y"}, "should start with a letter"),
			({"fields": [{"fieldname": ["x"], "fieldtype": "Data"}]}, "a value does not fit"),
		):
			with self.subTest(values):
				self.put("doctypes.json", json.dumps([{**doctype, **values}]))
				self.refuse(message)

	def test_a_doctype_without_permissions_and_with_lists_of_other_versions_is_installed(self):
		(doctype,) = json.loads((self.folder / "doctypes.json").read_text())
		self.put("doctypes.json", json.dumps([{**doctype, "permissions": None, "links": [], "states": []}]))
		self.install()

	def test_a_name_that_is_a_number_is_that_of_the_record(self):
		self.put("records.json", json.dumps([{"doctype": self.plant, "plant_name": 1.5}]))
		self.assertIn(f"{self.plant} 1.5", self.install().made)
		self.assertEqual(self.install().made, [])

	def test_rows_of_an_update_do_not_take_the_place_of_rows_of_other_documents(self):
		other = make("Agent", agent_name=f"Other {self.key}", agent_tool=[{"tool": "web_search"}])
		self.addCleanup(frappe.delete_doc, "Agent", other.name)
		self.install()
		claims = f"name: {other.agent_tool[0].name}, parent: {other.name}, parenttype: User, idx: 7"
		text = (self.folder / "pack.yaml").read_text()
		self.put("pack.yaml", text.replace("extract_text]", f"extract_text, {{tool: open_url, {claims}}}]"))
		self.install()
		for name, tools in (
			(self.agent, [f"list_{self.key}", "extract_text", "open_url"]),
			(other.name, ["web_search"]),
		):
			self.assertEqual([row.tool for row in frappe.get_doc("Agent", name).agent_tool], tools)
		self.assertEqual(self.install().changed, [])
