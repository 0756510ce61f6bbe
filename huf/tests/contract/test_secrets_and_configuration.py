"""Encrypted secrets stored outside a document's fields, and keys of site_config.json."""

import frappe
from frappe.utils import get_url
from frappe.utils.password import get_decrypted_password, set_encrypted_password

from huf.tests.base import SiteTestCase
from huf.tests.factories import make, unique


class TestSecrets(SiteTestCase):
	def test_an_encrypted_secret_outside_fields_survives_saves_until_deletion(self):
		provider = make("AI Provider", provide_name=unique("Provider"), api_key="first")
		set_encrypted_password("AI Provider", provider.name, "second " * 2000, "huf_grant")
		set_encrypted_password("AI Provider", provider.name, "third " * 2000, "huf_grant")
		provider.reload()
		provider.save()
		self.assertEqual(self.read(provider.name), "third " * 2000)
		self.assertNotIn("third", repr(provider.as_dict()))
		frappe.delete_doc("AI Provider", provider.name)
		self.assertIsNone(self.read(provider.name))

	def read(self, name: str) -> str | None:
		return get_decrypted_password("AI Provider", name, "huf_grant", raise_exception=False)


class TestConfiguration(SiteTestCase):
	def test_a_missing_key_is_none(self):
		self.assertIsNone(frappe.local.conf.get("huf_no_such_key"))
		frappe.local.conf["huf_no_such_key"] = {"a": 1}
		self.addCleanup(frappe.local.conf.pop, "huf_no_such_key")
		self.assertEqual(frappe.local.conf.get("huf_no_such_key"), {"a": 1})

	def test_get_url_returns_an_absolute_url(self):
		self.assertRegex(get_url("/api/method/ping"), r"^https?://[^/]+/api/method/ping$")
