"""Scripted models in separate processes, so that their CPU time is not counted as Huf's."""

import json
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from huf.tests.factories import make, make_tool
from huf.tests.model_server import ModelServer, text, tool_call


def script_turns(count: int, tool: str, arguments: dict):
	"""A model that lists the next row with `tool`, `count` times per user message, and then answers."""

	def answer(request: dict):
		messages = request["messages"]
		last = max(index for index, each in enumerate(messages) if each["role"] == "user")
		done = sum(each["role"] == "tool" for each in messages[last:])
		return tool_call(tool, {**arguments, "start": done}) if done < count else text("That is all.")

	return answer


def serve(connection, count: int, tool: str, arguments: dict) -> None:
	with ModelServer(strict=False) as server:
		server.forever(script_turns(count, tool, arguments))
		connection.send(server.base_url)
		connection.recv()


@contextmanager
def model_process(count: int, tool: str, arguments: dict) -> Iterator[str]:
	"""Start the model; yields its base URL."""
	with other_process(serve, count, tool, arguments) as base_url:
		yield base_url


@contextmanager
def other_process(target: Callable, *arguments) -> Iterator[str]:
	"""Run `target(connection, ...)` in another process until the context ends; yields its first message."""
	context = multiprocessing.get_context("spawn")
	parent_end, child_end = context.Pipe()
	process = context.Process(target=target, args=(child_end, *arguments), daemon=True)
	process.start()
	try:
		yield parent_end.recv()
	finally:
		parent_end.send("stop")
		process.join(5)


def list_tool(rows: int) -> str:
	"""Make a Get List tool and `rows` records, so that every call of a run can list a different row."""
	for number in range(rows):
		make("ToDo", description=f"Measure {number}")
	return make_tool("Get List", reference_doctype="ToDo")


class Clock(BaseHTTPRequestHandler):
	"""A model whose chunks contain the time at which they are sent.

	The prompt is the number of chunks and the seconds between them: "40 0.1".
	"""

	protocol_version = "HTTP/1.1"
	disable_nagle_algorithm = True

	def do_POST(self) -> None:
		request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
		count, pause = request["messages"][-1]["content"].split()
		self.send_response(200)
		self.send_header("Content-Type", "text/event-stream")
		self.send_header("Transfer-Encoding", "chunked")
		self.end_headers()
		for _ in range(int(count)):
			self.send_chunk({"content": f"{time.monotonic():.6f} "})
			if float(pause):
				time.sleep(float(pause))
		self.send_chunk({}, "stop")
		self.send_piece(b"data: [DONE]\n\n")
		self.wfile.write(b"0\r\n\r\n")

	def send_chunk(self, delta: dict, reason: str | None = None) -> None:
		choice = {"index": 0, "delta": delta, "finish_reason": reason}
		chunk = {
			"id": "1",
			"object": "chat.completion.chunk",
			"created": 1,
			"model": "clock",
			"choices": [choice],
		}
		self.send_piece(f"data: {json.dumps(chunk)}\n\n".encode())

	def send_piece(self, data: bytes) -> None:
		self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

	def log_message(self, *_) -> None:
		pass


class ClockServer(ThreadingHTTPServer):
	request_queue_size = 256
	daemon_threads = True

	def handle_error(self, request, client_address) -> None:
		"""Ignore clients that close an idle connection."""
		if not isinstance(sys.exc_info()[1], ConnectionError):
			super().handle_error(request, client_address)


def serve_clock(connection) -> None:
	server = ClockServer(("127.0.0.1", 0), Clock)
	threading.Thread(target=server.serve_forever, daemon=True).start()
	connection.send(f"http://127.0.0.1:{server.server_address[1]}/v1")
	connection.recv()
