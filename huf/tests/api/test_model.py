"""Models as they are set up: connected in one step, priced, tried with one real call."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.providers.price_table import find_price, list_chat_models
from huf.api import model
from huf.tests.base import SiteTestCase
from huf.tests.factories import SECRET, make_model, make_user, unique
from huf.tests.model_server import ModelServer, error, text


class TestModels(SiteTestCase):
	def test_a_provider_and_its_model_are_stored_in_one_step_and_kept(self):
		provider, name = unique("Provider"), unique("model")
		base = "http://127.0.0.1:9/v1"
		self.assertEqual(model.connect(provider, name, SECRET, base), name)
		model.connect(provider, name, api_key=f"{SECRET}-new")
		doc = frappe.get_doc("AI Provider", provider)
		self.assertEqual((doc.get_password("api_key"), doc.api_base), (f"{SECRET}-new", base))
		self.assertRaises(UsageError, model.connect, unique("Another"), name)
		listed = model.get_models()
		row = next(row for row in listed["models"] if row["name"] == name)
		self.assertEqual((row["provider"], row["price"]), (provider, None))
		self.assertNotIn(SECRET, str(listed))

	def test_only_who_may_set_models_up_does(self):
		name = make_model_on(None)
		frappe.set_user(make_user("Huf User"))
		asks = ((model.connect, "P", "m"), (model.check, name), (model.get_local,), (model.get_models,))
		for function, *given in asks:
			self.assertRaises(frappe.PermissionError, function, *given)

	def test_a_model_is_asked_for_one_word_or_says_what_is_wrong(self):
		with ModelServer() as server:
			server.script(text("OK"), error(401, f"bad key {SECRET}"))
			name = make_model_on(server)
			self.assertEqual((tried := model.check(name))["ok"], True, tried)
			self.assertEqual(tried["said"], "OK")
			self.assertEqual(server.requests[0]["max_tokens"], 16)
			refused = model.check(name)
		self.assertIn("refused the API key", refused["error"])
		self.assertNotIn(SECRET, refused["error"])

	def test_the_table_knows_prices_and_names(self):
		self.assertEqual(find_price("OpenAI", "gpt-4o-mini")["input"], 0.15)
		self.assertIsNone(find_price("OpenAI", "no such model"))
		self.assertIn("gemini-2.5-flash", list_chat_models("Google"))


def make_model_on(server) -> str:
	if server:
		return make_model(server)
	with ModelServer(strict=False) as gone:
		return make_model(gone)
