"""The report of an installation lists the secrets that a person has to enter on the site."""

import json

import frappe

from huf.ai.packs.install import format_report
from huf.tests.packs.samples import MANAGER, PackTestCase


class TestMissingSecrets(PackTestCase):
	def setUp(self):
		super().setUp()
		more = f"""  - tool_name: stock_{self.key}
    types: GET
    base_url: https://stock.example.com
    description: Stock
    headers: [{{header: X-Key}}, {{header: X-Tenant}}]
"""
		self.write(more=more)
		self.stock, self.connection = f"stock_{self.key}", f"Search {self.key}"
		self.local, self.cloud = f"Local {self.key}", f"Cloud {self.key}"
		head = {"doctype": "MCP Server Connection", "transport": "HTTP", "url": "https://mcp.example.com/mcp"}
		records = json.loads((self.folder / "records.json").read_text())
		records += [
			{"doctype": "AI Provider", "provide_name": self.cloud},
			{"doctype": "AI Provider", "provide_name": self.local, "is_local": 1},
			{**head, "connection_name": self.connection, "auth": "Headers", "headers": [{"header": "X-Key"}]},
			{**head, "connection_name": f"Open {self.key}", "headers": [{"header": "X-Key"}]},
		]
		self.put("records.json", json.dumps(records))

	def test_the_report_names_record_and_field_until_each_secret_is_entered(self):
		report = self.install()
		wanted = [
			f"AI Provider {self.cloud}: api_key",
			f"Agent Tool Function {self.stock}: value of X-Key in headers",
			f"Agent Tool Function {self.stock}: value of X-Tenant in headers",
			f"MCP Server Connection {self.connection}: value of X-Key in headers",
		]
		self.assertEqual(sorted(report.to_enter), wanted)
		self.assertIn(f"To enter here: {wanted[0]}", [*format_report(report)])
		tool = frappe.get_doc("Agent Tool Function", self.stock)
		tool.headers[0].value = "key-of-a-person-1"
		tool.save()
		provider = frappe.get_doc("AI Provider", self.cloud)
		provider.api_key = "sk-of-a-person-123456"
		provider.save()
		self.assertEqual(sorted(self.install().to_enter), wanted[2:])

	def test_settings_of_the_pack_are_named_but_not_its_sample_records(self):
		doctypes = json.loads((self.folder / "doctypes.json").read_text())
		key = {"fieldname": "pin", "fieldtype": "Password", "label": "Pin"}
		doctypes[0]["fields"].append(key)
		single = f"Garden Settings {self.key}"
		head = {"doctype": "DocType", "name": single, "module": "Huf", "custom": 1, "issingle": 1}
		note = {"fieldname": "note", "fieldtype": "Data", "label": "Note"}
		self.put(
			"doctypes.json",
			json.dumps([*doctypes, {**head, "permissions": [MANAGER], "fields": [key, note]}]),
		)
		plant = {"doctype": self.plant, "plant_name": f"Rose {self.key}"}
		self.put("records.json", json.dumps([plant, {"doctype": single, "note": "x"}]))
		found = [line for line in self.install().to_enter if self.stock not in line]
		self.assertEqual(found, [f"{single} {single}: pin"])
