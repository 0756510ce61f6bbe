"""Records of DocTypes that the same pack brings are checked before any of them is created; names as well."""

import json

from huf.ai.core.errors import UsageError
from huf.ai.packs.exporting import export_pack
from huf.tests.factories import make
from huf.tests.packs.samples import PackTestCase, what_there_is


class TestOwnDoctypes(PackTestCase):
	def setUp(self):
		super().setUp()
		self.leaf = f"Leaf {self.key}"
		pin = {"fieldname": "pin", "fieldtype": "Password", "label": "Pin"}
		size = {"fieldname": "size", "fieldtype": "Int", "label": "Size"}
		table = {"fieldname": "leaves", "fieldtype": "Table", "label": "Leaves", "options": self.leaf}
		ripe = {"fieldname": "ripe", "fieldtype": "Check", "label": "Ripe"}
		(plant,) = json.loads((self.folder / "doctypes.json").read_text())
		plant["fields"] += [pin, table, ripe]
		leaf = {"doctype": "DocType", "name": self.leaf, "module": "Huf", "custom": 1, "istable": 1}
		self.doctypes = [{**leaf, "fields": [size, pin]}, plant]
		self.put("doctypes.json", json.dumps(self.doctypes))

	def refuse(self, values: dict, message: str) -> None:
		before = what_there_is()
		plant = {"doctype": self.plant, "plant_name": f"Rose {self.key}"}
		self.put("records.json", json.dumps([{**plant, **values}]))
		with self.assertRaisesRegex(UsageError, f"records.json: document 1: {message}"):
			self.install()
		self.assertEqual(what_there_is(), before)

	def test_secrets_of_their_records_and_rows_are_refused_at_the_first_installation(self):
		self.refuse({"pin": "1234"}, "pin is a secret")
		self.refuse({"leaves": [{"size": 1, "pin": "1234"}]}, "pin is a secret")

	def test_secrets_in_a_field_that_an_update_adds_are_refused(self):
		fields = self.doctypes[1]["fields"]
		self.put("doctypes.json", json.dumps([self.doctypes[0], {**self.doctypes[1], "fields": fields[:1]}]))
		self.put("records.json", "[]")
		self.install()
		self.put("doctypes.json", json.dumps(self.doctypes))
		self.refuse({"pin": "1234"}, "pin is a secret")

	def test_unknown_fields_and_texts_for_true_or_false_are_refused_at_the_first_installation(self):
		self.refuse({"colour": "red"}, f"{self.plant} has no field 'colour'")
		self.refuse({"leaves": [{"width": 1}]}, f"{self.leaf} has no field 'width'")
		self.refuse({"leaves": ["big"]}, r"leaves must be a list of mappings, such as \[{size: ...}\]")
		self.refuse({"ripe": "no"}, "ripe must be true or false")


class TestNames(PackTestCase):
	def test_names_with_line_breaks_or_characters_that_reverse_text_are_refused(self):
		text = (self.folder / "pack.yaml").read_text()
		for char, code in (("\\n", "U+000A"), ("\\u202E", "U+202E"), ("\\u2066", "U+2066")):
			name = f'"{self.agent}{char}x"'
			self.put("pack.yaml", text.replace(f"agent_name: {self.agent}", f"agent_name: {name}"))
			message = rf"pack.yaml: Line 7: agent_name has a line break or an invisible character \({code[0]}\{code[1:]}"
			with self.assertRaisesRegex(UsageError, message):
				self.install()
		self.put("pack.yaml", text)
		doctype = (self.folder / "doctypes.json").read_text()
		self.put("doctypes.json", doctype.replace(f'"{self.plant}"', f'"{self.plant}\\u202e"'))
		with self.assertRaisesRegex(UsageError, "doctypes.json: document 1: name has"):
			self.install()
		self.put("doctypes.json", doctype)
		self.put("records.json", json.dumps([{"doctype": self.plant, "plant_name": "\u2066Rose\u2069"}]))
		self.install()

	def test_an_agent_that_no_site_could_import_is_not_exported(self):
		name = make("Agent", agent_name=f"Gardener\u202e {self.key}", instructions="Dig.").name
		with self.assertRaisesRegex(UsageError, r"'Gardener\\u202e .*' has a line break or .*Rename it"):
			export_pack("mine", agents=[name])
