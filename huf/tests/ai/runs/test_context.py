"""Requests fit the context window, and calls that a local model writes as text are executed."""

import json

import frappe

from huf.ai.core.events import EventKind
from huf.ai.core.types import MAX_RESULT_CHARS, AgentRequest
from huf.ai.loop.context_window import READ_MORE
from huf.ai.runs.entry import run_agent, run_agent_sync
from huf.ai.runs.replay import replay
from huf.ai.tools.registry import tool
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, text, tool_call, tool_calls

HERE = __name__
LINE = "row {:07d}: nothing of note was found here\n"


@tool()
def read_book(size: int = 5_000_000):
	"""Returns a long text with one unique line."""
	lines = [LINE.format(number + size) for number in range(size // len(LINE.format(0)))]
	lines[len(lines) // 2] = "here the treasure is hidden\n"
	return "".join(lines)


class TestContext(SiteTestCase):
	def test_five_megabyte_tool_result_is_read_in_parts_and_stored_whole(self):
		with ModelServer() as server:
			agent, book = self.book_agent(server)
			server.script(
				tool_call(book),
				tool_call(READ_MORE, {"result": 1, "find": "TREASURE"}),
				tool_call(READ_MORE, {"result": 1, "offset": 4_998_000}),
				text("Found."),
			)
			result = run_agent_sync(agent, "Where is the treasure?")
			requests = server.requests
		self.assertEqual((result["status"], result["response"]), ("Success", "Found."))
		offered = [[tool["function"]["name"] for tool in request["tools"]] for request in requests]
		self.assertEqual(offered, [[book], *[[READ_MORE, book]] * 3])
		self.assertIn("the treasure is hidden", requests[2]["messages"][-1]["content"])
		self.assertIn("end of the text", requests[3]["messages"][-1]["content"])
		self.assertLess(max(map(size_of, requests)), 2 * MAX_RESULT_CHARS)
		self.assert_stored_whole(result["run"], book)

	def assert_stored_whole(self, run, book):
		stored = frappe.db.get_value("Agent Tool Call", {"run": run, "tool": book}, "result")
		self.assertEqual(stored, read_book())
		message = frappe.db.get_value(
			"Agent Message", {"run": run, "kind": "Tool Result", "step": 1}, "content"
		)
		self.assertLessEqual(len(message), MAX_RESULT_CHARS)
		self.assertTrue(replay(run).identical)

	def test_twelve_large_results_in_sequence_fit_a_small_context_window(self):
		with ModelServer() as server:
			agent, book = self.book_agent(server, context_window=2000)
			server.script(*[tool_call(book, {"size": 3000 + number}) for number in range(12)], text("Read."))
			result = run_agent_sync(agent, "Read it twelve times")
			sizes = [tokens_of(request) for request in server.requests]
		self.assertEqual((result["status"], result["steps"]), ("Success", 13))
		self.assertLessEqual(max(sizes), 2000)
		self.assertTrue(replay(result["run"]).identical)

	def test_twelve_large_results_in_one_step_fit_a_small_context_window(self):
		with ModelServer() as server:
			agent, book = self.book_agent(server, context_window=2000)
			call = tool_call(book, {"size": 3000}).message["tool_calls"][0]
			server.script(tool_calls([call] * 12), text("Read."))
			result = run_agent_sync(agent, "Read it twelve times")
			sizes = [tokens_of(request) for request in server.requests]
		self.assertEqual(result["status"], "Success")
		self.assertLessEqual(max(sizes), 2000)

	def test_prompt_larger_than_the_window_is_not_sent_and_stops_the_run(self):
		with ModelServer() as server:
			agent, _ = self.book_agent(server, context_window=2000)
			result = run_agent_sync(agent, "word " * 3000)
			self.assertEqual(server.requests, [])
		self.assertEqual((result["status"], result["stop_reason"]), ("Stopped", "context_budget"))
		self.assertIn("larger window", result["error"])

	def book_agent(self, server, **model):
		book = make_tool("Custom Function", function_path=f"{HERE}.read_book", effect="read")
		return make_agent(make_model(server, **model), (book,), max_iterations=20), book


class TestLocalModel(SiteTestCase):
	def test_call_written_as_text_is_executed_with_and_without_streaming(self):
		for watchers in ([], [lambda event: None]):
			with self.subTest(streamed=bool(watchers)), ModelServer() as server:
				agent, find = self.local_agent(server)
				written = f'<think>Hm.</think>One moment.\n<tool_call>\n{{"name": "{find}", "arguments": {{"limit": 1}}}}\n</tool_call>'
				server.script(text(written, chunk_size=5), text("Done."))
				run = run_agent(AgentRequest(agent, "Look", "Administrator"), watchers).run
				called = frappe.get_all("Agent Tool Call", {"run": run}, ["tool", "status"], order_by="name")
				self.assertEqual([(row.tool, row.status) for row in called], [(find, "Success")])
				self.assert_recorded(run, written)
				self.assertTrue(replay(run).identical)

	def assert_recorded(self, run, written):
		calls = frappe.get_all("Agent LLM Call", {"run": run}, ["corrected", "response"], order_by="step asc")
		self.assertEqual([row.corrected for row in calls], [1, 0])
		first = json.loads(calls[0].response)
		# LiteLLM itself removes the thinking from an answer that is not streamed.
		self.assertTrue(written.endswith(first["said"]) and "<tool_call>" in first["said"])
		self.assertEqual(first["content"], "One moment.")
		self.assertNotIn("said", json.loads(calls[1].response))

	def test_streamed_text_omits_calls_written_as_text(self):
		with ModelServer() as server:
			agent, find = self.local_agent(server)
			server.script(
				text(f'Let me see. {{"name": "{find}", "parameters": {{"limit": 1}}}}', chunk_size=3),
				text('A set is {1}, and {"name": "Anna"} is JSON.', chunk_size=3),
			)
			events = []
			result = run_agent(AgentRequest(agent, "Look", "Administrator"), [events.append])
		texts = ["", ""]
		for event in events:
			if event.kind is EventKind.TEXT_DELTA:
				texts[event.data["step"] - 1] += event.data["text"]
		self.assertEqual(texts, ["Let me see.", 'A set is {1}, and {"name": "Anna"} is JSON.'])
		self.assertEqual(result.response, texts[1])

	def test_broken_call_written_as_text_is_returned_to_the_model_as_an_error(self):
		with ModelServer() as server:
			agent, find = self.local_agent(server)
			server.script(text(f'<tool_call>{{"name": "{find}", "arguments": {{"limit":'), text("Sorry."))
			run_agent_sync(agent, "Look")
			self.assertIn("not valid JSON", server.requests[-1]["messages"][-1]["content"])

	def test_answer_with_only_thinking_fails_the_run_as_empty(self):
		with ModelServer(strict=False) as server:
			agent, _ = self.local_agent(server)
			server.forever(text("<think>I wonder"))
			result = run_agent_sync(agent, "Look")
		self.assertEqual(result["status"], "Failed")
		self.assertIn("empty answer", result["error"])

	def test_call_written_as_text_by_a_cloud_model_stays_text(self):
		with ModelServer() as server:
			agent, find = self.local_agent(server, is_local=0)
			written = f'{{"name": "{find}", "arguments": {{"limit": 1}}}}'
			server.script(text(written))
			self.assertEqual(run_agent_sync(agent, "Look")["response"], written)

	def local_agent(self, server, is_local=1):
		model = make_model(server)
		provider = frappe.db.get_value("AI Model", model, "provider")
		frappe.get_doc("AI Provider", provider).update({"is_local": is_local}).save()
		find = make_tool("Get List", reference_doctype="ToDo")
		return make_agent(model, (find,)), find


def size_of(request):
	return len(json.dumps(request["messages"]))


def tokens_of(request):
	"""Counts the tokens of a request with a tokenizer other than Huf's."""
	import tiktoken

	encoding = tiktoken.get_encoding("cl100k_base")
	return len(
		encoding.encode(json.dumps(request["messages"])) + encoding.encode(json.dumps(request["tools"]))
	)
