"""Answers a Werkzeug request with an ASGI application, on an event loop in the request's thread."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, MutableMapping
from itertools import chain
from typing import Any

from werkzeug.wrappers import Request, Response

from huf.ai.core.event_loops import iterate
from huf.ai.core.tool_threads import is_tool_running
from huf.api.wire.sse import escape_line_ends

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


HOP_BY_HOP = ("content-length", "connection")
"""Headers that Werkzeug sets itself."""


def respond(app: ASGIApp, request: Request, path: str, left: threading.Event | None = None) -> Response:
	"""The application's response to a request, as if it had been sent to `path`.

	A response of several pieces is streamed. Its first pieces are held back while a synchronous tool uses the
	database connection: Frappe ends the request's transaction as soon as it has the response. `left` is set
	when the reader of a stream leaves, also in the scope's state; the application runs to its end.
	"""
	scope = {**build_scope(request, path), "state": {"left": left}}
	messages = iterate(lambda put: call(app, scope, request.get_data(), put))
	start = next(message for message in messages if message)
	pieces = read_pieces(messages)
	held: list[bytes] = []
	for piece in pieces:
		held.append(piece)
		if held != [b""] and not is_tool_running():
			break
	streamed = is_stream(start)
	body: Any = stream_body(held, pieces, left) if streamed else b"".join(chain(held, pieces))
	headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
	mimetype = headers.pop("content-type", "text/plain").partition(";")[0]
	kept = {name: value for name, value in headers.items() if name not in HOP_BY_HOP}
	return Response(body, start["status"], kept, mimetype=mimetype)


def is_stream(start: Message) -> bool:
	return any(
		name.lower() == b"content-type" and value.startswith(b"text/event-stream")
		for name, value in start["headers"]
	)


def stream_body(
	held: Iterable[bytes], pieces: Generator[bytes, None, None], left: threading.Event | None
) -> Iterator[bytes]:
	"""The pieces of a stream. Closing it lets the application end before Frappe closes the database."""
	try:
		for piece in chain(held, pieces):
			yield escape_line_ends(piece.decode()).encode()
	finally:
		if left:
			left.set()
		pieces.close()


def read_pieces(messages: Iterator[Message | None]) -> Generator[bytes, None, None]:
	"""The pieces of the body; during long silences, comments of server-sent events."""
	for message in messages:
		yield b": ping\n\n" if message is None else message.get("body", b"")


async def call(app: ASGIApp, scope: Message, body: bytes, put: Callable[[Message], None]) -> None:
	unread = [body]

	async def receive() -> Message:
		if unread:
			return {"type": "http.request", "body": unread.pop(), "more_body": False}
		# WSGI reports no disconnect; the application ends this wait when it has answered.
		await asyncio.Event().wait()
		raise AssertionError("unreachable")

	async def send(message: Message) -> None:
		put(message)
		# Let the reader take the message before the application continues.
		await asyncio.sleep(0)

	await app(scope, receive, send)


def build_scope(request: Request, path: str) -> Message:
	return {
		"type": "http",
		"asgi": {"version": "3.0"},
		"http_version": "1.1",
		"method": request.method,
		"scheme": request.scheme,
		"path": path,
		"raw_path": path.encode(),
		"root_path": "",
		"query_string": request.query_string,
		"headers": [
			(name.lower().encode("latin-1"), value.strip().encode("latin-1"))
			for name, value in request.headers
		],
		"server": request.server or ("", None),
		"client": (request.remote_addr or "", 0),
	}
