"""Encoding of OpenAI's Responses API: responses and stream events from a run's events.

A tool call is an `mcp_call` item of the server `huf`, because official clients do not try to execute such
calls. A call that needs approval is an `mcp_approval_request`.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.json_text import to_text
from huf.ai.storage.drafts import notice_below, waiting_notice
from huf.api.wire.emitted_text import EmittedText
from huf.api.wire.openai import ENDS, encode_route, find_failure
from huf.api.wire.response_input import APPROVAL, MESSAGE
from huf.api.wire.sse import escape_line_ends

SERVER_LABEL = "huf"
RESPONSE = "resp_"
"""Prefix of a response's ID; the name of its run follows."""
STATUSES = {
	"Queued": "queued",
	"Started": "in_progress",
	"Waiting": "completed",
	"Success": "completed",
	"Stopped": "incomplete",
	"Failed": "failed",
	"Cancelled": "cancelled",
}


@dataclass
class ResponseBuilder:
	"""Collects a run's events into a response and the events of its stream.

	`asks`: the client supports approval requests; otherwise a text says what the run waits for. `skipped`:
	(step, ID) of calls in earlier responses. `fields`: the request's fields that are echoed.
	"""

	agent: str
	run: str = ""
	asks: bool = False
	skipped: frozenset[tuple[int, str]] = frozenset()
	fields: dict[str, Any] = field(default_factory=dict)
	result: dict[str, Any] = field(default_factory=dict)
	output: list[dict] = field(default_factory=list)
	created_at: float = field(default_factory=time.time)
	number: int = -1

	def __post_init__(self) -> None:
		self.emitted, self.message = EmittedText(), ""
		self.is_open = self.is_queued = self.has_asked = False
		self.calls: dict[tuple[int, str], int] = {}
		"""Places in the output by (step, ID): models reuse IDs in later steps."""

	def stream(self, events: Iterable[RunEvent | None]) -> Iterator[str | None]:
		"""Server-sent events as text; None while there is nothing to send."""
		for event in events:
			if event is None:
				yield None
				continue
			if not self.run:
				self.run = event.run
				for kind in ("response.created", "response.in_progress"):
					yield self.encode(kind, response=self.as_dict("in_progress"))
			for kind, data in self.add(event):
				yield self.encode(kind, **data)
		for kind, data in self.close_calls():
			yield self.encode(kind, **data)
		status = self.status
		kind = status if status in ("completed", "failed", "incomplete", "queued") else "failed"
		yield self.encode(f"response.{kind}", response=self.as_dict())

	def collect(self, events: Iterable[RunEvent | None]) -> dict:
		"""The response, after all events."""
		for event in filter(None, events):
			self.run = event.run
			for _ in self.add(event):
				pass
		for _ in self.close_calls():
			pass
		return self.as_dict()

	def encode(self, kind: str, **data: Any) -> str:
		self.number += 1
		body = {"type": kind, "sequence_number": self.number, **data}
		text = escape_line_ends(json.dumps(body, ensure_ascii=False, default=str))
		return f"event: {kind}\ndata: {text}\n\n"

	def add(self, event: RunEvent) -> Iterator[tuple[str, dict]]:
		"""Add an event of the run, and yield its stream events."""
		text = self.emitted.add_event(event)
		if event.kind is EventKind.TOOL_STARTED:
			yield from self.start_call(event.data)
		elif event.kind is EventKind.TOOL_FINISHED:
			yield from self.finish_call(event.data)
		elif event.kind is EventKind.DRAFT_CREATED:
			self.has_asked = True
			yield from self.ask(event.data)
		waits_below = event.kind is EventKind.RUN_WAITING and not self.has_asked
		if waits_below:
			text = notice_below(event.run)
			yield from self.close_message()
		if text:
			yield from self.add_text(text)
		self.is_queued = event.kind is EventKind.RUN_QUEUED or (waits_below and not text)
		if event.kind in ENDS and not self.is_queued:
			self.result = event.data
		if event.kind in (*ENDS, EventKind.RUN_QUEUED):
			yield from self.close_message()

	# --- text ---

	def add_text(self, text: str) -> Iterator[tuple[str, dict]]:
		if not self.is_open:
			self.is_open, self.message = True, ""
			text = text.lstrip("\n")
			yield self.add_item(self.message_item("in_progress"))
			part = {"type": "output_text", "text": "", "annotations": []}
			yield "response.content_part.added", {**self.place(), "content_index": 0, "part": part}
		self.message += text
		yield (
			"response.output_text.delta",
			{**self.place(), "content_index": 0, "delta": text, "logprobs": []},
		)

	def close_message(self) -> Iterator[tuple[str, dict]]:
		if not self.is_open:
			return
		self.is_open = False
		item = self.output[-1] = self.message_item("completed")
		place = {**self.place(), "content_index": 0}
		yield "response.output_text.done", {**place, "text": self.message, "logprobs": []}
		yield "response.content_part.done", {**place, "part": item["content"][0]}
		yield "response.output_item.done", {"output_index": len(self.output) - 1, "item": item}

	def message_item(self, status: str) -> dict:
		index = len(self.output) - (0 if status == "in_progress" else 1)
		part = {"type": "output_text", "text": self.message, "annotations": [], "logprobs": []}
		content = [part] if status == "completed" else []
		return {
			"id": f"{MESSAGE}{self.run}_{index}",
			"type": "message",
			"role": "assistant",
			"status": status,
			"content": content,
		}

	# --- calls ---

	def start_call(self, data: dict) -> Iterator[tuple[str, dict]]:
		call = (data["step"], data["call_id"])
		if call in self.skipped or call in self.calls:
			return
		yield from self.close_message()
		self.calls[call] = len(self.output)
		# OpenAI sends the arguments after the item, and clients append them to those in the item.
		yield self.add_item(self.call_item(data, "in_progress", arguments=""))
		arguments, place = to_text(data["arguments"]), self.place()
		self.output[-1] = {**self.output[-1], "arguments": arguments}
		yield "response.mcp_call.in_progress", place
		yield "response.mcp_call_arguments.delta", {**place, "delta": arguments}
		yield "response.mcp_call_arguments.done", {**place, "arguments": arguments}

	def finish_call(self, data: dict) -> Iterator[tuple[str, dict]]:
		index = self.calls.get((data["step"], data["call_id"]))
		if index is None or self.output[index]["status"] != "in_progress":
			return
		ended = {"output": data["result"]} if data["ok"] else {"error": encode_call_error(data["result"])}
		arguments, status = self.output[index]["arguments"], "completed" if data["ok"] else "failed"
		item = self.output[index] = self.call_item(data, status, arguments=arguments, **ended)
		yield f"response.mcp_call.{status}", {"output_index": index, "item_id": item["id"]}
		yield "response.output_item.done", {"output_index": index, "item": item}

	def close_calls(self) -> Iterator[tuple[str, dict]]:
		"""After the last event, calls that were started and not made are incomplete, because the run waits or
		has ended; before it, the run may go on and make them. They keep their places: clients received them.
		"""
		if not (self.result or self.is_queued):
			return
		for index, item in enumerate(self.output):
			if item["type"] == "mcp_call" and item["status"] == "in_progress":
				self.output[index] = {**item, "status": "incomplete"}
				yield "response.output_item.done", {"output_index": index, "item": self.output[index]}

	def call_item(self, data: dict, status: str, **more: Any) -> dict:
		return {
			"id": f"mcp_{self.run}_{data['step']}_{data['call_id']}",
			"type": "mcp_call",
			"server_label": SERVER_LABEL,
			"name": data["tool"],
			"status": status,
			"approval_request_id": None,
			"output": None,
			"error": None,
			**more,
		}

	def ask(self, draft: dict) -> Iterator[tuple[str, dict]]:
		yield from self.close_message()
		if not self.asks:
			yield from self.add_text(waiting_notice(draft["tool"], self.run))
			return
		item = {
			"id": f"{APPROVAL}{draft['draft']}_{draft['digest']}",
			"type": "mcp_approval_request",
			"server_label": SERVER_LABEL,
			"name": draft["tool"],
			"arguments": to_text(draft["edited_arguments"] or draft["arguments"]),
			"preview": draft["difference"],
		}
		yield self.add_item(item)
		yield "response.output_item.done", {"output_index": len(self.output) - 1, "item": item}

	def add_item(self, item: dict) -> tuple[str, dict]:
		self.output.append(item)
		return "response.output_item.added", {"output_index": len(self.output) - 1, "item": item}

	def place(self) -> dict:
		return {"item_id": self.output[-1]["id"], "output_index": len(self.output) - 1}

	# --- the whole ---

	@property
	def status(self) -> str:
		known = "Queued" if self.is_queued else "Started"
		return STATUSES.get(self.result.get("status") or known, "in_progress")

	def as_dict(self, status: str | None = None) -> dict:
		status = status or self.status
		result = self.result
		failure = find_failure(result) if result else None
		return {
			"id": f"{RESPONSE}{self.run}",
			"object": "response",
			"created_at": int(self.created_at),
			"status": status,
			"model": self.agent,
			"output": self.output,
			# One of OpenAI's codes after which no client repeats the request, as the Vercel AI SDK does after
			# server_error.
			"error": {"code": "invalid_prompt", "message": failure} if failure else None,
			"incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
			"usage": encode_response_usage(result) if result.get("input_tokens") is not None else None,
			"instructions": None,
			"parallel_tool_calls": True,
			"temperature": None,
			"top_p": None,
			"tool_choice": "auto",
			"tools": [],
			"text": {"format": {"type": "text"}},
			"truncation": "disabled",
			"background": False,
			"previous_response_id": None,
			"store": True,
			**encode_route(result),
			**self.fields,
			"metadata": {
				**(self.fields.get("metadata") or {}),
				"run": self.run,
				**({"stop_reason": str(result["stop_reason"])} if result.get("stop_reason") else {}),
			},
		}


def encode_call_error(text: str) -> dict:
	return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}


def encode_response_usage(result: dict) -> dict:
	sent, received = result["input_tokens"] or 0, result["output_tokens"] or 0
	return {
		"input_tokens": sent,
		"input_tokens_details": {"cached_tokens": result.get("cached_tokens") or 0, "cache_write_tokens": 0},
		"output_tokens": received,
		"output_tokens_details": {"reasoning_tokens": 0},
		"total_tokens": sent + received,
	}
