"""REST endpoints of packs; the code tools of a pack are registered only while it is installed."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.tools import registry
from huf.api import pack
from huf.tests.factories import make, make_user
from huf.tests.packs.samples import PackTestCase, ShippedPackCase


class TestRest(ShippedPackCase):
	name = "pharmacy"

	def test_pack_endpoints_are_refused_for_huf_users(self):
		calls = (pack.get_packs, lambda: pack.get_pack("pharmacy"), lambda: pack.install("pharmacy"))
		for call in (*calls, lambda: pack.export("pharmacy"), lambda: pack.remove("pharmacy")):
			with acting_as(make_user("Huf User")), self.assertRaises(frappe.PermissionError):
				call()

	def test_managers_see_packs_with_version_and_records(self):
		for role in ("Huf Manager", "System Manager"):
			with acting_as(make_user(role)):
				row = next(each for each in pack.get_packs() if each["name"] == "pharmacy")
				self.assertEqual((row["installed"], row["fault"]), (row["version"], None))
				contents = {each["doctype"]: each["names"] for each in pack.get_pack("pharmacy")["brings"]}
				self.assertEqual(contents["Agent"], ["pharmacy"])

	def test_remove_is_refused_while_user_records_exist(self):
		branch = make("Pharmacy Branch", branch_name=f"Mine {frappe.generate_hash(length=6)}")
		self.assertEqual(pack.get_pack("pharmacy")["people"], {"Pharmacy Branch": 1})
		with self.assertRaisesRegex(UsageError, "1 Pharmacy Branch"):
			pack.remove("pharmacy")
		branch.delete()

	def test_only_installed_packs_can_be_updated(self):
		self.assertEqual(pack.update("pharmacy")["made"], [])
		with self.assertRaisesRegex(UsageError, "'web_assistant' is not installed"):
			pack.update("web_assistant")

	def test_export_contains_current_record_values(self):
		frappe.db.set_value("Agent", "pharmacy", "temperature", 0.9)
		files = pack.export("pharmacy")
		self.assertIn("temperature: 0.9", files["pack.yaml"])
		self.assertIn("forwarded_from: info@dostupnost-leku.cz", files["mail.yaml"])
		self.assertNotIn("records.json", files)
		self.assertEqual(
			pack.export("pharmacy", agents='["pharmacy"]').keys(), files.keys() - {"doctypes.json"}
		)

	def test_pack_name_with_a_path_is_refused(self):
		with self.assertRaisesRegex(UsageError, "There is no pack '../packs/pharmacy'"):
			pack.install("../packs/pharmacy")
		with self.assertRaisesRegex(UsageError, "agents must be a list of texts"):
			pack.export("mine", agents="5")


class TestToolsOfPacks(PackTestCase):
	def test_pack_tools_are_registered_only_while_the_pack_is_installed(self):
		self.assertFalse(offers_search())
		with self.assertRaisesRegex(UsageError, "does not offer 'search_drugs'"):
			registry.find_code_tool("huf", "search_drugs")
		with acting_as(make_user("Huf Manager")):
			pack.install("pharmacy")
		self.assertTrue(offers_search() and registry.find_code_tool("huf", "search_drugs"))
		with acting_as(make_user("Huf Manager")):
			pack.remove("pharmacy")
		self.assertFalse(offers_search())
		self.assertFalse(frappe.db.exists("Agent Tool Function", "search_drugs"))


def offers_search() -> bool:
	return "search_drugs" in {each.name for each in registry.list_code_tools()}
