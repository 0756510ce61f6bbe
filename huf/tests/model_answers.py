"""Answers of a scripted model: builders for tests, and the formats of the OpenAI API.

Pure data: nothing here opens a socket or waits. `model_server` does both.
"""

from __future__ import annotations

import base64
import email.parser
import email.policy
import json
import math
import re
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

MODEL = "scripted"
VECTOR_SIZE = 16  # numbers in one embedding


def usage(prompt: int, completion: int, cached: int | None = None) -> dict:
	"""Token counts in OpenAI's format; `cached` is the part of `prompt` that was read from the cache, None:
	the server does not say.
	"""
	counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
	return counts | ({} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}})


DEFAULT_USAGE = usage(100, 10)


@dataclass(frozen=True)
class Answer:
	"""One answer. `raw` replaces the whole body; `usage=None` leaves the counts out."""

	message: dict | None = None
	finish_reason: str = "stop"
	usage: dict | None = field(default_factory=lambda: DEFAULT_USAGE)
	chunk_size: int = 12  # characters in one streamed piece
	status: int = 200
	headers: dict = field(default_factory=dict)
	raw: bytes | None = None
	delay: float = 0  # seconds before the first byte
	pace: float = 0  # seconds between two streamed chunks
	gate: Gate | None = None
	gate_after: int = 0  # chunks of a stream sent before the gate
	cut_after: int | None = None  # chunks sent before the connection is cut
	stall_after: int | None = None  # chunks sent before it stops sending


class Gate:
	"""Holds one answer back, or its rest `after_chunks` of a stream: `reached` is set when it waits, `open()`
	releases it.
	"""

	def __init__(self) -> None:
		self.reached = threading.Event()
		self.opened = threading.Event()

	def open(self) -> None:
		self.opened.set()

	def __call__(self, answer: Answer, after_chunks: int = 0) -> Answer:
		return replace(answer, gate=self, gate_after=after_chunks)


Scripted = Answer | Callable[[dict], Answer]


def text(content: str, reasoning: str = "", **how: Any) -> Answer:
	"""A final answer. `how` takes Answer's fields: usage, finish_reason, chunk_size ..."""
	thought = {"reasoning_content": reasoning} if reasoning else {}
	return Answer({"role": "assistant", "content": content, **thought}, **how)


def call(name: str, args: dict | str | None = None, id: str | None = None, as_object: bool = False) -> dict:
	"""One call for `tool_calls`. Arguments given as str are sent raw (broken JSON); `as_object` sends an
	object instead of a JSON string, as some servers do. Calls without an id are numbered: call_1 ..."""
	arguments = args if isinstance(args, str) or as_object else json.dumps(args or {})
	return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_calls(calls: list[dict], content: str | None = None, **how: Any) -> Answer:
	"""Several calls in one answer, with text if `content` is given."""
	message = {"role": "assistant", "content": content, "tool_calls": calls}
	return Answer(message, **{"finish_reason": "tool_calls"} | how)


def tool_call(
	name: str,
	args: dict | str | None = None,
	*,
	id: str | None = None,
	as_object: bool = False,
	reasoning: str = "",
	**how: Any,
) -> Answer:
	answer = tool_calls([call(name, args, id, as_object)], **how)
	return (
		replace(answer, message={**answer.message, "reasoning_content": reasoning}) if reasoning else answer
	)


def error(
	status: int,
	message: str = "scripted error",
	*,
	retry_after: float | None = None,
	code: str | None = None,
	body: dict | str | None = None,
) -> Answer:
	"""An error answer; `body` replaces OpenAI's error object, `retry_after` is in seconds."""
	if body is None:
		body = {"error": {"message": message, "type": "scripted_error", "param": None, "code": code}}
	headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
	raw = body if isinstance(body, str) else json.dumps(body)
	return Answer(status=status, headers=headers, raw=raw.encode())


def garbage(body: str = "<html>not what you asked for</html>", content_type: str = "text/html") -> Answer:
	return Answer(raw=body.encode(), headers={"Content-Type": content_type})


def no_choices() -> Answer:
	"""A well-formed completion whose list of choices is empty."""
	return Answer(message=None)


def slow(seconds: float, answer: Answer) -> Answer:
	"""Waits before the first byte, at most until the server closes."""
	return replace(answer, delay=seconds)


def cut(answer: Answer, after_chunks: int = 1) -> Answer:
	"""Cuts the connection after N chunks of a stream, or halfway through a plain body (0: before it)."""
	return replace(answer, cut_after=after_chunks)


def stall(answer: Answer, after_chunks: int = 1) -> Answer:
	"""Stops sending mid-answer and keeps the connection open until the server closes."""
	return replace(answer, stall_after=after_chunks)


def numbered(answer: Answer, ids: Iterator[int]) -> Answer:
	"""The answer with an id on each call, numbered when sent, so that a repeated answer has new ids."""
	calls = (answer.message or {}).get("tool_calls")
	if not calls:
		return answer
	numbered = [one | {"id": one["id"] or f"call_{next(ids)}"} for one in calls]
	return replace(answer, message=answer.message | {"tool_calls": numbered})


def completion(answer: Answer, request: dict, id: str) -> dict:
	choice = {"index": 0, "message": answer.message, "finish_reason": answer.finish_reason}
	body = _head(request, id, "chat.completion") | {"choices": [choice] if answer.message else []}
	return body | ({"usage": answer.usage} if answer.usage else {})


def chunks(answer: Answer, request: dict, id: str) -> Iterator[dict]:
	head = _head(request, id, "chat.completion.chunk")
	for delta in _deltas(answer) if answer.message else ():
		yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
	if answer.message:
		yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish_reason}]}
	if answer.usage and (request.get("stream_options") or {}).get("include_usage"):
		yield head | {"choices": [], "usage": answer.usage}


def _deltas(answer: Answer) -> Iterator[dict]:
	yield {"role": "assistant", "content": ""}
	for piece in _pieces(answer.message.get("reasoning_content") or "", answer.chunk_size):
		yield {"reasoning_content": piece}
	for piece in _pieces(answer.message.get("content") or "", answer.chunk_size):
		yield {"content": piece}
	for index, one in enumerate(answer.message.get("tool_calls") or ()):
		arguments = one["function"]["arguments"]
		is_object = not isinstance(arguments, str)
		started = one["function"] | {"arguments": arguments if is_object else ""}
		yield {"tool_calls": [one | {"index": index, "function": started}]}
		for piece in () if is_object else _pieces(arguments, answer.chunk_size):
			yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(content: str, size: int) -> Iterator[str]:
	return (content[start : start + size] for start in range(0, len(content), size))


def _head(request: dict, id: str, kind: str) -> dict:
	return {"id": id, "object": kind, "created": 1, "model": request.get("model", MODEL)}


def embeddings(request: dict) -> dict:
	texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
	vectors = [_vector(str(one)) for one in texts]
	if request.get("encoding_format") == "base64":
		vectors = [base64.b64encode(struct.pack(f"<{VECTOR_SIZE}f", *one)).decode() for one in vectors]
	data = [{"object": "embedding", "index": index, "embedding": one} for index, one in enumerate(vectors)]
	return {"object": "list", "data": data, "model": request.get("model"), "usage": usage(len(texts), 0)}


def _vector(words: str) -> list[float]:
	"""A unit vector of word counts, so that texts with shared words are close to each other."""
	counts = [0.0] * VECTOR_SIZE
	for word in re.findall(r"\w+", words.lower()):
		counts[zlib.crc32(word.encode()) % VECTOR_SIZE] += 1
	length = math.sqrt(sum(count * count for count in counts)) or 1
	return [count / length for count in counts]


def parse_body(content_type: str, body: bytes) -> dict:
	"""A request's body: JSON, or a form whose files come as {"filename", "content"}."""
	if not content_type.startswith("multipart/"):
		return json.loads(body or b"{}")
	head = f"Content-Type: {content_type}\r\n\r\n".encode()
	form = {}
	for part in email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body).iter_parts():
		content = part.get_payload(decode=True)
		filename = part.get_filename()
		value = {"filename": filename, "content": content} if filename else content.decode().strip()
		form[part.get_param("name", header="content-disposition")] = value
	return form
