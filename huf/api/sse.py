"""Server-sent events: run events as a Werkzeug response."""

import json
from collections.abc import Iterable, Iterator

import frappe
from werkzeug.wrappers import Response

from huf.ai.core.types import EventKind, RunEvent
from huf.ai.tools.sources import sources_of

MAX_RESULT_CHARS = 4000
PING = ": ping\n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def stream_response(events: Iterable[RunEvent | None]) -> Response:
	return Response(as_lines(events), mimetype="text/event-stream", headers=HEADERS)


def as_stream(data: Iterable[str | None]) -> Response:
	"""Events without a name or a number, as other wires have them."""
	lines = (PING if each is None else f"data: {each}\n\n" for each in data)
	return Response(lines, mimetype="text/event-stream", headers=HEADERS)


def as_lines(events: Iterable[RunEvent | None]) -> Iterator[str]:
	for event in events:
		if event is None:
			yield PING
			continue
		data = json.dumps({"run": event.run, **shortened(event)}, ensure_ascii=False, default=str)
		number = f"id: {event.number}\n" if event.number else ""
		yield f"{number}event: {event.kind.value}\ndata: {data}\n\n"


def shortened(event: RunEvent) -> dict:
	"""A page shows the beginning of a long result, and all of its sources; the record keeps the whole."""
	result = event.data.get("result") if event.kind is EventKind.TOOL_FINISHED else None
	if result is None or len(result) <= MAX_RESULT_CHARS:
		return event.data
	return {**event.data, "result": result[:MAX_RESULT_CHARS], "cut": True, "sources": sources_of(result)}


def last_event() -> int:
	"""The number that a reader who comes back sends in the header Last-Event-ID; 0 without one."""
	request = getattr(frappe.local, "request", None)
	sent = request.headers.get("Last-Event-ID", "") if request else ""
	return int(sent) if sent.isdecimal() else 0
