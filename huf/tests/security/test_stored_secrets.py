"""A changed address requires its secret again, so that the stored one is not sent there."""

import frappe
from frappe.utils.password import get_decrypted_password

from huf.ai.core.errors import ModelError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.providers.services import embed
from huf.ai.runs.entry import run_agent_sync
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import SECRET, make, make_agent, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, text

ELSEWHERE = "https://attacker.example/v1"


class TestStoredSecrets(SiteTestCase):
	def setUp(self):
		super().setUp()
		manager = make_user("Huf Manager")
		address = "https://models.example/v1"
		values = {"provide_name": unique("Provider"), "api_key": SECRET, "api_base": address}
		self.provider = make("AI Provider", **values).name
		frappe.set_user(manager)

	def change(self, **values):
		doc = frappe.get_doc("AI Provider", self.provider)
		return doc.update(values).save()

	def test_a_new_address_of_a_provider_needs_the_key_again(self):
		for values in (
			{"api_base": ELSEWHERE},
			{"api_base": None},
			{"api_base": ELSEWHERE, "api_key": "*" * len(SECRET)},
		):
			with self.subTest(values), self.assertRaisesRegex(frappe.ValidationError, "Enter API Key again"):
				self.change(**values)
		self.assertEqual(self.change(api_base=ELSEWHERE, api_key="sk-new").get_password("api_key"), "sk-new")

	def test_an_emptied_field_removes_the_key(self):
		self.change(api_base=ELSEWHERE, api_key="")
		doc = frappe.get_doc("AI Provider", self.provider)
		self.assertIsNone(doc.get_password("api_key", raise_exception=False))

	def test_other_changes_and_providers_without_a_key_require_no_key(self):
		self.change(call_way="Wrapped")
		self.assertEqual(self.change().get_password("api_key"), SECRET)
		name = make("AI Provider", provide_name=unique("Local"), api_base="http://a.example").name
		self.assertTrue(frappe.get_doc("AI Provider", name).update({"api_base": ELSEWHERE}).save())

	def test_another_provider_or_address_of_the_web_search_needs_the_key_again(self):
		self.addCleanup(self.save_settings, search_provider=None, search_api_key=None)
		self.save_settings(search_provider="Tavily", search_api_key=SECRET)
		for values in ({"search_provider": "Brave"}, {"search_base_url": ELSEWHERE}):
			with self.subTest(values), self.assertRaisesRegex(frappe.ValidationError, "again, because"):
				self.save_settings(**values)
		self.save_settings(search_provider="Brave", search_api_key="another key")
		self.save_settings(search_provider=None)
		with self.assertRaisesRegex(frappe.ValidationError, "again, because"):
			self.save_settings(search_provider="Tavily")

	def test_a_model_that_is_an_address_gets_no_key(self):
		server = enter(self, ModelServer())
		for prefix in ("oobabooga", "huggingface"):
			values = {"model_id": f"{prefix}/{server.base_url}", "provider": self.provider}
			model = make("AI Model", model_name=unique("Model"), **values).name
			agent = make_agent(model)
			with self.subTest(prefix), self.assertRaisesRegex(ModelError, "is an address"):
				run_coroutine(embed(model, ["tea"]))
			self.assertIn("is an address", run_agent_sync(agent, "Hello")["error"])
		self.assertEqual(server.requests, [])

	def test_a_model_that_uses_credentials_of_the_machine_is_not_called_at_another_address(self):
		server = enter(self, ModelServer())
		provider = make("AI Provider", provide_name=unique("Proxy"), api_base=server.base_url).name
		for model_id in ("vertex_ai/gemini-2.0-flash", "vertex_ai_beta/text-embedding-005", "gigachat/x"):
			values = {"model_id": model_id, "provider": provider}
			model = make("AI Model", model_name=unique("Model"), **values).name
			with self.subTest(model_id), self.assertRaisesRegex(ModelError, "credentials of this server"):
				run_coroutine(embed(model, ["tea"]))
			self.assertIn("credentials of this server", run_agent_sync(make_agent(model), "Hello")["error"])
		self.assertEqual(server.requests, [])

	def test_a_name_of_a_model_may_be_the_bucket_that_its_server_reads(self):
		server = enter(self, ModelServer())
		provider = make("AI Provider", provide_name=unique("vLLM"), api_base=server.base_url).name
		values = {"model_id": "s3://models/qwen", "provider": provider}
		name = make("AI Model", model_name=unique("Model"), **values).name
		server.script(text("Hello."))
		self.assertEqual(run_agent_sync(make_agent(name), "Hello")["response"], "Hello.")
		self.assertEqual(server.requests[0]["model"], "s3://models/qwen")

	def save_settings(self, **values):
		frappe.get_doc("Huf Settings").update(values).save()

	def test_a_row_that_takes_the_name_of_another_tools_row_gets_no_secret(self):
		headers = [{"header": "Authorization", "value": SECRET}]
		row = frappe.get_doc(
			"Agent Tool Function", make_tool("GET", base_url="https://shop.example", headers=headers)
		).headers[0]
		other = frappe.get_doc("Agent Tool Function", make_tool("GET", base_url=ELSEWHERE))
		other.append("headers", {"header": "Authorization", "value": "*" * 8}).name = row.name
		with self.assertRaisesRegex(frappe.ValidationError, "no secret is stored"):
			other.save()

	def test_secrets_of_removed_headers_and_deleted_tools_are_deleted(self):
		headers = [{"header": header, "value": SECRET} for header in ("Authorization", "X-Key")]
		name = make_tool("GET", base_url="https://shop.example", headers=headers)
		tool = frappe.get_doc("Agent Tool Function", name)
		removed, kept = tool.headers
		tool.remove(removed)
		tool.save()
		stored = [self.read_header_secret(row) for row in (removed, kept)]
		self.assertEqual(stored, [None, SECRET])
		tool.delete()
		self.assertIsNone(self.read_header_secret(kept))

	def read_header_secret(self, row) -> str | None:
		return get_decrypted_password(row.doctype, row.name, "value", raise_exception=False)

	def test_changing_the_url_of_a_tool_requires_its_headers_again(self):
		headers = [{"header": "Authorization", "value": SECRET}]
		name = make_tool("GET", base_url="https://shop.example", headers=headers)
		tool = frappe.get_doc("Agent Tool Function", name).update({"base_url": ELSEWHERE})
		with self.assertRaisesRegex(frappe.ValidationError, "Enter Authorization again"):
			tool.save()
		tool = frappe.get_doc("Agent Tool Function", name).update({"base_url": ELSEWHERE})
		tool.headers[0].value = "new"
		tool.save()
