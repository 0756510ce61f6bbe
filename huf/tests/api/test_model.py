"""Model setup: connecting a provider and model in one step, prices, and a check by real model calls."""

import asyncio
from unittest.mock import patch

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.providers import learning_process
from huf.ai.providers.litellm import build_call_arguments
from huf.ai.providers.models import (
	find_context_window,
	find_price,
	list_provider_models,
	supports_vision,
)
from huf.ai.setup.models import has_known_address
from huf.api import model
from huf.tests.base import SiteTestCase, keep_default_model
from huf.tests.factories import SECRET, make, make_agent, make_model, make_user, unique
from huf.tests.model_server import ModelServer, error, text, tool_call


class TestModels(SiteTestCase):
	def setUp(self):
		super().setUp()
		keep_default_model(self)

	def connect(self, server: ModelServer, *args, **values) -> str:
		server.script(tool_call("take_note", {"text": "OK"}))
		result = model.connect(*args, **values)
		self.assertTrue(result["ok"], result)
		return result["model"]

	def test_connect_stores_provider_and_model_and_a_new_key_keeps_the_address(self):
		provider, name = unique("Provider"), unique("model")
		with ModelServer() as server:
			base = server.base_url
			self.assertEqual(self.connect(server, provider, name, SECRET, base), name)
			self.connect(server, provider, name, api_key=f"{SECRET}-new")
			self.assertEqual(server.headers[-1]["authorization"], f"Bearer {SECRET}-new")
		doc = frappe.get_doc("AI Provider", provider)
		self.assertEqual((doc.get_password("api_key"), doc.api_base), (f"{SECRET}-new", base))
		listed = model.get_models()
		row = next(row for row in listed["models"] if row["name"] == name)
		free = {"input": 0.0, "output": 0.0, "cached": 0.0}
		self.assertEqual((row["provider"], row["price"]), (provider, free))
		self.assertNotIn(SECRET, str(listed))
		calls = frappe.get_all(
			"Agent LLM Call", {"model": name}, ["cost", "cost_known"], order_by="creation asc"
		)
		self.assertEqual([(call.cost, call.cost_known) for call in calls], [(0, 1), (0, 1)])

	def test_nothing_is_stored_before_the_test_passes(self):
		provider, name = unique("Provider"), unique("model")
		default = frappe.db.get_single_value("Huf Settings", "default_model")
		with ModelServer() as server:
			server.script(error(401, "no"))
			failed = model.connect(provider, name, SECRET, server.base_url)
		self.assertEqual((failed["ok"], "refused the API key" in failed["error"]), (False, True))
		self.assertIsNone(frappe.db.exists("AI Provider", provider))
		self.assertIsNone(frappe.db.exists("AI Model", name))
		self.assertEqual(frappe.db.get_single_value("Huf Settings", "default_model"), default)

	def test_key_of_an_unknown_provider_without_an_address_is_sent_nowhere(self):
		for provider in (unique("Provider"), "LiteLLM Proxy", "LM Studio"):
			with self.subTest(provider), self.assertRaisesRegex(UsageError, "Enter the Address"):
				model.connect(provider, "gpt-4o", SECRET)
		for provider, name in (("Grok", "grok-4"), ("My xAI", "xai/grok-4"), ("Azure OpenAI", "gpt-4o")):
			self.assertTrue(has_known_address(provider, name))

	def test_error_message_is_plain_text_followed_by_library_details(self):
		failed = model.connect(unique("Provider"), unique("model"), SECRET, "http://127.0.0.1:9/v1")
		words, _mark, details = failed["error"].partition("\nDetails: ")
		self.assertIn("correct the Address of", words)
		self.assertNotIn("under Models", words)
		self.assertNotIn("API Base", failed["error"])
		self.assertNotRegex(words, "ssl|Connect|127.0.0.1")
		self.assertIn("onnect", details)

	def test_address_without_a_scheme_is_refused_before_the_test(self):
		with self.assertRaisesRegex(UsageError, "must begin with http:// or https://"):
			model.connect(unique("Provider"), unique("model"), SECRET, "127.0.0.1:11434")

	def test_unreachable_address_is_reported_in_plain_text(self):
		with ModelServer() as server:
			base = server.base_url
			name = self.connect(server, provider := unique("Provider"), unique("model"), SECRET, base)
		unknown = model.connect(provider, unique("model"), SECRET, "http://no-such-host.invalid/v1")
		for message, expected in (
			(model.check(name)["error"], "Nothing listens at the address .* Start its server"),
			(unknown["error"], "host name .* is unknown"),
		):
			self.assertRegex(message, expected)
			self.assertNotRegex(message, "Errno|ssl:")

	def test_stored_api_key_is_not_sent_to_another_address(self):
		provider, name = unique("Provider"), unique("model")
		with ModelServer() as server, ModelServer() as other:
			self.connect(server, provider, name, SECRET, server.base_url)
			with self.assertRaisesRegex(frappe.ValidationError, "Enter API Key again"):
				model.connect(provider, name, api_base=other.base_url)
			self.assertEqual(other.requests, [])

	def test_one_model_name_exists_under_two_providers(self):
		first, second, name = unique("First"), unique("Second"), unique("model")
		with ModelServer() as server:
			one = self.connect(server, first, name, SECRET, server.base_url)
			other = self.connect(server, second, name, SECRET, server.base_url)
			self.assertEqual(self.connect(server, second, name), other)
			self.assertEqual((one, other), (name, f"{second}/{name}"))
			server.script(tool_call("take_note", {"text": "OK"}))
			self.assertTrue(model.check(other)["ok"])
			self.assertEqual({body["model"] for body in server.requests}, {name})
		agent = frappe.get_doc("Agent", make_agent(one))
		self.assertEqual(agent.provider, first)
		agent.update({"provider": second}).save()
		self.assertEqual((agent.model, agent.provider), (other, second))
		agent.update({"model": one}).save()
		self.assertEqual((agent.model, agent.provider), (one, first))

	def test_duplicate_model_name_is_prefixed_with_its_provider(self):
		first, second = (frappe.get_doc("AI Model", make_model_on(None)) for _ in range(2))
		values = {"doctype": "AI Model", "model_name": first.name, "provider": second.provider}
		doc = frappe.get_doc(values).insert()
		self.assertEqual((doc.name, doc.model_id), (f"{second.provider}/{first.name}", first.name))
		self.assertRaises(frappe.DuplicateEntryError, frappe.get_doc(values).insert)

	def test_model_name_sent_as_a_number_is_a_text(self):
		provider = frappe.get_doc("AI Model", make_model_on(None)).provider
		doc = frappe.get_doc({"doctype": "AI Model", "model_name": 4.125, "provider": provider}).insert()
		self.assertEqual(doc.name, "4.125")

	def test_agent_with_a_provider_that_lacks_its_model_is_refused(self):
		name = make_model_on(None)
		agent = frappe.get_doc("Agent", make_agent(name))
		other = frappe.db.get_value("AI Model", make_model_on(None), "provider")
		message = f"is of {agent.provider}, not of {other}. Choose a model of {other}."
		with self.assertRaisesRegex(frappe.ValidationError, message):
			agent.update({"provider": other}).save()
		agent.reload()
		agent.update({"model": None}).save()
		self.assertIsNone(agent.provider)
		with self.assertRaisesRegex(frappe.ValidationError, "Choose a model of"):
			agent.update({"provider": other}).save()

	def test_list_server_models_returns_the_chat_models_of_the_server(self):
		with ModelServer() as server:
			server.models = ["small", "large", "text-embed"]
			self.assertEqual(model.list_server_models(f"{server.base_url}/", SECRET), ["small", "large"])
		self.assertEqual(model.list_server_models("http://127.0.0.1:9/v1"), [])
		self.assertEqual(model.list_server_models("file:///etc"), [])

	def test_model_setup_is_refused_for_huf_users(self):
		name = make_model_on(None)
		frappe.set_user(make_user("Huf User"))
		calls = ((model.connect, "P", "m"), (model.check, name), (model.get_local,), (model.get_models,))
		for function, *arguments in calls:
			self.assertRaises(frappe.PermissionError, function, *arguments)

	def test_check_detects_native_tool_calls_or_reports_the_error(self):
		with ModelServer() as server:
			server.script(tool_call("take_note", {"text": "OK"}), error(401, f"bad key {SECRET}"))
			name = make_model_on(server)
			self.assertEqual((checked := model.check(name))["ok"], True, checked)
			self.assertEqual((checked["tool_calls"], checked["note"]), ("Native", ""))
			self.assertEqual(server.requests[0]["max_tokens"], 64)
			refused = model.check(name)
		self.assertIn("refused the API key. Check the API Key of ", refused["error"])
		self.assertNotIn("under Models", refused["error"])
		self.assertNotIn(SECRET, refused["error"])
		row = frappe.get_doc("AI Model", name)
		self.assertEqual((row.tool_calls, row.without_tool_calls, row.ask_before_writes), ("Native", 0, 0))
		self.assertTrue(row.checked_at)

	def test_speed_of_a_model_leaves_out_the_time_to_learn_its_first_call(self):
		async def learn_slowly(kwargs):
			await asyncio.sleep(2)

		with ModelServer() as server, patch.object(learning_process, "learn_apart", learn_slowly):
			server.script(tool_call("take_note", {"text": "OK"}))
			self.assertTrue(model.check(name := make_model_on(server))["ok"])
		self.assertGreater(frappe.db.get_value("AI Model", name, "tokens_per_second"), 5)

	def test_model_without_tool_calls_uses_the_planner_with_a_note(self):
		plan = text('{"tool": "take_note", "arguments": {"text": "OK"}}')
		for answer, found in ((plan, "By schema"), (text("I am a plan."), "None")):
			with self.subTest(found), ModelServer(strict=False) as server:
				server.script(text("OK"), answer, text("Noted."))
				name = make_model_on(server)
				checked = model.check(name)
				self.assertEqual((checked["ok"], checked["said"], checked["tool_calls"]), (True, "OK", found))
				self.assertIn("now use the planner", checked["note"])
				self.assertEqual(server.requests[1]["temperature"], 0)
				row = frappe.get_doc("AI Model", name)
				self.assertEqual(
					(row.tool_calls, row.without_tool_calls, row.ask_before_writes), (found, 1, 1)
				)

	def test_price_table_has_prices_and_model_names(self):
		self.assertEqual(find_price("OpenAI", "gpt-4o-mini")["input"], 0.15)
		self.assertIsNone(find_price("OpenAI", "no such model"))
		self.assertIn("gemini-2.5-flash", list_provider_models("Google"))

	def test_a_model_at_another_host_has_the_abilities_of_its_maker_but_not_its_price(self):
		provider = make("AI Provider", provide_name="OpenRouter", api_key="sk-1").name
		name = make("AI Model", model_name="openai/gpt-4o", provider=provider).name
		call = build_call_arguments(provider, name, {}, stream=False)
		self.assertEqual((find_price(provider, name), call.prices), (None, None))
		self.assertEqual((supports_vision(provider, name), call.sees), (True, True))
		self.assertEqual(find_context_window(provider, name), call.window)

	def test_a_provider_under_another_usual_name_has_its_models_and_prices(self):
		self.assertTrue(list_provider_models("Grok"))
		self.assertEqual(list_provider_models("Grok"), list_provider_models("xAI"))
		self.assertEqual(find_price("Claude", "claude-opus-4-5"), find_price("Anthropic", "claude-opus-4-5"))


def make_model_on(server) -> str:
	if server:
		return make_model(server)
	with ModelServer(strict=False) as stopped:
		return make_model(stopped)
