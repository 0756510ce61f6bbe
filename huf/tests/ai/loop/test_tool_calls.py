"""Tool arguments are parsed, repaired where unambiguous, and validated before the tool runs."""

import asyncio
import unittest

from huf.ai.core.arguments import parse_arguments
from huf.ai.core.errors import OutcomeUnknown, ToolError
from huf.ai.core.secret_text import mask_secrets
from huf.ai.core.types import CallRequest, CallStatus, Effect, Tool
from huf.ai.loop.tool_calls import perform, prepare

SCHEMA = {
	"type": "object",
	"properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
	"required": ["query"],
	"additionalProperties": False,
}


class TestArguments(unittest.TestCase):
	def test_json_arguments_are_parsed(self):
		self.assertEqual(parse_arguments('{"a": [1, null]}'), {"a": [1, None]})
		self.assertEqual(parse_arguments(""), {})

	def test_unambiguous_json_errors_are_repaired(self):
		for raw in ('{"a": "b",}', "{'a': 'b'}", '```json\n{"a": "b"}\n```', '{a: "b"}'):
			with self.subTest(raw):
				self.assertEqual(parse_arguments(raw), {"a": "b"})

	def test_ambiguous_json_errors_are_refused(self):
		for raw in ('{"a": "b', '{"a": ', '{"a": "b"', "a: b", '[{"a": 1}]', '"text"', "{broken} and more"):
			with self.subTest(raw), self.assertRaises(ToolError):
				parse_arguments(raw)


class TestPrepare(unittest.TestCase):
	def test_invalid_arguments_and_unknown_tools_are_rejected_before_a_call(self):
		ran = []
		requests = (
			request("search", '{"query": "x", "limit": null}'),
			request("search", '{"limit": "many"}'),
			request("serach", "{}"),
		)
		calls = prepare(requests, {"search": tool(ran.append)})
		self.assertEqual(calls[0].arguments, {"query": "x"})
		self.assertIn("'query' is a required property", calls[1].error)
		self.assertIn("limit", calls[1].error)
		self.assertIn("The tools are: search", calls[2].error)
		self.assertEqual(ran, [])

	def test_a_tool_error_becomes_a_failed_tool_result(self):
		def fail(arguments):
			raise ToolError("No such thing.")

		call = prepare((request("search", '{"query": "x"}'),), {"search": tool(fail)})[0]
		tool_result = asyncio.run(perform(call))
		self.assertFalse(tool_result.ok)
		self.assertIn("No such thing.", tool_result.text)

	def test_an_external_call_that_failed_after_it_was_sent_is_unknown(self):
		def fail(arguments):
			raise OutcomeUnknown("The service hung up. \ud83d Authorization: Bearer abcdef123456")

		for effect, status in ((Effect.EXTERNAL, CallStatus.UNKNOWN), (Effect.WRITE, CallStatus.FAILED)):
			call = prepare((request("search", '{"query": "x"}'),), {"search": tool(fail, effect)})[0]
			tool_result = asyncio.run(perform(call))
			self.assertEqual(tool_result.status, status)
			self.assertIn("The service hung up. ?", tool_result.text)
			self.assertNotIn("abcdef123456", tool_result.text)


def request(name, arguments):
	return CallRequest("call_1", name, arguments)


def tool(function, effect: Effect = Effect.READ) -> Tool:
	async def run(arguments):
		return function(arguments)

	return Tool("search", "Search", SCHEMA, effect, run)


class TestMasking(unittest.TestCase):
	def test_keys_and_passwords_in_tool_results_are_masked(self):
		for text in (
			'{"api_key": "abc-123"}',
			"{'password': 'hunter2'}",
			'{"Authorization": "Bearer eyJhbGciOi.payload"}',
			"Authorization: Bearer eyJhbGciOi.payload",
			"the key is sk-proj-1234567890abcdef",
		):
			with self.subTest(text):
				masked = mask_secrets(text)
				for secret in ("abc-123", "hunter2", "payload", "1234567890"):
					self.assertNotIn(secret, masked)

	def test_words_resembling_secrets_are_not_masked(self):
		for text in (
			'{"keyboard": "sk-short"}',
			"Press a key to go on",
			'{"tokens": 12, "secretary": "Anna"}',
		):
			self.assertEqual(mask_secrets(text), text)
