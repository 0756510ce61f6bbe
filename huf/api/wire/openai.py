"""Encoding of OpenAI's chat completions: reads messages, writes completions, chunks and models."""

import json
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.types import RunResult, RunStatus, StopReason
from huf.ai.storage.drafts import notice_below, waiting_notice
from huf.api.wire.emitted_text import EmittedText
from huf.api.wire.json_body import BadRequest
from huf.api.wire.openai_errors import AFTER_RUN, error_body, failure_status

IMAGE = "image_url"
OMITTED_IMAGE = "[An image that is no longer shown]"
ONLY_TEXT_AND_IMAGES = (
	"The content of a message must be text, or images (GIF, JPEG, PNG or WebP) as data URLs (image_url)."
)
NOT_ENDED = "The run is queued behind another one of its conversation, or held by a stop. It is not lost."
ENDS = (EventKind.RUN_FINISHED, EventKind.RUN_WAITING)


def encode_model(name: str, created: datetime) -> dict:
	"""A model object of OpenAI's API."""
	return {"id": name, "object": "model", "created": int(created.timestamp()), "owned_by": "huf"}


# --- messages of a request ---


def read_earlier_message(message: dict) -> dict | None:
	"""An earlier message as {role, content}; None if it has no text or another role.

	A caller's system message counts as a user message: only the agent's own instructions are system messages.
	"""
	text = read_message_text(message) if message.get("content") else str(message.get("refusal") or "")
	if not text or message.get("role") not in ("user", "system", "developer", "assistant"):
		return None
	return {"role": "assistant" if message["role"] == "assistant" else "user", "content": text}


def read_message_text(message: dict, image_text: str = OMITTED_IMAGE) -> str:
	"""The text of a message, with `image_text` in place of each image."""
	texts = [
		image_text if part["type"] == IMAGE else str(part.get(part["type"]) or "")
		for part in read_content_parts(message)
	]
	return "\n".join(filter(None, texts))


def read_image_urls(message: dict) -> list:
	"""The URLs of a message's images, unchecked."""
	images = [part.get(IMAGE) for part in read_content_parts(message) if part["type"] == IMAGE]
	return [image.get("url") if isinstance(image, dict) else image for image in images]


def read_content_parts(message: dict) -> list[dict]:
	"""The content as a list of parts: texts, refusals (of earlier answers) and images. Raises BadRequest."""
	content = message.get("content")
	parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
	if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
		raise BadRequest(ONLY_TEXT_AND_IMAGES)
	if any(part.get("type") not in ("text", "refusal", IMAGE) for part in parts):
		raise BadRequest(ONLY_TEXT_AND_IMAGES)
	return parts


# --- completions ---


def find_failure(result: dict) -> str | None:
	"""The error of a run (`RunResult.as_dict`) without an answer; None if it has one."""
	failed = result["status"] in (RunStatus.FAILED.value, RunStatus.CANCELLED.value)
	stopped_empty = result["status"] == RunStatus.STOPPED.value and not result["response"]
	if not (failed or stopped_empty):
		return None
	return result["error"] or f"The run ended without an answer ({result['stop_reason']})."


def read_end(events: Iterable[RunEvent | None]) -> dict | None:
	"""The fields of a run that has ended or waits, with the text `notice` of what it waits for; None if the
	events do not say.
	"""
	last, notice = None, ""
	for event in filter(None, events):
		last = event
		if event.kind is EventKind.DRAFT_CREATED:
			notice = waiting_notice(event.data["tool"], event.run)
	if last is None or last.kind not in ENDS:
		return None
	is_waiting = last.kind is EventKind.RUN_WAITING
	waiting = (notice or notice_below(last.run)) if is_waiting else ""
	return None if is_waiting and not waiting else {**last.data, "run": last.run, "notice": waiting}


def read_run_result(result: RunResult) -> dict | None:
	"""Like `read_end`; None for a run that a stop holds, or that waits for another one and for nobody."""
	if result.status is RunStatus.QUEUED or (result.status is RunStatus.WAITING and not result.draft):
		return None
	fields, draft = result.as_dict(), result.draft
	return {**fields, "notice": waiting_notice(draft["tool"], draft["run"]) if draft else ""}


def encode_completion(fields: dict, agent: str) -> dict:
	"""A `chat.completion` object from `read_end` or `read_run_result`, with `metadata` for the run and the
	conversation.
	"""
	content = "\n\n".join(filter(None, (fields["response"], fields["notice"])))
	message = {"role": "assistant", "content": content, "refusal": None}
	choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(fields)}
	return {
		**encode_chunk_header("chat.completion", fields["run"], agent),
		"choices": [choice],
		"usage": encode_usage(fields),
		"metadata": {"run": fields["run"], "conversation": fields["conversation"]},
		**encode_route(fields),
	}


def encode_chunks(events: Iterator[RunEvent | None], agent: str, with_usage: bool) -> Iterator[str | None]:
	"""The data of each server-sent event; None while there is nothing to send."""
	emitted, waiting, is_ended = EmittedText(), "", False
	header: dict[str, Any] = {}
	for event in events:
		if event is None:
			yield None
			continue
		is_ended = event.kind in ENDS
		if not header:
			header = encode_chunk_header("chat.completion.chunk", event.run, agent)
			if with_usage:
				header["usage"] = None
			yield encode_chunk(header, {"role": "assistant", "content": ""})
		if event.kind is EventKind.DRAFT_CREATED:
			waiting = waiting_notice(event.data["tool"], event.run)
		text = emitted.add_event(event)
		if event.kind is EventKind.RUN_WAITING:
			waiting = waiting or notice_below(event.run)
			text += ("\n\n" if emitted.text else "") + waiting
			is_ended = bool(waiting)
		if text:
			yield encode_chunk(header, {"content": text})
		if is_ended:
			if error := find_failure(event.data):
				status, code = failure_status(event.data["stop_reason"])
				yield json.dumps(error_body(status, error, code))
				break
			yield encode_chunk({**header, **encode_route(event.data)}, {}, finish_reason(event.data))
			if with_usage:
				yield json.dumps({**header, "choices": [], "usage": encode_usage(event.data)})
	if not is_ended:
		yield json.dumps(error_body(AFTER_RUN, NOT_ENDED, "not_ended"))
	yield "[DONE]"


def encode_chunk_header(kind: str, run: str, agent: str) -> dict:
	return {"id": f"chatcmpl-{run}", "object": kind, "created": int(time.time()), "model": agent}


def encode_route(result: dict) -> dict:
	"""The router's decision, an extension of OpenAI's format."""
	return {"route": result["route"]} if result.get("route") else {}


def encode_chunk(header: dict, delta: dict, reason: str | None = None) -> str:
	choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
	return json.dumps({**header, "choices": [choice]}, ensure_ascii=False)


def finish_reason(result: dict) -> str:
	"""OpenAI has no reason for limits other than length, so every limit that ended a run is "length"."""
	return "stop" if result["stop_reason"] in (None, StopReason.FINAL_ANSWER.value) else "length"


def encode_usage(result: dict) -> dict:
	sent, received = result["input_tokens"] or 0, result["output_tokens"] or 0
	return {
		"prompt_tokens": sent,
		"prompt_tokens_details": {"cached_tokens": result.get("cached_tokens") or 0},
		"completion_tokens": received,
		"total_tokens": sent + received,
	}
