"""OpenAI's format is read and written without LiteLLM exactly as LiteLLM translates it."""

import asyncio
import copy
import json
from collections import Counter
from types import SimpleNamespace
from unittest import TestCase

from hypothesis import example, given, settings
from hypothesis import strategies as st

from huf.ai.loop.model import ignore_text
from huf.ai.providers import openai_format
from huf.ai.providers.answers import AnswerBuilder
from huf.ai.providers.direct_path import DirectPath
from huf.ai.providers.direct_path_samples import MESSAGES, TOOLS
from huf.ai.providers.litellm_module import load

EXAMPLES = settings(max_examples=400, deadline=None)


def rarely(common, *rare):
	"""One in twenty values has one of the rare forms."""
	return st.integers(1, 20).flatmap(lambda n: st.sampled_from(rare) if n == 20 else common)


TEXT = st.one_of(
	st.none(),
	st.text(max_size=8),
	st.sampled_from(["<think>Hm.</think>Yes", "[DONE]", "<b>", "€ “”", "\u2028"]),
)
ARGUMENTS = rarely(st.sampled_from(["", "{}", '{"n": 1}', '{"n": ']), None, {"n": 1})
FUNCTION = st.fixed_dictionaries(
	{"name": rarely(st.just("look"), None, "multi_tool_use.parallel", "")}, optional={"arguments": ARGUMENTS}
)
CALL = st.fixed_dictionaries(
	{"function": rarely(FUNCTION, None)},
	optional={
		"id": rarely(st.just("call_1"), None, 7),
		"index": rarely(st.integers(0, 2), None),
		"type": rarely(st.just("function"), None, "custom"),
	},
)
NUMBERED = [{"function": {"name": "look"}, "id": 7, "index": 0, "type": "function"}]
OUTPUT = {
	"content": rarely(TEXT, [{"type": "text", "text": "x"}], 5),
	"tool_calls": st.one_of(st.none(), st.lists(CALL, max_size=3)),
	"reasoning_content": TEXT,
	"reasoning": TEXT,
	"refusal": rarely(st.none(), "No."),
	"annotations": st.just([]),
	"function_call": rarely(st.none(), {"name": "look", "arguments": "{}"}),
	"thinking_blocks": rarely(st.none(), [{"type": "thinking", "thinking": "Hm."}]),
}
MESSAGE = st.fixed_dictionaries({"role": rarely(st.just("assistant"), None)}, optional=OUTPUT)
DELTA = st.fixed_dictionaries({}, optional={"role": rarely(st.just("assistant"), None), **OUTPUT})
FINISH = rarely(
	st.sampled_from(["stop", "length", "tool_calls", "content_filter"]), None, "", "eos", "function_call"
)
TOKENS = rarely(st.integers(0, 99), None)
USAGE = st.one_of(
	rarely(st.none(), "x", 5, [], {}),
	st.fixed_dictionaries(
		{"prompt_tokens": TOKENS, "completion_tokens": TOKENS, "total_tokens": TOKENS},
		optional={
			"prompt_tokens_details": st.one_of(
				st.none(),
				st.fixed_dictionaries({}, optional={"cached_tokens": TOKENS, "audio_tokens": TOKENS}),
			),
			"completion_tokens_details": st.one_of(
				rarely(st.none(), [5], "x"), st.just({"reasoning_tokens": 4})
			),
			"prompt_cache_hit_tokens": rarely(st.none(), 3),
			"queue_time": st.just(0.1),
		},
	),
)
HEAD = {
	"id": rarely(st.just("1"), None, 7, ""),
	"created": rarely(st.just(1), None, 1.5, "now"),
	"model": rarely(st.just("m"), None, 3),
	"error": rarely(st.none(), {"message": "No.", "code": 429}, {}, "No."),
	"system_fingerprint": st.just("f"),
}


def choices_of(name, output):
	choice = st.fixed_dictionaries(
		{"index": st.just(0), name: rarely(output, None, "x", []), "finish_reason": FINISH},
		optional={"logprobs": rarely(st.none(), {"content": []})},
	)
	return st.one_of(
		st.lists(choice, min_size=1, max_size=1),
		rarely(st.lists(choice, max_size=2), None, {"a": 1}, "ab", [None], [5]),
	)


RESPONSE = st.fixed_dictionaries(
	{"choices": choices_of("message", MESSAGE)}, optional={"usage": USAGE, **HEAD}
)
CHUNK = st.fixed_dictionaries({}, optional={"choices": choices_of("delta", DELTA), "usage": USAGE, **HEAD})
RARE = [
	{"pattern": "^a$"},
	{"pattern": "(?<n>a)"},
	{"cache_control": {"type": "ephemeral"}},
	{"oneOf": []},
	{"not": {}},
]
LEAF = {"type": st.sampled_from(["string", "integer"]), "description": st.text(max_size=4)}


def with_properties(inner):
	names = rarely(st.sampled_from(["n", "pattern", "enum"]), "cache_control")
	optional = {
		"properties": st.dictionaries(names, inner, max_size=2),
		"items": inner,
		"anyOf": st.lists(inner, min_size=1, max_size=2),
		"additionalProperties": st.one_of(st.booleans(), inner),
		"$defs": st.dictionaries(st.just("A"), inner, max_size=1),
		"required": st.just(["n"]),
	}
	return with_rare_keywords(st.fixed_dictionaries({"type": st.just("object")}, optional=optional))


def with_rare_keywords(schemas):
	return st.builds(dict.__or__, schemas, rarely(st.just({}), *RARE))


INNER = st.recursive(with_rare_keywords(st.fixed_dictionaries(LEAF)), with_properties, max_leaves=4)
SCHEMA = with_rare_keywords(
	st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(st.just("n"), INNER)})
)
TOOL = st.builds(
	lambda schema: {
		"type": "function",
		"function": {"name": "look", "description": "", "parameters": schema},
	},
	SCHEMA,
)
SENT_PART = rarely(
	st.sampled_from(MESSAGES[-1]["content"]),
	{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}},
	{"type": "image_url", "image_url": "https://example.com/a.png"},
	{"type": "image_url", "image_url": {"url": "https://example.com/a.png", "format": "png"}},
	{"type": "file", "file": {"file_id": "f", "format": "pdf"}},
)
SENT = st.builds(
	dict.__or__,
	st.one_of(
		st.fixed_dictionaries(
			{"role": st.just("user"), "content": st.lists(SENT_PART, min_size=1, max_size=2)}
		),
		st.fixed_dictionaries(
			{
				"role": rarely(st.sampled_from(["system", "user", "assistant", "tool"]), "developer", None),
				"content": st.one_of(st.none(), st.text(max_size=5)),
			}
		),
		st.sampled_from(MESSAGES[2:4]),
	),
	rarely(st.just({}), {"name": "x"}, {"reasoning_content": "Hm."}, {"tool_calls": []}, {"content": 5}),
)


class TestOpenAIFormat(TestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		# OpenAI itself accepts less in tool schemas than a custom server.
		cls.paths = [
			DirectPath(load(), "openai/gpt-4o-mini", base) for base in (None, "http://127.0.0.1:1/v1")
		]
		cls.usual = Counter()

	@classmethod
	def tearDownClass(cls):
		# Without samples in the usual form, the tests that count them would compare nothing.
		assert min(cls.usual.values(), default=20) >= 20, cls.usual
		super().tearDownClass()

	@EXAMPLES
	@given(RESPONSE)
	def test_a_response_is_read_as_litellm_reads_it(self, body):
		content = json.dumps(body).encode()
		response = openai_format.read_response(content)
		self.usual["response"] += response is not None
		if response is not None:
			by_litellm = self.paths[0].parse_response({"messages": MESSAGES}, {}, content)
			self.assertEqual(summarize(response), summarize(by_litellm))

	@EXAMPLES
	@example([{"choices": [{"index": 0, "delta": {"tool_calls": NUMBERED}, "finish_reason": "stop"}]}])
	@given(st.lists(CHUNK, max_size=4))
	def test_a_stream_is_read_as_litellm_reads_it(self, chunks):
		lines = [f"data: {json.dumps(each)}" for each in chunks]
		read = [openai_format.read_chunk(line) for line in lines]
		is_usual = bool(chunks) and None not in read
		self.usual["stream"] += is_usual
		if is_usual:
			by_litellm = self.paths[0].parse_stream(iterate(lines))
			self.assertEqual(summarize_stream(iterate(read)), summarize_stream(by_litellm))

	@EXAMPLES
	@given(st.lists(SENT, min_size=1, max_size=3), st.lists(TOOL, max_size=2))
	def test_a_request_is_written_as_litellm_writes_it(self, messages, tools):
		written = openai_format.write_messages(messages)
		is_usual = written is not None and openai_format.has_usual_tools(tools)
		self.usual["request"] += is_usual
		if not is_usual:
			return
		for path in self.paths:
			kwargs = {
				"messages": copy.deepcopy(messages),
				**({"tools": copy.deepcopy(tools)} if tools else {}),
			}
			by_litellm = path.build_body(kwargs)
			self.assertEqual(json.dumps(written), json.dumps(by_litellm["messages"]))
			self.assertEqual(json.dumps(tools), json.dumps(by_litellm.get("tools", [])))

	def test_typical_messages_and_tools_need_no_litellm_translation(self):
		self.assertIsNotNone(openai_format.write_messages(MESSAGES))
		self.assertTrue(openai_format.has_usual_tools(TOOLS))

	def test_refusal_field_becomes_the_answer_text(self):
		message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
		content = json.dumps(
			{"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
		).encode()
		deltas = ({**message, "refusal": "I cannot "}, {"refusal": "help with that."}, {})
		reasons = (None, None, "stop")
		lines = [
			f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': reason}]})}"
			for delta, reason in zip(deltas, reasons, strict=True)
		]
		results = (
			summarize(openai_format.read_response(content)),
			summarize(self.paths[0].parse_response({"messages": MESSAGES}, {}, content)),
			summarize_stream(iterate(map(openai_format.read_chunk, lines))),
			summarize_stream(self.paths[0].parse_stream(iterate(lines))),
		)
		self.assertEqual([each[0] for each in results], ["I cannot help with that."] * 4)

	def test_sse_lines_without_a_chunk_are_skipped(self):
		for line in ("", ": ping", "event: x", "data: [DONE]", "data: [DONE]\r", "retry: 5"):
			self.assertIs(openai_format.read_chunk(line), openai_format.NO_CHUNK, line)

	def test_malformed_lines_and_bodies_are_left_to_litellm(self):
		for line in ("data: {", "data: [1]", '{"choices": []}', "<html>"):
			self.assertIsNone(openai_format.read_chunk(line), line)
		for content in (b"", b"<html>", b"[1]", b"\xff"):
			self.assertIsNone(openai_format.read_response(content), content)


class TestUnusualAnswers(TestCase):
	def read(self, *deltas):
		builder = AnswerBuilder(ignore_text)
		choices = [{"delta": delta, "finish_reason": None} for delta in deltas]
		chunks = (openai_format.read_part({"choices": [each]}) for each in choices)
		asyncio.run(builder.read_stream(iterate(chunks)))
		return builder

	def part(self, call_id, name, arguments, **more):
		function = {"name": name, "arguments": arguments}
		return {"tool_calls": [{"id": call_id, "function": function, **more}]}

	def test_calls_that_share_an_index_stay_apart(self):
		for index in (0, None):
			with self.subTest(index):
				first = (
					self.part("a", "read", '{"n', index=index),
					self.part(None, None, '": 1}', index=index),
				)
				second = self.part("b", "read", '{"n": 2}', index=index)
				calls = list(self.read(*first, second).list_calls())
				read = [(each.id, each.name, each.arguments) for each in calls]
				self.assertEqual(read, [("a", "read", '{"n": 1}'), ("b", "read", '{"n": 2}')])

	def test_nameless_call_deltas_with_a_new_id_continue_the_same_call(self):
		parts = self.part("a", "read", '{"n', index=0), self.part("b", None, '": 1}', index=0)
		self.assertEqual([each.arguments for each in self.read(*parts).list_calls()], ['{"n": 1}'])

	def test_name_repeated_with_each_delta_counts_once(self):
		for call_id in ("a", None):
			parts = self.part("a", "read", '{"n', index=0), self.part(call_id, "read", '": 1}', index=0)
			calls = [(each.name, each.arguments) for each in self.read(*parts).list_calls()]
			self.assertEqual(calls, [("read", '{"n": 1}')])

	def test_numeric_call_ids_and_content_part_lists_are_read(self):
		builder = AnswerBuilder(ignore_text)
		builder.add_call(SimpleNamespace(id=7, function=SimpleNamespace(name="read", arguments="{}")), 0)
		builder.add_text([{"type": "text", "text": "Hel"}, {"type": "image"}, {"type": "text", "text": "lo"}])
		builder.add_text({"text": "no text"})
		self.assertEqual(([each.id for each in builder.list_calls()], builder.text), (["7"], "Hello"))


async def iterate(items):
	for each in items:
		yield each


def summarize_stream(stream):
	builder = AnswerBuilder(ignore_text)
	asyncio.run(builder.read_stream(stream))
	return summarize_builder(builder)


def summarize(response):
	builder = AnswerBuilder(ignore_text)
	builder.read_response(response)
	return summarize_builder(builder)


def summarize_builder(builder):
	usage = builder.usage
	tokens = usage and (
		usage.prompt_tokens,
		usage.completion_tokens,
		getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None) or 0,
	)
	# LiteLLM reports zeros if the provider reported nothing.
	reported = None if tokens and not any(tokens) else tokens
	return builder.text, builder.reasoning, builder.calls, builder.finish_reason, reported
