"""Server-sent events: run events, or the data of another protocol, as a Werkzeug response.

None in a stream means "nothing yet" and is sent as a comment, which keeps the connection open.
"""

import json
from collections.abc import Iterable, Iterator

from werkzeug.wrappers import Response

from huf.ai.core.events import EventKind, RunEvent
from huf.ai.tools.sources import read_sources

MAX_RESULT_CHARS = 4000
PING = ": ping\n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
LINE_ENDS = str.maketrans({each: f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"})
"""Characters that end a line for some clients, and their escapes in JSON."""


def stream_events(events: Iterable[RunEvent | None]) -> Response:
	"""Huf's event stream: an event's kind is sent as `event`, and its number, if any, as `id`."""
	return stream_texts(encode_events(events))


def stream_data(data: Iterable[str | None]) -> Response:
	"""Events that have only `data`, as OpenAI and AG-UI send them."""
	return stream_texts(each and f"data: {escape_line_ends(each)}\n\n" for each in data)


def stream_texts(texts: Iterable[str | None]) -> Response:
	"""A stream of encoded events."""
	lines = (PING if each is None else each for each in texts)
	return Response(lines, mimetype="text/event-stream", headers=HEADERS)


def encode_events(events: Iterable[RunEvent | None]) -> Iterator[str]:
	for event in events:
		if event is None:
			yield PING
			continue
		sent = {"run": event.run, **shorten_result(event)}
		data = escape_line_ends(json.dumps(sent, ensure_ascii=False, default=str))
		number = f"id: {event.number}\n" if event.number else ""
		yield f"{number}event: {event.kind.value}\ndata: {data}\n\n"


def escape_line_ends(text: str) -> str:
	"""JSON without characters that only some clients take for the end of a line."""
	return text if text.isascii() else text.translate(LINE_ENDS)


def shorten_result(event: RunEvent) -> dict:
	"""The event's data, with a tool's result cut to MAX_RESULT_CHARS but with all its sources. The journal
	keeps the whole.
	"""
	result = event.data.get("result") if event.kind is EventKind.TOOL_FINISHED else None
	if result is None or len(result) <= MAX_RESULT_CHARS:
		return event.data
	return {**event.data, "result": result[:MAX_RESULT_CHARS], "cut": True, "sources": read_sources(result)}
