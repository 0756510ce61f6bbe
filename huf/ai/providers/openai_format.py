"""Writes requests and reads responses in OpenAI's format, as far as they have the usual form.

Pure. Functions return None for any other form, which is left to LiteLLM's translation.
"""

import json
from types import SimpleNamespace
from typing import Any

MESSAGE_FIELDS = {"role", "content", "tool_calls", "tool_call_id"}
CALL_FIELDS = {"id", "type", "function", "index"}
FUNCTION_FIELDS = {"name", "description", "parameters"}
ROOT_KEYWORDS = {"type", "properties", "required", "additionalProperties", "title", "description", "$defs"}
"""Keywords allowed at the root of a tool's parameters. LiteLLM rewrites others for providers that refuse
them.
"""
SCHEMA_KEYWORDS = ROOT_KEYWORDS | {
	*("items", "enum", "const", "default", "format", "examples", "anyOf", "$ref"),
	*("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
}
UNSENT_NAME = "cache_control"
"""LiteLLM removes this key for some providers, at any depth."""
FINISH_REASONS = {"stop", "length", "tool_calls", "content_filter"}
RARE_OUTPUT = (
	"thinking_blocks",
	"reasoning_items",
	"images",
	"audio",
	"function_call",
	"provider_specific_fields",
)
WRONG_SHAPE = (ValueError, TypeError, KeyError, AttributeError)
STREAM_NOISE = (":", "event:", "id:", "retry:")
NO_CHUNK = SimpleNamespace(choices=(), usage=None)


def write_messages(messages: list[dict]) -> list[dict] | None:
	"""Messages in the form that is sent: without empty fields."""
	written = [{name: value for name, value in each.items() if value is not None} for each in messages]
	return written if all(map(is_usual_message, written)) else None


def is_usual_message(message: dict) -> bool:
	content, role = message.get("content", ""), message.get("role")
	if not MESSAGE_FIELDS.issuperset(message) or role not in ("system", "user", "assistant", "tool"):
		return False
	if isinstance(content, list):
		return role == "user" and all(map(is_usual_part, content))
	return isinstance(content, str) and all(map(is_usual_call, message.get("tool_calls", ())))


def is_usual_part(part: dict) -> bool:
	if part.get("type") == "text":
		return part.keys() == {"type", "text"} and isinstance(part["text"], str)
	image = part.get("image_url")
	return part.keys() == {"type", "image_url"} and isinstance(image, dict) and image.keys() == {"url"}


def is_usual_call(call: dict) -> bool:
	function = call.get("function")
	return (
		CALL_FIELDS.issuperset(call)
		and call.get("type") in (None, "function")
		and isinstance(call.get("id"), str | None)
		and isinstance(call.get("index"), int | None)
		and isinstance(function, dict)
		and function.keys() <= {"name", "arguments"}
		and all(isinstance(value, str | None) for value in function.values())
		and function.get("name") != "multi_tool_use.parallel"
	)


def has_usual_tools(tools: list[dict]) -> bool:
	return all(
		tool.keys() == {"type", "function"}
		and FUNCTION_FIELDS.issuperset(tool["function"])
		and ROOT_KEYWORDS.issuperset(tool["function"].get("parameters", ()))
		and is_usual_schema(tool["function"].get("parameters", {}))
		for tool in tools
	)


def is_usual_schema(schema: Any) -> bool:
	if not isinstance(schema, dict):
		return isinstance(schema, bool)
	properties = schema.get("properties", {})
	inner = [*properties.values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
	inner += [schema[name] for name in ("items", "additionalProperties") if name in schema]
	return (
		SCHEMA_KEYWORDS.issuperset(schema)
		and UNSENT_NAME not in properties
		and all(map(is_usual_schema, inner))
	)


def read_response(content: bytes) -> SimpleNamespace | None:
	"""A complete response in the form that AnswerBuilder reads."""
	try:
		return read_whole(json.loads(content))
	except WRONG_SHAPE:
		return None


def read_whole(body: Any) -> SimpleNamespace | None:
	(choice,) = body["choices"]
	message, finish, usage = choice["message"], choice["finish_reason"], read_usage(body.get("usage"))
	if body.get("error") is not None or message["role"] != "assistant" or finish not in FINISH_REASONS:
		return None
	reasons, text = "reasoning_content" in message or "reasoning" in message, message.get("content")
	read = read_output(message, message.get("reasoning_content", message.get("reasoning")))
	if read is None or any(not isinstance(each.id, str) for each in read.tool_calls):
		return None
	if not reasons and (text or "").startswith("<"):
		# May be reasoning between tags.
		return None
	finish = "tool_calls" if read.tool_calls and finish == "stop" else finish
	return SimpleNamespace(choices=[SimpleNamespace(message=read, finish_reason=finish)], usage=usage)


def read_chunk(line: str) -> SimpleNamespace | None:
	"""The chunk of a stream's line, in the form that AnswerBuilder reads; NO_CHUNK if the line has none."""
	if line.rstrip() == "data: [DONE]" or line.startswith(STREAM_NOISE) or not line.strip():
		return NO_CHUNK
	if not line.startswith("data:") or "[DONE]" in line:
		return None
	try:
		return read_part(json.loads(line[len("data:") :]))
	except WRONG_SHAPE:
		return None


def read_part(body: Any) -> SimpleNamespace | None:
	if body.get("error") or not has_usual_head(body):
		return None
	choices, usage = body.get("choices", []), read_usage(body.get("usage"))
	read = [choice for each in choices if (choice := read_choice(each))]
	if not isinstance(choices, list) or len(read) != len(choices) or len(read) > 1:
		return None
	return SimpleNamespace(choices=read, usage=usage)


def read_choice(choice: dict) -> SimpleNamespace | None:
	delta, finish = choice.get("delta"), choice.get("finish_reason")
	if not isinstance(delta, dict) or (finish and finish not in FINISH_REASONS) or choice.get("logprobs"):
		return None
	read = read_output(delta, delta["reasoning"] if "reasoning" in delta else delta.get("reasoning_content"))
	return read and SimpleNamespace(delta=read, finish_reason=finish or None)


def read_output(output: dict, reasoning: Any) -> SimpleNamespace | None:
	"""Read a message or a delta."""
	content, refusal, calls = output.get("content"), output.get("refusal"), output.get("tool_calls") or ()
	without_index = {isinstance(each, dict) and each.get("index") is None for each in calls}
	is_usual = (
		all(isinstance(each, str | None) for each in (content, refusal, reasoning))
		and all(output.get(name) is None for name in RARE_OUTPUT)
		and len(without_index) <= 1
		and all(isinstance(each, dict) and is_usual_call(each) for each in calls)
	)
	if not is_usual:
		return None
	return SimpleNamespace(
		content=content,
		refusal=refusal,
		reasoning_content=reasoning,
		tool_calls=[read_call(*each) for each in enumerate(calls)],
	)


def read_call(place: int, call: dict) -> SimpleNamespace:
	function = SimpleNamespace(name=call["function"].get("name"), arguments=call["function"].get("arguments"))
	index = call.get("index")
	return SimpleNamespace(index=place if index is None else index, id=call.get("id"), function=function)


def has_usual_head(body: dict) -> bool:
	return (
		isinstance(body.get("id"), str | None)
		and isinstance(body.get("created"), int | None)
		and isinstance(body.get("model"), str | None)
	)


def read_usage(usage: dict | None) -> SimpleNamespace | None:
	"""The usage that a response reports, or None. Raises ValueError for an unusual form."""
	if usage is None:
		return None
	details = [usage.get(name) or {} for name in ("prompt_tokens_details", "completion_tokens_details")]
	tokens = [usage["prompt_tokens"], usage["completion_tokens"]]
	counts = [count for each in details for count in each.values() if count is not None]
	if not all(type(count) is int for count in (*tokens, *counts)) or any("cache" in name for name in usage):
		# Some providers report cached tokens in other fields.
		raise ValueError("A rare form of usage.")
	cached = SimpleNamespace(cached_tokens=details[0].get("cached_tokens"))
	return SimpleNamespace(prompt_tokens=tokens[0], completion_tokens=tokens[1], prompt_tokens_details=cached)
