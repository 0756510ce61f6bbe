"""Sample messages and responses for checking the direct path: every shape that a run sends, in each wire
format.
"""

import json
from collections.abc import Callable
from typing import Any

PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
MESSAGES = [
	{"role": "system", "content": "Be brief, naïve one."},
	{"role": "user", "content": "Ping?"},
	{
		"role": "assistant",
		"content": None,
		"tool_calls": [
			{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}'}}
		],
	},
	{"role": "tool", "tool_call_id": "call_1", "content": '{"found": "1"}'},
	{"role": "assistant", "content": "Found."},
	{
		"role": "user",
		"content": [
			{"type": "text", "text": "And this?"},
			{"type": "image_url", "image_url": {"url": PICTURE}},
		],
	},
]
TOOLS = [
	{
		"type": "function",
		"function": {
			"name": "look",
			"description": "Looks for n things.",
			"parameters": {
				"type": "object",
				"properties": {
					"n": {"type": "integer", "description": "How many"},
					"kinds": {
						"type": "array",
						"items": {"type": "string", "enum": ["a", "b"]},
						"maxItems": 3,
					},
					"at": {"$ref": "#/$defs/At", "default": None, "examples": [{"x": 1}]},
					"by": {"anyOf": [{"type": "string", "format": "date"}, {"const": "now"}]},
				},
				"required": ["n"],
				"additionalProperties": False,
				"title": "Look",
				"$defs": {"At": {"type": "object", "properties": {"x": {"type": "number", "minimum": 0}}}},
			},
		},
	}
]
HEAD = {"id": "1", "created": 1, "model": "sample", "service_tier": "default"}
USAGE = {
	"prompt_tokens": 30,
	"completion_tokens": 5,
	"total_tokens": 35,
	"prompt_tokens_details": {"cached_tokens": 10},
}


def openai_whole(with_calls: bool) -> dict:
	call = {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": '{"n": 2}'}}
	message = {"role": "assistant", "content": "Pong — naïve"} | (
		{"tool_calls": [call]} if with_calls else {}
	)
	reason = "tool_calls" if with_calls else "stop"
	choice = {"index": 0, "message": message, "finish_reason": reason}
	return {**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}


def openai_stream(with_calls: bool) -> list[str]:
	parts: list[dict] = [{"role": "assistant", "content": ""}, {"content": "Pong —"}, {"content": " naïve"}]
	if with_calls:
		begun = {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": ""}}
		parts.append({"tool_calls": [{"index": 0, **begun}]})
		parts += [
			{"tool_calls": [{"index": 0, "function": {"arguments": each}}]} for each in ('{"n"', ": 2}")
		]
	reasons = [None] * len(parts) + ["tool_calls" if with_calls else "stop"]
	head = {**HEAD, "object": "chat.completion.chunk"}
	chunks = [
		{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
		for delta, reason in zip([*parts, {}], reasons, strict=True)
	]
	chunks.append({**head, "choices": [], "usage": USAGE})
	return [*(f"data: {json.dumps(chunk)}" for chunk in chunks), "data: [DONE]"]


def anthropic_whole(with_calls: bool) -> dict:
	call = {"type": "tool_use", "id": "call_2", "name": "look", "input": {"n": 2}}
	return {
		"id": "1",
		"type": "message",
		"role": "assistant",
		"model": "sample",
		"content": [{"type": "text", "text": "Pong — naïve"}, *([call] if with_calls else [])],
		"stop_reason": "tool_use" if with_calls else "end_turn",
		"stop_sequence": None,
		"usage": {"input_tokens": 20, "cache_read_input_tokens": 10, "output_tokens": 5},
	}


def anthropic_stream(with_calls: bool) -> list[str]:
	begun = {**anthropic_whole(False), "content": [], "stop_reason": None}
	block, delta, stop = "content_block_start", "content_block_delta", "content_block_stop"
	events: list[dict[str, Any]] = [
		{"type": "message_start", "message": begun},
		{"type": block, "index": 0, "content_block": {"type": "text", "text": ""}},
		{"type": delta, "index": 0, "delta": {"type": "text_delta", "text": "Pong —"}},
		{"type": delta, "index": 0, "delta": {"type": "text_delta", "text": " naïve"}},
		{"type": stop, "index": 0},
	]
	if with_calls:
		call = {"type": "tool_use", "id": "call_2", "name": "look", "input": {}}
		events += [
			{"type": block, "index": 1, "content_block": call},
			{"type": delta, "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"n": 2}'}},
			{"type": stop, "index": 1},
		]
	reason = anthropic_whole(with_calls)["stop_reason"]
	events += [
		{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}},
		{"type": "message_stop"},
	]
	return [
		line for event in events for line in (f"event: {event['type']}", f"data: {json.dumps(event)}", "")
	]


ResponseSamples = tuple[Callable[[bool], dict], Callable[[bool], list[str]]]
"""(complete response, streamed response): functions of whether the response has tool calls."""
OPENAI: ResponseSamples = (openai_whole, openai_stream)
ANTHROPIC: ResponseSamples = (anthropic_whole, anthropic_stream)
