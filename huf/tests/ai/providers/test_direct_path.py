"""All call paths to a model send the same bytes and read the same replies."""

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
CALL_PATHS = (LEARNED, TRANSLATED, WRAPPED)
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
LONG_TEXT = "A longer answer, naïve and 100 € worth. " * 20
REPLIES = {
	"words": text(LONG_TEXT, chunk_size=3),
	"reasoning before words": text(LONG_TEXT, reasoning="Let me see. " * 5),
	"a call": tool_call("look", {"n": 2}, id="call_2"),
	"calls beside words": tool_calls(
		[call("look", {"n": n}, id=f"call_{n}") for n in (2, 3)], "I look.", chunk_size=2
	),
	"a call with broken arguments": tool_call("look", '{"n": ', id="call_2"),
	"what the cache served": text("Cached.", usage=usage(100, 10, 60)),
	"an answer cut short": text("It goes on", finish_reason="length"),
}
ERRORS = {
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
BROKEN_REPLIES = {
	"a web page": garbage(),
	"no JSON": garbage("{", "application/json"),
	"another JSON": garbage("[1, 2]", "application/json"),
	"no choices": no_choices(),
	"cut before the first byte": cut(text(LONG_TEXT), 0),
	"cut": cut(text(LONG_TEXT), 3),
	"cut in a call": cut(tool_call("look", {"n": 2}, id="call_2"), 2),
}


class TestBothWays(SiteTestCase):
	def test_all_call_paths_send_and_read_the_same(self):
		for name, answer in REPLIES.items():
			for stream in (False, True):
				with self.subTest(name, stream=stream):
					self.assert_same(answer, stream)

	def test_all_call_paths_report_the_same_errors(self):
		for name, answer in ERRORS.items():
			for stream in (False, True):
				with self.subTest(name, stream=stream):
					self.assert_same(answer, stream)

	def test_all_call_paths_agree_on_retry_and_partial_text_of_broken_replies(self):
		for name, answer in BROKEN_REPLIES.items():
			for stream in (False, True):
				with self.subTest(name, stream=stream):
					# LiteLLM 1.110 raises if a stream ends without a finish reason; its error has no usage.
					compare_by = without_usage if stream and name == "no choices" else without_message
					self.assert_same(answer, stream, compare_by=compare_by)

	def test_all_call_paths_time_out_alike(self):
		self.assert_same(slow(30, text("Late.")), False, timeout=0.3)
		self.assert_same(slow(30, text("Late.")), True, timeout=0.3)
		self.assert_same(stall(text(LONG_TEXT), 3), False, timeout=0.3)
		self.assert_same(stall(text(LONG_TEXT), 3), True, timeout=0.3, compare_by=without_message)

	def test_all_call_paths_report_an_unreachable_server_alike(self):
		with ModelServer() as server:
			model = self.connect(server, False)
			server.script(text("Hi."))
			complete(model)
		learned, translated, wrapped = (complete_by(path, model) for path in CALL_PATHS)
		self.assertEqual(learned, translated)
		self.assertEqual(without_message(learned), without_message(wrapped))

	def test_a_reply_without_usage_has_unknown_cost(self):
		for stream in (False, True):
			with ModelServer() as server:
				for path in (LEARNED, TRANSLATED):
					server.script(text("Uncounted.", usage=None))
					reply, _ = complete_by(path, self.connect(server, stream))
					self.assertEqual(reply.usage, Usage(cost=None))

	def test_by_default_a_model_is_called_directly_where_the_check_allows_it(self):
		with ModelServer() as server:
			server.script(text("Hi."), text("Hi."))
			model = self.connect(server, False)
			complete(model)
			complete(replace(model, fixed={**model.fixed, "model": "nvidia_nim/scripted"}))
			agents = [headers.get("x-stainless-lang") for headers in server.headers]
			self.assertEqual(agents, [None, "python"])

	def test_a_direct_call_to_a_provider_that_needs_litellm_is_an_error(self):
		with ModelServer() as server:
			model = self.connect(server, False)
			model = replace(
				model, call_path=CallPath.DIRECT, fixed={**model.fixed, "model": "gemini/gemini-2.0-flash"}
			)
			self.assertIn("always called through LiteLLM", complete(model, describe=str)[0])

	def test_all_call_paths_send_the_same_without_tools_or_settings(self):
		for stream in (False, True):
			self.assert_same(text("Yes."), stream, tools=[], temperature=None)

	def assert_same(
		self, answer, stream, tools=(LOOK,), timeout=10, compare_by=lambda results: results, **options
	):
		with ModelServer() as server:
			model = self.connect(server, stream, **options)
			# The first call is checked against LiteLLM; later ones can take any path.
			server.script(text("Hi."))
			complete(model, list(tools))
			model = replace(model, fixed={**model.fixed, "timeout": timeout})
			self.assertIsNotNone(find_learned(model.fixed))
			results = []
			for path in CALL_PATHS:
				server.script(answer)
				results.append(complete_by(path, model, list(tools)))
			self.assertEqual(results[0], results[1])
			self.assertEqual(compare_by(results[0]), compare_by(results[2]))
			bodies, paths = server.bodies[1:], server.paths[1:]
			self.assertEqual([bodies[0]] * 3, bodies)
			keys = [headers["authorization"] for headers in server.headers[1:]]
			self.assertEqual((keys, paths), ([f"Bearer {SECRET}"] * 3, ["/v1/chat/completions"] * 3))
			sent = [keep_stable_headers(headers) for headers in server.headers[1:]]
			self.assertEqual(sent[0], sent[1])

	def connect(self, server, stream, temperature=0.5):
		name = make_model(server)
		provider = find_cached("AI Model", name).provider
		options = {} if temperature is None else {"temperature": temperature, "max_tokens": 50}
		return build_call_arguments(provider, name, options, stream)


def complete_by(path, model, tools=()):
	model = replace(model, call_path=CallPath.WRAPPED if path == WRAPPED else CallPath.DIRECT)
	if path == LEARNED:
		return complete(model, tools)
	with patch("huf.ai.providers.learned_calls.find_learned", return_value=None):
		return complete(model, tools)


def keep_stable_headers(headers):
	"""The headers of a request that do not differ from one request to the next."""
	return {name: value for name, value in headers.items() if name.lower() not in ("host", "traceparent")}


def complete(model, tools=(), describe=lambda failure: str(failure).partition("\nDetails: ")[0]):
	"""(reply, streamed text), or the failure as the loop and the operator see it."""
	streamed: list[str] = []
	try:
		reply = run_coroutine(
			model.complete(MESSAGES, list(tools), lambda text, is_reasoning: streamed.append(text))
		)
	except ModelError as failure:
		return describe(failure), failure.status, failure.retryable, failure.usage, "".join(streamed)
	return reply, "".join(streamed)


def without_message(failure):
	"""The parts of a failure that matter to the loop; the direct path knows the cause more exactly."""
	_, _, retryable, usage, streamed = failure
	return retryable, usage and usage.cost, streamed


def without_usage(failure):
	retryable, _, streamed = without_message(failure)
	return retryable, streamed
