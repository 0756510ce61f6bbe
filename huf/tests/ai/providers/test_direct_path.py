"""The three ways to a model, over the same wire: what is sent is the same byte for byte, and so is what is
read.
"""

from dataclasses import replace
from unittest.mock import patch

from huf.ai.core.errors import ModelError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.settings import find_cached
from huf.ai.core.types import Effect, Tool, Usage
from huf.ai.providers.learned_calls import find_learned
from huf.ai.providers.litellm import build_call_arguments
from huf.ai.providers.models import CallPath
from huf.tests.base import SiteTestCase
from huf.tests.factories import SECRET, make_model
from huf.tests.model_server import (
	ModelServer,
	call,
	cut,
	error,
	garbage,
	no_choices,
	slow,
	stall,
	text,
	tool_call,
	tool_calls,
	usage,
)

LEARNED, TRANSLATED, WRAPPED = "learned", "translated", "wrapped"
WAYS = (LEARNED, TRANSLATED, WRAPPED)
LOOK = Tool(
	"look",
	"Looks for n things, naïvely.",
	{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
	Effect.READ,
	None,
)
ASKED = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}'}}
MESSAGES = [
	{"role": "system", "content": "Be brief."},
	{"role": "user", "content": "How many “things” are there – 5 €?"},
	{"role": "assistant", "content": None, "tool_calls": [ASKED]},
	{"role": "tool", "tool_call_id": "call_1", "content": "[1, 2]"},
	{"role": "user", "content": "And\nnow?"},
]
LONG = "A longer answer, naïve and 100 € worth. " * 20
SAID = {
	"words": text(LONG, chunk_size=3),
	"reasoning before words": text(LONG, reasoning="Let me see. " * 5),
	"a call": tool_call("look", {"n": 2}, id="call_2"),
	"calls beside words": tool_calls(
		[call("look", {"n": n}, id=f"call_{n}") for n in (2, 3)], "I look.", chunk_size=2
	),
	"a call with broken arguments": tool_call("look", '{"n": ', id="call_2"),
	"what the cache served": text("Cached.", usage=usage(100, 10, 60)),
	"an answer cut short": text("It goes on", finish_reason="length"),
}
FAILED = {
	"nothing": text(""),
	"filtered": text("", finish_reason="content_filter"),
	**{f"status {status}": error(status) for status in (400, 401, 403, 404, 408, 429, 500, 502, 503)},
	"too long": error(
		400, "This model's maximum context length is 10 tokens.", code="context_length_exceeded"
	),
	"the key repeated": error(401, f"Incorrect API key provided: {SECRET}"),
	"an error of one line": error(500, body="Internal Server Error"),
	"another form of error": error(400, body={"detail": "no such field"}),
}
BROKEN = {
	"a web page": garbage(),
	"no JSON": garbage("{", "application/json"),
	"another JSON": garbage("[1, 2]", "application/json"),
	"no choices": no_choices(),
	"cut before the first byte": cut(text(LONG), 0),
	"cut": cut(text(LONG), 3),
	"cut in a call": cut(tool_call("look", {"n": 2}, id="call_2"), 2),
}


class TestBothWays(SiteTestCase):
	def test_all_call_paths_send_and_read_the_same(self):
		for name, answer in SAID.items():
			for stream in (False, True):
				with self.subTest(name, stream=stream):
					self.assert_same(answer, stream)

	def test_all_call_paths_report_the_same_errors(self):
		for name, answer in FAILED.items():
			for stream in (False, True):
				with self.subTest(name, stream=stream):
					self.assert_same(answer, stream)

	def test_all_call_paths_agree_on_retry_and_partial_text_of_broken_replies(self):
		for name, answer in BROKEN.items():
			for stream in (False, True):
				with self.subTest(name, stream=stream):
					# LiteLLM 1.110 raises if a stream ends without a finish reason; its error has no usage.
					seen = without_usage if stream and name == "no choices" else without_words
					self.assert_same(answer, stream, seen=seen)

	def test_all_call_paths_time_out_alike(self):
		self.assert_same(slow(30, text("Late.")), False, timeout=0.3)
		self.assert_same(slow(30, text("Late.")), True, timeout=0.3)
		self.assert_same(stall(text(LONG), 3), False, timeout=0.3)
		self.assert_same(stall(text(LONG), 3), True, timeout=0.3, seen=without_words)

	def test_all_call_paths_report_an_unreachable_server_alike(self):
		with ModelServer() as server:
			model = self.connect(server, False)
			server.script(text("Hi."))
			ask(model)
		learned, translated, wrapped = (ask_by(way, model) for way in WAYS)
		self.assertEqual(learned, translated)
		self.assertEqual(without_words(learned), without_words(wrapped))

	def test_a_reply_without_usage_has_unknown_cost(self):
		for stream in (False, True):
			with ModelServer() as server:
				for way in (LEARNED, TRANSLATED):
					server.script(text("Uncounted.", usage=None))
					reply, _ = ask_by(way, self.connect(server, stream))
					self.assertEqual(reply.usage, Usage(cost=None))

	def test_by_default_a_model_is_called_directly_where_the_check_allows_it(self):
		with ModelServer() as server:
			server.script(text("Hi."), text("Hi."))
			model = self.connect(server, False)
			ask(model)
			ask(replace(model, fixed={**model.fixed, "model": "nvidia_nim/scripted"}))
			agents = [headers.get("x-stainless-lang") for headers in server.headers]
			self.assertEqual(agents, [None, "python"])

	def test_a_direct_call_to_a_provider_that_needs_litellm_is_an_error(self):
		with ModelServer() as server:
			model = self.connect(server, False)
			model = replace(
				model, call_path=CallPath.DIRECT, fixed={**model.fixed, "model": "gemini/gemini-2.0-flash"}
			)
			self.assertIn("always called through LiteLLM", ask(model, said=str)[0])

	def test_all_call_paths_send_the_same_without_tools_or_settings(self):
		for stream in (False, True):
			self.assert_same(text("Yes."), stream, tools=[], temperature=None)

	def assert_same(self, answer, stream, tools=(LOOK,), timeout=10, seen=lambda told: told, **options):
		with ModelServer() as server:
			model = self.connect(server, stream, **options)
			model = replace(model, fixed={**model.fixed, "timeout": timeout})
			# The first call is checked, and the ways of the others are free.
			server.script(text("Hi."))
			ask(model, list(tools))
			self.assertIsNotNone(find_learned(model.fixed))
			told = []
			for way in WAYS:
				server.script(answer)
				told.append(ask_by(way, model, list(tools)))
			self.assertEqual(told[0], told[1])
			self.assertEqual(seen(told[0]), seen(told[2]))
			bodies, paths = server.bodies[1:], server.paths[1:]
			self.assertEqual([bodies[0]] * 3, bodies)
			keys = [headers["authorization"] for headers in server.headers[1:]]
			self.assertEqual((keys, paths), ([f"Bearer {SECRET}"] * 3, ["/v1/chat/completions"] * 3))
			sent = [without_own_headers(headers) for headers in server.headers[1:]]
			self.assertEqual(sent[0], sent[1])

	def connect(self, server, stream, temperature=0.5):
		name = make_model(server)
		provider = find_cached("AI Model", name).provider
		wanted = {} if temperature is None else {"temperature": temperature, "max_tokens": 50}
		return build_call_arguments(provider, name, wanted, stream)


def ask_by(way, model, tools=()):
	model = replace(model, call_path=CallPath.WRAPPED if way == WRAPPED else CallPath.DIRECT)
	if way == LEARNED:
		return ask(model, tools)
	with patch("huf.ai.providers.learned_calls.find_learned", return_value=None):
		return ask(model, tools)


def without_own_headers(headers):
	"""Those of a request that are the same in the next one."""
	return {name: value for name, value in headers.items() if name.lower() not in ("host", "traceparent")}


def ask(model, tools=(), said=lambda failed: str(failed).partition("\nDetails: ")[0]):
	"""(reply, text as it was shown) or what failed, as far as the loop and the operator see it."""
	shown: list[str] = []
	try:
		reply = run_coroutine(
			model.complete(MESSAGES, list(tools), lambda text, is_reasoning: shown.append(text))
		)
	except ModelError as failed:
		return said(failed), failed.status, failed.retryable, failed.usage, "".join(shown)
	return reply, "".join(shown)


def without_words(told):
	"""What counts of a failure for the loop: our own wire knows more exactly than LiteLLM's what has
	happened.
	"""
	_, _, retryable, usage, shown = told
	return retryable, usage and usage.cost, shown


def without_usage(told):
	retryable, _, shown = without_words(told)
	return retryable, shown
