"""A scripted model that speaks the OpenAI API over real HTTP on loopback.

	with ModelServer() as server:
		server.script(tool_call("get_list", {"doctype": "ToDo"}), text("You have two."))
		...                       # the code under test calls server.base_url
		server.requests           # the parsed body of every POST, in order; raw in server.bodies

It answers in the order of the script, records every request, and fails a test that sends more or fewer
requests than there are answers. It sleeps only if told to, and listens only on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

from huf.tests.model_answers import (  # noqa: F401 - tests import them from here
	MODEL,
	Answer,
	Gate,
	Scripted,
	call,
	chunks,
	completion,
	cut,
	embeddings,
	error,
	garbage,
	no_choices,
	numbered,
	parse_body,
	slow,
	stall,
	text,
	tool_call,
	tool_calls,
	usage,
)


class ModelServer:
	"""The scripted model on a free port (or `port`). `strict=False` allows requests beyond the script and
	unused answers. `on_request(body)` runs before each answer, on the connection's thread; an exception in it
	fails the test at the end of the `with`."""

	def __init__(self, *, port: int = 0, strict: bool = True) -> None:
		self.strict = strict
		self.on_request: Callable[[dict], Any] | None = None
		self.requests: list[dict] = []
		self.bodies: list[bytes] = []
		self.headers: list[dict] = []
		self.paths: list[str] = []
		self.unexpected: list[str] = []
		self.failures: list[BaseException] = []
		self.models = [MODEL]
		self.model_facts: dict[str, Any] = {}
		self.closing = threading.Event()
		self.call_ids = itertools.count(1)
		self._answers: deque[Scripted] = deque()
		self._last: Scripted | None = None
		self._gates: list[Gate] = []
		self._lock = threading.Lock()
		self._http = _Listener(("127.0.0.1", port), _Connection)
		self._http.model = self
		self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

	def script(self, *answers: Scripted) -> None:
		"""Adds answers, sent in this order. A callable gets the request's body and returns an Answer."""
		self._answers.extend(answers)

	def forever(self, answer: Scripted) -> None:
		"""The answer to every request after the script has run out."""
		self._last = answer

	def __enter__(self) -> ModelServer:
		threading.Thread(target=self.serve, name="model-server", daemon=True).start()
		return self

	def serve(self) -> None:
		self._http.serve_forever(poll_interval=0.02)

	def __exit__(self, kind: type | None, *_: Any) -> None:
		self.close()
		if kind is None or self.failures:
			self.check()

	def close(self) -> None:
		"""Ends every wait, cuts every connection and frees the port."""
		self.closing.set()
		for gate in self._gates:
			gate.open()
		self._http.shutdown()
		self._http.server_close()
		self._http.hang_up()

	def check(self) -> None:
		"""Raises AssertionError if a hook failed, or the requests did not match the script."""
		if self.failures:
			raise AssertionError("failed while the model was asked") from self.failures[0]
		if self.strict and self.unexpected:
			raise AssertionError("; ".join(self.unexpected))
		if self.strict and self._answers:
			raise AssertionError(f"{len(self._answers)} scripted answers were never asked for")

	def record(self, path: str, headers: dict, raw: bytes) -> int:
		with self._lock:
			self.bodies.append(raw)
			self.requests.append(parse_body(headers.get("content-type", ""), raw))
			self.headers.append(headers)
			self.paths.append(path)
			return len(self.requests)

	def next_answer(self, number: int, path: str, body: dict) -> Answer:
		"""The answer to request `number`. Runs the test's hook and callable answer; stores exceptions."""
		with self._lock:
			scripted = self._answers.popleft() if self._answers else self._last
		try:
			if self.on_request:
				self.on_request(body)
			answer = scripted(body) if callable(scripted) else scripted
		except Exception as failure:  # the test's own code: any exception fails the test
			self.failures.append(failure)
			return _refusal(f"request {number} failed in the test: {failure!r}")
		if answer is None:
			self.unexpected.append(f"request {number} ({path}) came after the script had ended")
			return _refusal(self.unexpected[-1])
		return answer

	def wait(self, answer: Answer) -> None:
		"""Holds an answer back as scripted. Raises ConnectionError if the server closes meanwhile."""
		if answer.delay:
			self.closing.wait(answer.delay)
		if answer.gate and not answer.gate_after:
			self.wait_at(answer.gate)
		if self.closing.is_set():
			raise ConnectionError("the server ends")

	def wait_at(self, gate: Gate) -> None:
		self._gates.append(gate)
		gate.reached.set()
		if not self.closing.is_set():  # close() sets this before it opens the gates
			gate.opened.wait()


def _refusal(message: str) -> Answer:
	# OpenAI's client repeats a 500 unless this header forbids it.
	return replace(error(500, message), headers={"x-should-retry": "false"})


class _Listener(ThreadingTCPServer):
	model: ModelServer
	allow_reuse_address = True
	request_queue_size = 256
	daemon_threads = True

	def __init__(self, *args: Any) -> None:
		self._open: dict[socket.socket, threading.Thread] = {}
		super().__init__(*args)

	def process_request_thread(self, request: Any, client_address: Any) -> None:
		self._open[request] = threading.current_thread()
		try:
			super().process_request_thread(request, client_address)
		finally:
			self._open.pop(request, None)

	def hang_up(self) -> None:
		for connection, thread in list(self._open.items()):
			_cut(connection)
			thread.join(1)

	def handle_error(self, request: Any, client_address: Any) -> None:
		failure = sys.exc_info()[1]
		if not isinstance(failure, OSError):  # clients may disconnect at any time
			self.model.failures.append(failure)


def _cut(connection: socket.socket) -> None:
	with contextlib.suppress(OSError):  # already gone
		connection.shutdown(socket.SHUT_RDWR)


class _Connection(BaseHTTPRequestHandler):
	"""A keep-alive connection: reads a request, gets the answer from the model, and sends it."""

	server: _Listener
	protocol_version = "HTTP/1.1"
	disable_nagle_algorithm = True
	wbufsize = -1  # headers and body leave in one packet

	def log_message(self, *_: Any) -> None:
		pass

	def do_GET(self) -> None:
		model = self.server.model
		listed = [
			{"id": name, "object": "model", "owned_by": "test", **model.model_facts} for name in model.models
		]
		if self.path == "/v1/models":
			return self.send_json({"object": "list", "data": listed})
		self.send_answer(error(404, f"the model server has no {self.path}"))

	def do_POST(self) -> None:
		model, endpoint = self.server.model, _ENDPOINTS.get(self.path)
		headers = {name.lower(): value for name, value in self.headers.items()}
		number = model.record(self.path, headers, self.read_body())
		body = model.requests[number - 1]
		if endpoint is None:
			return self.send_answer(error(404, f"the model server has no {self.path}"))
		if self.path == "/v1/embeddings":
			return self.send_json(embeddings(body))
		answer = model.next_answer(number, self.path, body)
		try:
			model.wait(answer)
			endpoint(self, answer, body, f"chatcmpl-{number}")
		except ConnectionError:
			self.hang_up()

	def read_body(self) -> bytes:
		if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
			return self.rfile.read(int(self.headers.get("Content-Length") or 0))
		body = b""
		while size := int(self.rfile.readline().split(b";")[0], 16):
			body += self.rfile.read(size)
			self.rfile.readline()
		self.rfile.readline()
		return body

	def send_completion(self, answer: Answer, request: dict, id: str) -> None:
		if answer.raw is not None:
			return self.send_answer(answer)
		answer = numbered(answer, self.server.model.call_ids)
		if request.get("stream"):
			return self.send_stream(answer, chunks(answer, request, id))
		self.send_answer(replace(answer, raw=json.dumps(completion(answer, request, id)).encode()))

	def send_transcript(self, answer: Answer, request: dict, id: str) -> None:
		if answer.raw is None:
			used = {"usage": answer.usage} if answer.usage and "type" in answer.usage else {}
			answer = replace(answer, raw=json.dumps({"text": answer.message["content"], **used}).encode())
		self.send_answer(answer)

	def send_json(self, body: dict) -> None:
		self.send_answer(Answer(raw=json.dumps(body).encode()))

	def send_answer(self, answer: Answer) -> None:
		body = answer.raw
		self.send_head(answer, {"Content-Type": "application/json", "Content-Length": str(len(body))})
		if answer.cut_after is not None or answer.stall_after is not None:
			broken_off = 0 in (answer.cut_after, answer.stall_after)
			self.wfile.write(b"" if broken_off else body[: len(body) // 2])
			return self.break_off(answer)
		self.wfile.write(body)

	def send_stream(self, answer: Answer, chunks: Iterator[dict]) -> None:
		self.send_head(answer, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
		for sent, chunk in enumerate(chunks):
			if sent in (answer.cut_after, answer.stall_after):
				return self.break_off(answer)
			if answer.gate and sent == answer.gate_after > 0:
				self.server.model.wait_at(answer.gate)
			self.send_event(json.dumps(chunk))
			if answer.pace:
				self.server.model.closing.wait(answer.pace)
		self.send_event("[DONE]")
		self.wfile.write(b"0\r\n\r\n")

	def send_event(self, data: str) -> None:
		event = f"data: {data}\n\n".encode()
		self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
		self.wfile.flush()

	def send_head(self, answer: Answer, headers: dict) -> None:
		self.send_response(answer.status)
		for name, value in (headers | answer.headers).items():
			self.send_header(name, value)
		self.end_headers()

	def break_off(self, answer: Answer) -> None:
		self.wfile.flush()
		if answer.stall_after is not None:
			self.server.model.closing.wait()
		self.hang_up()

	def hang_up(self) -> None:
		self.close_connection = True
		_cut(self.connection)


_ENDPOINTS = {
	"/v1/chat/completions": _Connection.send_completion,
	"/v1/audio/transcriptions": _Connection.send_transcript,
	"/v1/embeddings": _Connection.send_json,
}


def demonstrate(request: dict) -> Answer:
	"""Repeats the message; if it names a tool, calls it with the JSON arguments that follow, if any."""
	last = request["messages"][-1]
	content = last["content"] if isinstance(last["content"], str) else json.dumps(last["content"])
	if last["role"] == "tool":
		return text(f"The tool answered: {content}")
	for tool in request.get("tools") or ():
		name = tool["function"]["name"]
		if name in content:
			return tool_call(name, content.partition(name)[2].strip() or {})
	return text(f"You said: {content}")


def main() -> None:
	parser = argparse.ArgumentParser(description=demonstrate.__doc__)
	parser.add_argument("--port", type=int, default=8089)
	server = ModelServer(port=parser.parse_args().port, strict=False)
	server.forever(demonstrate)
	print(f"A scripted model answers at {server.base_url}; any key will do.", flush=True)
	with contextlib.suppress(KeyboardInterrupt):
		server.serve()


if __name__ == "__main__":
	main()
