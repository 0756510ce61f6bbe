"""The scripted model as real LiteLLM sees it: what a client gets from each kind of answer."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import unittest
import urllib.error
import urllib.request

from huf.tests.model_server import (
	Gate,
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

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
import litellm

litellm.suppress_debug_info = True  # no advertisements in the output
logging.getLogger("LiteLLM").setLevel(logging.ERROR)  # no warnings about each test's event loop

ASK = [{"role": "user", "content": "Hello?"}]


def client(server: ModelServer, **how) -> dict:
	"""Options of every request: the server's address, a key, and no automatic retries."""
	return {"api_base": server.base_url, "api_key": "sk-test", "max_retries": 0, "timeout": 10} | how


def ask(server: ModelServer, **how):
	return asyncio.run(litellm.acompletion("openai/scripted", ASK, **client(server, **how)))


def stream(server: ModelServer, seen: list | None = None, **how):
	"""The chunks of a streamed answer, and LiteLLM's message built from them."""
	chunks = [] if seen is None else seen

	async def collect():
		async for chunk in await litellm.acompletion(
			"openai/scripted",
			ASK,
			stream=True,
			stream_options={"include_usage": True},
			**client(server, **how),
		):
			chunks.append(chunk)

	asyncio.run(collect())
	return chunks, litellm.stream_chunk_builder(chunks)


class PlainAnswers(unittest.TestCase):
	def test_a_text_response_has_its_usage(self):
		with ModelServer() as server:
			server.script(text("Hello", usage=usage(20, 5, cached=8)))
			answer = ask(server)
		self.assertEqual(answer.choices[0].message.content, "Hello")
		self.assertEqual((answer.usage.prompt_tokens, answer.usage.completion_tokens), (20, 5))
		self.assertEqual(answer.usage.prompt_tokens_details.cached_tokens, 8)

	def test_requests_and_headers_are_recorded(self):
		with ModelServer() as server:
			server.script(text("Hello"))
			ask(server, temperature=0.5)
		self.assertEqual(server.requests[0]["messages"], ASK)
		self.assertEqual(server.requests[0]["temperature"], 0.5)
		self.assertEqual(server.headers[0]["authorization"], "Bearer sk-test")
		self.assertEqual(server.paths, ["/v1/chat/completions"])

	def test_usage_can_be_left_out(self):
		with ModelServer() as server:
			server.script(text("Hello", usage=None))
			with urllib.request.urlopen(post(server, {"messages": ASK})) as response:
				self.assertNotIn("usage", json.load(response))

	def test_a_tool_call_has_a_numbered_id_and_json_arguments(self):
		with ModelServer() as server:
			server.script(tool_call("get_list", {"doctype": "ToDo"}))
			choice = ask(server).choices[0]
		(made,) = choice.message.tool_calls
		self.assertEqual((made.id, made.function.name), ("call_1", "get_list"))
		self.assertEqual(made.function.arguments, '{"doctype": "ToDo"}')
		self.assertEqual(choice.finish_reason, "tool_calls")

	def test_parallel_calls_can_have_text_content(self):
		with ModelServer() as server:
			server.script(tool_calls([call("one"), call("two", id="mine")], content="Both."))
			message = ask(server).choices[0].message
		made = [(one.id, one.function.name) for one in message.tool_calls]
		self.assertEqual(made, [("call_1", "one"), ("mine", "two")])
		self.assertEqual(message.content, "Both.")

	def test_broken_arguments_arrive_as_they_were_written(self):
		with ModelServer() as server:
			server.script(tool_call("one", '{"a": '))
			self.assertEqual(ask(server).choices[0].message.tool_calls[0].function.arguments, '{"a": ')

	def test_arguments_can_be_an_object_on_the_wire(self):
		with ModelServer() as server:
			server.script(tool_call("one", {"a": 1}, as_object=True))
			with urllib.request.urlopen(post(server, {"messages": ASK})) as response:
				made = json.load(response)["choices"][0]["message"]["tool_calls"][0]
		self.assertEqual(made["function"]["arguments"], {"a": 1})

	def test_a_repeated_response_gets_new_call_ids(self):
		with ModelServer() as server:
			server.forever(tool_call("one"))
			ids = [ask(server).choices[0].message.tool_calls[0].id for _ in range(2)]
		self.assertEqual(ids, ["call_1", "call_2"])

	def test_a_callable_answers_from_the_request(self):
		with ModelServer() as server:
			server.script(lambda request: text(request["messages"][0]["content"].upper()))
			self.assertEqual(ask(server).choices[0].message.content, "HELLO?")

	def test_finish_reasons_pass_through(self):
		for reason in ("length", "content_filter"):
			with self.subTest(reason), ModelServer() as server:
				server.script(text("Cut sh", finish_reason=reason))
				self.assertEqual(ask(server).choices[0].finish_reason, reason)


class StreamedAnswers(unittest.TestCase):
	def test_text_is_streamed_in_chunks_of_the_given_size(self):
		with ModelServer() as server:
			server.script(text("Hello there", chunk_size=4, usage=usage(7, 3)))
			chunks, whole = stream(server)
		pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
		self.assertEqual([piece for piece in pieces if piece], ["Hell", "o th", "ere"])
		self.assertEqual(whole.choices[0].message.content, "Hello there")
		self.assertEqual((whole.usage.prompt_tokens, whole.usage.completion_tokens), (7, 3))

	def test_parallel_calls_are_put_together_from_their_pieces(self):
		with ModelServer() as server:
			server.script(tool_calls([call("one", {"a": "long enough"}), call("two")], chunk_size=3))
			_, whole = stream(server)
		made = [
			(one.id, one.function.name, one.function.arguments) for one in whole.choices[0].message.tool_calls
		]
		self.assertEqual(made, [("call_1", "one", '{"a": "long enough"}'), ("call_2", "two", "{}")])

	def test_usage_is_streamed_only_on_request(self):
		with ModelServer() as server:
			server.script(text("Hello"))
			with urllib.request.urlopen(post(server, {"messages": ASK, "stream": True})) as response:
				events = response.read().decode().split("\n\n")
		self.assertNotIn("usage", "".join(events))
		self.assertEqual(events[-2], "data: [DONE]")

	def test_a_cut_stream_breaks_after_the_chunks_it_sent(self):
		with ModelServer() as server:
			server.script(cut(text("Hello there", chunk_size=4), after_chunks=2))
			seen: list = []
			broken = "not completed|Connection error"  # depends on the version of openai
			with self.assertRaisesRegex(litellm.exceptions.MidStreamFallbackError, broken):
				stream(server, seen)
		self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in seen), "Hell")

	def test_a_stalled_stream_runs_into_the_clients_timeout(self):
		with ModelServer() as server:
			server.script(stall(text("Hello"), after_chunks=1))
			# Depends on the version of openai.
			kinds = (litellm.Timeout, litellm.exceptions.MidStreamFallbackError)
			with self.assertRaisesRegex(kinds, "Timeout on reading|timed out"):
				stream(server, timeout=0.2)


class Failures(unittest.TestCase):
	def test_a_status_becomes_litellms_exception(self):
		kinds = {
			400: litellm.BadRequestError,
			401: litellm.AuthenticationError,
			404: litellm.NotFoundError,
			429: litellm.RateLimitError,
			500: litellm.InternalServerError,
			503: litellm.ServiceUnavailableError,
		}
		for status, kind in kinds.items():
			with self.subTest(status), ModelServer() as server:
				server.script(error(status, "said no"))
				with self.assertRaisesRegex(kind, "said no"):
					ask(server)

	def test_a_streamed_request_gets_the_same_error(self):
		with ModelServer() as server:
			server.script(error(429, "said no"))
			with self.assertRaises(litellm.RateLimitError):
				stream(server)

	def test_retry_after_is_sent_and_heeded(self):
		with ModelServer() as server:
			server.script(error(429, retry_after=0.01), text("Now"))
			self.assertEqual(ask(server, max_retries=1).choices[0].message.content, "Now")

	def test_a_context_length_error_raises_context_window_exceeded(self):
		with ModelServer() as server:
			server.script(
				error(400, "This model's maximum context length is 8", code="context_length_exceeded")
			)
			with self.assertRaises(litellm.ContextWindowExceededError):
				ask(server)

	def test_a_truncated_body_raises_a_connection_error(self):
		for chunks in (0, 1):
			with self.subTest(chunks), ModelServer() as server:
				server.script(cut(text("Hello"), after_chunks=chunks))
				with self.assertRaises((litellm.APIConnectionError, litellm.InternalServerError)):
					ask(server)

	def test_an_invalid_body_raises_a_server_error(self):
		with ModelServer() as server:
			server.script(garbage())
			with self.assertRaisesRegex(litellm.InternalServerError, "invalid response"):
				ask(server)

	def test_empty_choices_cause_no_litellm_error(self):
		with ModelServer() as server:
			server.script(no_choices())
			self.assertEqual(ask(server).choices, [])


class Waiting(unittest.TestCase):
	def test_a_gate_holds_the_answer_until_it_is_opened(self):
		gate, answers = Gate(), []
		with ModelServer() as server:
			server.script(gate(text("Hello")))
			thread = threading.Thread(target=lambda: answers.append(ask(server)))
			thread.start()
			self.assertTrue(gate.reached.wait(10))
			self.assertEqual(answers, [])
			gate.open()
			thread.join(10)
		self.assertEqual(answers[0].choices[0].message.content, "Hello")

	def test_a_gate_holds_the_rest_of_a_stream_until_it_is_opened(self):
		gate, seen = Gate(), []
		with ModelServer() as server:
			server.script(gate(text("Hello there", chunk_size=4), after_chunks=2))
			thread = threading.Thread(target=stream, args=(server, seen))
			thread.start()
			self.assertTrue(gate.reached.wait(10))
			gate.open()
			thread.join(10)
		self.assertEqual(
			"".join(chunk.choices[0].delta.content or "" for chunk in seen if chunk.choices), "Hello there"
		)

	def test_stopping_the_server_ends_waiting_requests(self):
		for answer in (slow(3600, text("late")), Gate()(text("never")), stall(text("half"))):
			with self.subTest(answer), ModelServer() as server:
				arrived = threading.Event()
				server.on_request = lambda _, arrived=arrived: arrived.set()
				server.script(answer)
				thread = threading.Thread(target=ask_and_fail, args=(self, server))
				thread.start()
				self.assertTrue(arrived.wait(10))
			thread.join(10)
			self.assertFalse(thread.is_alive())

	def test_sixty_four_requests_are_answered_at_once(self):
		all_arrived = threading.Barrier(64, timeout=20)

		async def many(server):
			return await asyncio.gather(
				*[litellm.acompletion("openai/scripted", ASK, **client(server)) for _ in range(64)]
			)

		with ModelServer() as server:
			server.on_request = lambda _: all_arrived.wait()
			server.forever(text("Hello"))
			answers = asyncio.run(many(server))
		self.assertEqual({answer.choices[0].message.content for answer in answers}, {"Hello"})


class Bookkeeping(unittest.TestCase):
	def test_a_request_beyond_the_script_fails_the_test(self):
		refused = self.assertRaisesRegex(litellm.InternalServerError, "after the script had ended")
		with self.assertRaisesRegex(AssertionError, "request 1 "), ModelServer() as server, refused:
			ask(server)

	def test_an_unused_response_fails_the_test(self):
		with self.assertRaisesRegex(AssertionError, "1 scripted answers"), ModelServer() as server:
			server.script(text("Hello"))

	def test_a_lenient_server_records_unexpected_requests_without_failing(self):
		with ModelServer(strict=False) as server:
			with self.assertRaises(litellm.InternalServerError):
				ask(server)
			server.script(text("unread"))
		self.assertEqual(len(server.unexpected), 1)

	def test_an_exception_of_the_test_is_not_hidden_by_the_server(self):
		with self.assertRaises(ZeroDivisionError), ModelServer() as server:
			server.script(text("unread"))
			raise ZeroDivisionError

	def test_a_hook_that_fails_fails_the_test(self):
		with self.assertRaises(AssertionError) as caught, ModelServer() as server:
			server.on_request = lambda request: self.assertEqual(request["model"], "another")
			server.script(text("Hello"))
			ask(server)
		self.assertIn("'scripted' != 'another'", str(caught.exception.__cause__))


class OtherEndpoints(unittest.TestCase):
	def test_models_are_listed(self):
		with ModelServer() as server, urllib.request.urlopen(f"{server.base_url}/models") as response:
			self.assertEqual(json.load(response)["data"][0]["id"], "scripted")

	def test_speech_becomes_the_scripted_text(self):
		with ModelServer() as server:
			server.script(text("Hello"))
			answer = asyncio.run(
				litellm.atranscription("openai/whisper-1", ("a.wav", b"RIFF\r\n--"), **client(server))
			)
		self.assertEqual(answer.text, "Hello")
		self.assertEqual(server.requests[0]["file"], {"filename": "a.wav", "content": b"RIFF\r\n--"})
		self.assertEqual(server.requests[0]["model"], "whisper-1")

	def test_embeddings_of_texts_with_shared_words_are_similar(self):
		texts = ["buy milk", "buy bread", "the weather in Prague", "buy milk"]
		with ModelServer() as server:
			answer = asyncio.run(litellm.aembedding("openai/small", texts, **client(server)))
		milk, bread, weather, again = (one["embedding"] for one in answer.data)
		self.assertEqual(milk, again)
		self.assertGreater(dot(milk, bread), dot(milk, weather))

	def test_an_unknown_path_is_not_found(self):
		with ModelServer() as server, self.assertRaisesRegex(urllib.error.HTTPError, "404"):
			urllib.request.urlopen(f"{server.base_url}/nothing")

	def test_the_server_runs_from_the_command_line(self):
		command = [sys.executable, "-m", "huf.tests.model_server", "--port", "0"]
		with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
			base_url = next(word for word in process.stdout.readline().split() if "http" in word).strip(";")
			request = urllib.request.Request(
				f"{base_url}/chat/completions", json.dumps({"messages": ASK}).encode()
			)
			with urllib.request.urlopen(request) as response:
				content = json.load(response)["choices"][0]["message"]["content"]
			process.terminate()
		self.assertEqual(content, "You said: Hello?")


def post(server: ModelServer, body: dict) -> urllib.request.Request:
	return urllib.request.Request(f"{server.base_url}/chat/completions", json.dumps(body).encode())


def ask_and_fail(test: unittest.TestCase, server: ModelServer) -> None:
	with test.assertRaises((litellm.APIConnectionError, litellm.InternalServerError)):
		ask(server, timeout=30)


def dot(one: list, other: list) -> float:
	return sum(a * b for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
	unittest.main()
