import frappe

from huf.tests.base import SiteTestCase
from huf.tests.factories import SECRET, make, unique


class TestAIProvider(SiteTestCase):
	def test_the_key_is_kept_encrypted(self):
		provider = make("AI Provider", provide_name=unique("OpenAI"), api_key=SECRET)
		self.assertEqual(provider.get_password("api_key"), SECRET)
		self.assertNotIn(SECRET, frappe.as_json(frappe.get_doc("AI Provider", provider.name)))

	def test_api_base_without_a_scheme_is_refused(self):
		with self.assertRaisesRegex(frappe.ValidationError, "must begin"):
			make("AI Provider", provide_name=unique("Local"), api_base="localhost:11434")
