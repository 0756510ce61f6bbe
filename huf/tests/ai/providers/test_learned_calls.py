"""What is learned about model calls is stored per site and shared by all its processes."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import frappe

from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.types import Effect, Tool
from huf.ai.loop.model import ignore_text
from huf.ai.providers import learned_calls, models
from huf.ai.providers.direct_path import DirectPath
from huf.ai.providers.direct_path_check import learn_call
from huf.ai.providers.learned_calls import CallStore, find_learned, open_site_store
from huf.ai.providers.litellm import build_call_arguments, check_directly
from huf.ai.providers.litellm_module import STREAMED, load
from huf.tests.base import SiteTestCase
from huf.tests.factories import SECRET, make_model
from huf.tests.model_server import ModelServer, garbage, text, tool_call

CALL = """
import sys, json, asyncio
import huf.embedded; huf.embedded.install()
from huf.ai.providers import learned_calls, learning_process
store = learned_calls.CallStore(sys.argv[1])
learned_calls.open_site_store = learning_process.open_site_store = lambda: store
call = asyncio.run(learning_process.learn_apart(json.loads(sys.argv[2])))
print(json.dumps([call and call.options, "litellm" in sys.modules]))
"""
PATTERNED = {"type": "object", "properties": {"n": {"type": "string", "pattern": "^(?<n>a)$"}}}


def make_response_format(schema):
	return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


class TestLearnedCalls(SiteTestCase):
	def setUp(self):
		super().setUp()
		folder = tempfile.TemporaryDirectory()
		self.addCleanup(folder.cleanup)
		self.path = os.path.join(folder.name, "calls.json")
		store = CallStore(self.path)
		patched = patch.object(learned_calls, "open_site_store", lambda: store)
		patched.start()
		self.addCleanup(patched.stop)

	def test_a_call_is_learned_once_and_known_to_other_processes(self):
		with ModelServer() as server:
			server.script(text("Hi."))
			model = self.connect(server, temperature=0.5)
			self.complete(model)
			known = CallStore(self.path).find(learned_calls.make_key(model.fixed))
			self.assertEqual(known, find_learned(model.fixed))
			self.assertEqual(known.options, {"temperature": 0.5})
			other = self.connect(server, temperature=0.6)
			self.assertIsNone(find_learned(other.fixed))
		self.assertNotIn(SECRET, Path(self.path).read_text())

	def test_learned_calls_are_invalid_for_another_version_or_environment(self):
		with ModelServer() as server:
			server.script(text("Hi."))
			model = self.connect(server)
			self.complete(model)
		key = learned_calls.make_key(model.fixed)
		self.addCleanup(learned_calls.make_stamp.cache_clear)
		for changed in (
			patch.dict(os.environ, OPENAI_BASE_URL="http://127.0.0.1:1"),
			patch.object(learned_calls, "version", lambda name: f"{name} 2"),
		):
			with changed:
				learned_calls.make_stamp.cache_clear()
				self.assertNotIn(key, CallStore(self.path))
		learned_calls.make_stamp.cache_clear()
		self.assertIsNotNone(CallStore(self.path).find(key))

	def test_the_stamp_ignores_variables_that_huf_sets_for_litellm(self):
		stamps = set()
		self.addCleanup(learned_calls.make_stamp.cache_clear)
		with patch.dict(os.environ):
			for value in ("True", None):
				os.environ.pop("LITELLM_LOCAL_MODEL_COST_MAP", None)
				if value:
					os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = value
				learned_calls.make_stamp.cache_clear()
				stamps.add(learned_calls.make_stamp())
		self.assertEqual(len(stamps), 1)

	def test_the_store_keeps_calls_of_other_environments_up_to_a_limit(self):
		self.addCleanup(learned_calls.make_stamp.cache_clear)

		def add_and_read(base_url):
			with patch.dict(os.environ, OPENAI_BASE_URL=base_url):
				learned_calls.make_stamp.cache_clear()
				store = CallStore(self.path)
				store.add(base_url, None)
				return [*store.calls]

		for number in range(2 * learned_calls.MAX_STAMPS):
			add_and_read(f"http://127.0.0.1:{number}")
		last = json.loads(Path(self.path).read_text())
		self.assertEqual(len(last), learned_calls.MAX_STAMPS)
		self.assertEqual(add_and_read("http://127.0.0.1:7"), ["http://127.0.0.1:7"])
		self.assertEqual([*json.loads(Path(self.path).read_text())], [*last])

	def test_a_store_that_cannot_be_read_or_written_counts_as_empty(self):
		with ModelServer() as server:
			server.script(text("Hi."))
			model = self.connect(server)
			for broken in (
				"",
				"[]",
				"{",
				'{"stamp": 1}',
				json.dumps({learned_calls.make_stamp(): {"a": {}}}),
			):
				Path(self.path).write_text(broken)
				self.assertNotIn(learned_calls.make_key(model.fixed), CallStore(self.path), broken)
			unwritable = CallStore("/proc/none/calls.json")
			with patch.object(learned_calls, "open_site_store", lambda: unwritable):
				self.complete(model)
				self.assertIsNotNone(find_learned(model.fixed))

	def test_openai_models_are_learned_with_the_options_that_litellm_sends(self):
		call = self.learn("openai/gpt-5-mini", temperature=0.2, max_tokens=9, **STREAMED)
		self.assertEqual((call.options, call.token_field), (STREAMED, "max_completion_tokens"))
		self.assertEqual(call.template.url, "https://api.openai.com/v1/chat/completions")
		self.assertEqual(self.learn("openai/gpt-4o", temperature=0.2).options, {"temperature": 0.2})

	def test_a_call_learned_with_one_json_schema_is_valid_for_all_schemas(self):
		simple, patterned = (
			make_response_format({"type": "object"}),
			make_response_format(PATTERNED | {"additionalProperties": False}),
		)
		kwargs = {"model": "openai/gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
		call = self.learn(kwargs["model"], response_format=simple)
		self.assertEqual(call.options, {})
		keys = {
			learned_calls.make_key({**kwargs, "response_format": response_format})
			for response_format in (simple, patterned)
		}
		self.assertEqual(len(keys), 1)
		self.assertNotIn(learned_calls.make_key(kwargs), keys)
		body = json.loads(call.write_body({**kwargs, "response_format": patterned}))
		path = DirectPath(load(), kwargs["model"], None)
		self.assertEqual(body, path.build_body({**kwargs, "response_format": patterned}))

	def test_a_response_format_that_litellm_rewrites_is_not_learned(self):
		self.assertIsNone(
			self.learn("groq/llama3-8b-8192", response_format=make_response_format({"type": "object"}))
		)

	def test_providers_with_their_own_api_format_are_not_learned(self):
		for name in (
			"anthropic/claude-sonnet-4-5",
			"mistral/mistral-large-latest",
			"openai/o3",
			"gemini/gemini-2.0-flash",
		):
			self.assertIsNone(self.learn(name), name)

	def test_unusual_tool_schemas_and_replies_are_translated_by_litellm(self):
		tool = Tool("look", "Looks", PATTERNED, Effect.READ, None)
		rare = {
			"choices": [
				{
					"message": {"role": "assistant", "content": "<think>Hm.</think>Yes."},
					"finish_reason": "eos",
				}
			]
		}
		with ModelServer() as server:
			model = self.connect(server)
			server.script(text("Hi."), text("Hi."), garbage(json.dumps(rare), "application/json"))
			self.complete(model)
			self.complete(model, [tool])
			# Python cannot compile the pattern, so LiteLLM leaves it out.
			self.assertNotIn("pattern", json.dumps(server.requests[-1]["tools"]))
			reply = self.complete(model)
			self.assertEqual((reply.text, reply.reasoning, reply.finish_reason), ("Yes.", "Hm.", "stop"))

	def test_malformed_tool_schemas_are_left_to_litellm(self):
		call = self.learn("openai/gpt-4o")
		for malformed in (
			{"properties": []},
			{"properties": {"n": 5}},
			{"properties": {"n": {"anyOf": 5}}},
			[],
		):
			tool = {"type": "function", "function": {"name": "look", "parameters": malformed}}
			self.assertIsNone(call.write_body({"messages": [], "tools": [tool]}), malformed)

	def test_a_learned_call_parses_tool_calls_of_the_reply(self):
		with ModelServer() as server:
			server.script(text("Hi."), tool_call("look", {"n": 2}, id="call_2"))
			model = self.connect(server)
			self.complete(model)
			self.assertIsNotNone(find_learned(model.fixed))
			(call,) = self.complete(model).calls
			self.assertEqual((call.id, call.name, call.arguments), ("call_2", "look", '{"n": 2}'))

	def test_provider_and_price_tables_read_from_files_equal_those_of_litellm(self):
		litellm = load()
		self.assertEqual(models.list_providers(), {each.value for each in litellm.provider_list})
		table = dict(models.load_table())
		table.pop("fallback_generalizations", None)
		self.assertEqual(table, litellm.model_cost)

	def test_an_alias_has_the_price_row_of_its_model(self):
		rows = {"m-2": {"mode": "chat"}, "m-latest": {"alias_of": "m-2"}, "n": {"alias_of": "n-1"}}
		with patch.object(models, "read_litellm_file", return_value=json.dumps(rows)):
			table = models.load_table.__wrapped__()
		self.assertEqual(table, {"m-2": rows["m-2"], "m-latest": rows["m-2"]})

	def connect(self, server, **options):
		name = make_model(server)
		return build_call_arguments(frappe.db.get_value("AI Model", name, "provider"), name, options, False)

	def complete(self, model, tools=()):
		return run_coroutine(model.complete([{"role": "user", "content": "Hi"}], list(tools), ignore_text))

	def learn(self, name, **options):
		kwargs = {"model": name, "api_key": SECRET, "timeout": 5, **options}
		return run_coroutine(learn_call(run_coroutine(check_directly(kwargs)), kwargs))


class TestLearningProcess(SiteTestCase):
	"""These calls run in child processes, because the test process has imported LiteLLM."""

	def setUp(self):
		super().setUp()
		folder = tempfile.TemporaryDirectory()
		self.addCleanup(folder.cleanup)
		self.path = Path(folder.name, "calls.json")

	def test_a_child_process_learns_call_variants_and_the_parent_loads_no_litellm(self):
		call = {"model": "openai/gpt-4o", "temperature": 0.2}
		self.assertEqual(self.learn(call), [{"temperature": 0.2}, False])
		store = CallStore(str(self.path))
		for variant in (call, call | STREAMED, call | {"max_tokens": 7}, call | STREAMED | {"max_tokens": 7}):
			self.assertIn(learned_calls.make_key(variant), store)
		self.assertNotIn(learned_calls.make_key(call | {"temperature": 0.3}), store)
		self.assertNotIn(SECRET, self.path.read_text())

	def test_a_call_that_needs_litellm_is_checked_in_a_child_process_once(self):
		call = {"model": "openai/o3"}
		self.assertEqual(self.learn(call), [None, False])
		written = self.path.read_text()
		self.assertIn(learned_calls.make_key(call), CallStore(str(self.path)))
		self.assertTrue(CallStore(str(self.path)).needs_litellm)
		self.assertEqual(self.learn(call), [None, False])
		self.assertEqual(self.path.read_text(), written)

	def test_a_provider_with_its_own_api_format_starts_no_child_process(self):
		self.assertEqual(self.learn({"model": "anthropic/claude-sonnet-4-5"}), [None, False])
		self.assertFalse(self.path.exists())

	def test_a_child_process_that_cannot_write_the_store_is_no_error(self):
		self.path = Path("/proc/none/calls.json")
		self.assertEqual(self.learn({"model": "openai/gpt-4o"}), [None, False])

	def learn(self, call):
		call = call | {"api_key": SECRET, "messages": [], "timeout": 5}
		command = [sys.executable, "-c", CALL, str(self.path), json.dumps(call)]
		done = subprocess.run(command, capture_output=True, text=True, check=True)
		return json.loads(done.stdout)


class TestSiteStore(SiteTestCase):
	def test_the_store_is_a_private_file_of_the_site(self):
		self.assertEqual(
			open_site_store().path, Path(frappe.get_site_path("private", "huf-model-calls.json"))
		)
