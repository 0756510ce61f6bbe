"""Converts the results of MCP servers' tools to what a model receives."""

from typing import Any

from huf.ai.core.errors import ToolError
from huf.ai.core.json_text import read_json_or_text
from huf.ai.tools.schema_cleaning import strip_invisible, strip_invisible_json

MAX_ERROR_CHARS = 4_000


def read_call_result(result: Any) -> dict:
	"""{text, structured, left_out} of a CallToolResult, without empty keys. Raises ToolError for an error.

	The nesting keeps a server's data from passing as a record of this site that answers cite
	(`tools/sources.py`).
	"""
	texts = [read_block_text(each) for each in result.content]
	text = strip_invisible("\n".join(filter(None, texts)))
	if result.is_error:
		raise ToolError(text[:MAX_ERROR_CHARS] or "The server reports an error without saying more.")
	left_out = [
		describe_block(each) for each, read in zip(result.content, texts, strict=True) if read is None
	]
	structured = strip_invisible_json(result.structured_content)
	found = {"text": text, "structured": structured, "left_out": left_out}
	if structured is not None and is_part_of(structured, text):
		# Servers repeat structured content, or a value in it, as text for older clients.
		del found["text"]
	return {key: value for key, value in found.items() if value not in ("", None, [])} or {"text": ""}


def read_block_text(block: Any) -> str | None:
	"""The text of a content block, below its address if it is an embedded resource; None for other kinds."""
	if block.type == "text":
		return block.text
	text = getattr(getattr(block, "resource", None), "text", None)
	return None if text is None else f"{block.resource.uri}:\n{text}"


def is_part_of(structured: Any, text: str) -> bool:
	"""Whether the text is structured content, which may be any JSON, or one of its values."""
	parts = [structured, *(structured.values() if isinstance(structured, dict) else ())]
	return text in parts or read_json_or_text(text) in parts


def describe_block(block: Any) -> str:
	"""Describe a content block that is not passed to the model."""
	resource = getattr(block, "resource", block)
	kind = getattr(resource, "mime_type", None) or ""
	address = str(getattr(resource, "uri", None) or "")
	return strip_invisible(" ".join(filter(None, (block.type, kind, address))))[:300]
