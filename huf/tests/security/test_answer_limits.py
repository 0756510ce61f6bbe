"""Endless model responses: the run ends with an error message, and memory and journal stay small."""

import gzip
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import frappe

from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent, stream_agent
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import SECRET, make, make_agent, unique

MAX_GROWTH_BYTES = 300_000_000
MAX_SENT_BYTES = 600_000_000
PIECE = b"x" * 1_000_000


def event(**delta) -> bytes:
	chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
	chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": None}]
	return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def endless(first: bytes, piece: bytes) -> Iterator[bytes]:
	yield first
	for _ in range(MAX_SENT_BYTES // len(piece)):
		yield piece


def calls() -> Iterator[bytes]:
	for number in range(1_000_000):
		call = {
			"index": number,
			"id": str(number),
			"type": "function",
			"function": {"name": "a", "arguments": "{}"},
		}
		yield event(tool_calls=[call])


def bomb() -> Iterator[bytes]:
	body = b'{"choices": [{"message": {"content": "' + b"x" * 200_000_000 + b'"}}]}'
	yield gzip.compress(body, 5)


LONG_CALL = {"index": 0, "id": "1", "type": "function", "function": {"name": "a", "arguments": "x" * 10_000}}
JSON, SSE = "application/json", "text/event-stream"
WHOLE = {
	"a long answer": (200, JSON, {}, lambda: endless(b'{"choices": [{"message": {"content": "', PIECE)),
	"a compressed bomb": (200, JSON, {"Content-Encoding": "gzip"}, bomb),
	"a long error": (400, JSON, {}, lambda: endless(b'{"error": "', PIECE)),
}
STREAMS = {
	"text without end": (200, SSE, {}, lambda: endless(b"", event(content="x" * 10_000))),
	"one line without end": (200, SSE, {}, lambda: endless(b'data: {"choices": "', PIECE)),
	"nothing but comments": (200, SSE, {}, lambda: endless(b"", b": still here" * 1_000 + b"\n\n")),
	"calls without end": (200, SSE, {}, calls),
	"arguments without end": (200, SSE, {}, lambda: endless(b"", event(tool_calls=[LONG_CALL]))),
}


class Endless(BaseHTTPRequestHandler):
	protocol_version = "HTTP/1.0"
	answer: tuple = ()

	def log_message(self, *_arguments):
		pass

	def do_POST(self):
		self.rfile.read(int(self.headers.get("Content-Length") or 0))
		status, kind, headers, pieces = type(self).answer
		self.send_response(status)
		for name, value in {"Content-Type": kind, **headers}.items():
			self.send_header(name, value)
		self.end_headers()
		try:
			for piece in pieces():
				self.wfile.write(piece)
		except OSError:
			self.close_connection = True


@contextmanager
def serving() -> Iterator[str]:
	server = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
	thread = threading.Thread(target=server.serve_forever, daemon=True)
	thread.start()
	try:
		yield f"http://127.0.0.1:{server.server_port}/v1"
	finally:
		server.shutdown()
		server.server_close()


def resident_bytes() -> int:
	with open("/proc/self/statm") as numbers:
		return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Peak(threading.Thread):
	"""Samples the resident memory of this process."""

	def __init__(self):
		super().__init__(daemon=True)
		self.before = self.peak = resident_bytes()
		self.ended = threading.Event()

	def run(self):
		while not self.ended.wait(0.005):
			self.peak = max(self.peak, resident_bytes())

	def __enter__(self):
		self.start()
		return self

	def __exit__(self, *_error):
		self.ended.set()
		self.join()

	@property
	def growth(self) -> int:
		return self.peak - self.before


class TestAnswerLimits(SiteTestCase):
	def setUp(self):
		super().setUp()
		provider = make(
			"AI Provider", provide_name=unique("Endless"), api_key=SECRET, api_base=enter(self, serving())
		)
		model = make("AI Model", model_name=unique("endless"), provider=provider.name, own_prices=1)
		self.request = AgentRequest(make_agent(model.name), "Hi", "Administrator")
		Endless.answer = (500, JSON, {}, lambda: [b"{}"])
		list(stream_agent(self.request))  # loads modules and fills caches

	def assert_ends(self, answers: dict, run) -> None:
		for name, answer in answers.items():
			Endless.answer = answer
			with self.subTest(name), Peak() as memory:
				result = run()
			self.assertLess(memory.growth, MAX_GROWTH_BYTES, name)
			self.assertEqual(result.status, "Failed", name)
			if answer[0] == 200:
				self.assertIn("larger than", result.error_message, name)
			stored = frappe.get_all("Agent LLM Call", {"run": result.name}, ["*"], order_by="creation")
			self.assertLess(len(json.dumps(stored, default=str)), 5_000_000, name)

	def test_unstreamed_model_responses_have_a_size_limit(self):
		self.assert_ends(WHOLE, lambda: self.row(run_agent(self.request).run))

	def test_streamed_model_responses_have_a_size_limit(self):
		self.assert_ends(STREAMS, lambda: self.row([*filter(None, stream_agent(self.request))][-1].run))

	@staticmethod
	def row(run: str):
		return frappe.get_doc("Agent Run", run)
