"""Provider and model records become calls: names, settings, keys, and providers that apps add."""

import json
import sys
import types
from unittest.mock import patch

import frappe
from agents import Agent

from huf.ai.core.errors import ModelError
from huf.ai.core.types import Outcome
from huf.ai.providers.answers import AnswerBuilder
from huf.ai.providers.litellm import (
	MAX_REPORTED_TOKENS,
	_normalize_model_name,
	_setup_api_key,
	build_call_arguments,
)
from huf.ai.providers.litellm_module import load
from huf.ai.providers.models import list_provider_models, list_providers, listed_prices
from huf.ai.runs.entry import run_agent_sync
from huf.tests.base import SiteTestCase
from huf.tests.factories import SECRET, make, make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, garbage, text, tool_call, usage

NAMES = (
	("gpt-4-turbo", "OpenAI", "openai/gpt-4-turbo"),
	("openai/gpt-4-turbo", "OpenAI", "openai/gpt-4-turbo"),
	("claude-3-opus", "anthropic", "anthropic/claude-3-opus"),
	("gemini-2.5-pro", "Google", "gemini/gemini-2.5-pro"),
	("gemini-2.5-pro", "gemini", "gemini/gemini-2.5-pro"),
	("google/gemini-2.5-pro", "Google", "gemini/gemini-2.5-pro"),
	("google/gemini-2.5-pro", "gemini", "gemini/gemini-2.5-pro"),
	("grok-4", "Grok", "xai/grok-4"),
	("grok/grok-4", "xAI", "xai/grok-4"),
	("xai/grok-4", "Somebody", "xai/grok-4"),
	("mistral/mistral-large", "Mistral", "mistral/mistral-large"),
	("openai/gpt-4o", "OpenRouter", "openrouter/openai/gpt-4o"),
	("qwen3.5:35b", "Ollama", "ollama_chat/qwen3.5:35b"),
	("own-model", "Our Server", "openai/own-model"),
	("qwen/qwen3-32b", "Qwen", "openai/qwen/qwen3-32b"),
	("openai/gpt-oss-120b", "Groq", "groq/openai/gpt-oss-120b"),
)


class TestLiteLLM(SiteTestCase):
	def test_model_names_are_normalized_for_litellm(self):
		for model, provider, name in NAMES:
			with self.subTest(model, provider=provider):
				self.assertEqual(_normalize_model_name(model, provider), name)

	def test_a_model_that_a_provider_offers_is_called_at_that_provider(self):
		for provider in list_providers() - {"ollama"}:
			called = {
				_normalize_model_name(model, provider).partition("/")[0]
				for model in list_provider_models(provider)
			}
			self.assertLessEqual(called, {provider})

	def test_agent_settings_and_the_provider_key_are_sent(self):
		with ModelServer() as server:
			server.script(text("Yes."))
			agent = make_agent(make_model(server), temperature=0.2, top_p=0.5, max_tokens=77)
			self.assertEqual(run_agent_sync(agent, "Well?")["response"], "Yes.")
		(sent,) = server.requests
		self.assertEqual((sent["temperature"], sent["top_p"], sent["max_tokens"]), (0.2, 0.5, 77))
		self.assertTrue(server.headers[0]["authorization"].startswith("Bearer sk-secret"))

	def test_a_setting_that_a_model_does_not_take_is_dropped(self):
		litellm = load()

		provider = make("AI Provider", provide_name=unique("OpenAI"), api_key="sk-test").name
		call = build_call_arguments(provider, "gpt-5-mini", {"temperature": 0.2, "top_p": None}, True)
		self.assertTrue(litellm.drop_params)
		self.assertEqual(call.fixed["temperature"], 0.2)
		accepted = litellm.get_optional_params(
			model="gpt-5-mini", custom_llm_provider="openai", temperature=0.2
		)
		self.assertNotIn("temperature", accepted)

	def test_given_api_key_needs_no_provider_record(self):
		completion_kwargs: dict = {}
		_setup_api_key("Nowhere", "sk-test", completion_kwargs)
		self.assertEqual(completion_kwargs, {"api_key": "sk-test"})
		with self.assertRaisesRegex(ModelError, "There is no AI Provider 'Nowhere'"):
			_setup_api_key("Nowhere", None, {})

	def test_a_model_call_without_an_api_key_is_refused(self):
		provider = make("AI Provider", provide_name=unique("OpenAI")).name
		with self.assertRaisesRegex(ModelError, "has no API key"):
			build_call_arguments(provider, "gpt-4-turbo", {}, True)

	def test_a_run_says_that_the_api_key_was_encrypted_with_another_key(self):
		with ModelServer() as server:
			model = make_model(server)
			provider = frappe.db.get_value("AI Model", model, "provider")
			unreadable = "update `__Auth` set password = 'gAAAAA' where doctype = 'AI Provider' and name = %s"
			frappe.db.sql(unreadable, (provider,))
			frappe.db.commit()
			result = run_agent_sync(make_agent(model), "Hello")
		self.assertIn(f"{provider} cannot be read with this site's encryption_key", result["error"])

	def test_long_prompts_are_priced_at_the_long_context_rate(self):
		prices = listed_prices("gemini/gemini-2.5-pro")
		self.assertAlmostEqual(prices.cost(200_000, 100, 0), 200_000 * 1.25e-6 + 100 * 1e-5)
		self.assertAlmostEqual(prices.cost(300_000, 100, 100_000), 2e5 * 2.5e-6 + 1e5 * 2.5e-7 + 100 * 1.5e-5)
		self.assertEqual(prices.max_prices(300_000), (2.5e-6, 1.5e-5))
		self.assertEqual(listed_prices("gpt-4o-mini").max_prices(300_000), (1.5e-7, 6e-7))

	def test_extreme_token_counts_and_long_names_are_capped_and_the_run_is_stored(self):
		with ModelServer() as server:
			tool = make_tool("Get List", reference_doctype="ToDo")
			agent = make_agent(make_model(server), (tool,), persist_conversation=0)
			server.script(
				tool_call(tool, {}, id="call_" + "x" * 300, usage=usage(10**25, -5)),
				tool_call("y" * 300),
				text("Done."),
				text("Yes."),
			)
			result = run_agent_sync(agent, "Look", channel_id="z" * 300)
			self.assertEqual(
				(result["response"], result["input_tokens"]), ("Done.", MAX_REPORTED_TOKENS + 200)
			)
			run_agent_sync(agent, "Really?", conversation_id=result["conversation"])
		call_message, *_ = [each for each in server.requests[-1]["messages"] if each.get("tool_calls")]
		tool_messages = [each for each in server.requests[-1]["messages"] if each["role"] == "tool"]
		self.assertEqual(call_message["tool_calls"][0]["id"], tool_messages[0]["tool_call_id"])
		stored = [
			*frappe.get_all("Agent Tool Call", {"run": result["run"]}, ["tool", "call_id"], order_by="step"),
			*frappe.get_all(
				"Agent Message", {"run": result["run"]}, ["tool_name", "tool_call_id"], order_by="sequence"
			),
			frappe.db.get_value("Agent Conversation", result["conversation"], ["channel"], as_dict=True),
		]
		self.assertLessEqual(max(len(value or "") for row in stored for value in row.values()), 140)

	def test_an_unexpected_error_is_logged_without_the_key_and_the_prompt(self):
		def fail(*args):
			raise AttributeError("no such thing")

		with ModelServer() as server:
			model = make_model(server)
			call = build_call_arguments(frappe.db.get_value("AI Model", model, "provider"), model, {}, True)
			self.assertEqual(call.fixed["api_key"], SECRET)
			self.assertNotIn(SECRET, repr(call))
			server.script(text("Yes."))
			with patch.object(AnswerBuilder, "to_reply", fail), patch("frappe.log_error") as log:
				result = run_agent_sync(make_agent(model), "Between us")
		self.assertIn("internal error", result["error"])
		# Without a message, Frappe would log the values of all variables.
		_title, logged = log.call_args.args
		self.assertIn("no such thing", logged)
		self.assertNotIn("Between us", logged)

	def test_a_malformed_response_is_not_reported_as_a_connection_error(self):
		message = {"role": "assistant", "content": 5}
		body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
		with ModelServer() as server:
			server.forever(garbage(json.dumps(body), "application/json"))
			error = run_agent_sync(make_agent(make_model(server)), "Well?")["error"]
		self.assertIn("The provider failed", error)
		self.assertNotIn("could not be reached", error)

	def test_an_app_adds_a_provider_by_a_hook(self):
		name, module = unique("Own"), types.ModuleType("huf_test_provider")

		async def run(agent, enhanced_prompt, provider, model, context):
			self.assertIsInstance(agent, Agent)
			return Outcome(text=f"{provider} says {model}")

		module.run = run
		make("AI Provider", provide_name=name, api_key="sk-test")
		model = make("AI Model", model_name=unique("own"), provider=name).name
		agent = make_agent(model)
		hooks = frappe.get_hooks

		def with_provider(hook=None, *args, **kwargs):
			own = {name: [module.__name__]}
			return own if hook == "huf_providers" else hooks(hook, *args, **kwargs)

		with patch.dict(sys.modules, {module.__name__: module}), patch("frappe.get_hooks", with_provider):
			result = run_agent_sync(agent, "Hello")
		self.assertEqual((result["status"], result["response"]), ("Success", f"{name} says {model}"), result)
