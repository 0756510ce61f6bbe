"""Converts tool results of MCP servers for the model."""

from typing import Any

from huf.ai.core.errors import ToolError
from huf.ai.mcp.client.definitions import strip_invisible, strip_invisible_json

MAX_ERROR_CHARS = 4_000


def read_call_result(result: Any) -> dict:
	"""{text, structured, left_out} of a CallToolResult, without empty keys. Raises ToolError for an error.

	The nesting keeps a server's data from passing as a record of this site that answers cite
	(`tools/sources.py`).
	"""
	texts = [each.text for each in result.content if each.type == "text"]
	text = strip_invisible("\n".join(texts))
	if result.is_error:
		raise ToolError(text[:MAX_ERROR_CHARS] or "The server reports an error without saying more.")
	left_out = [describe_block(each) for each in result.content if each.type != "text"]
	structured = strip_invisible_json(result.structured_content)
	found = {"text": text, "structured": structured, "left_out": left_out}
	if structured is not None and len(texts) == 1:
		# Servers repeat structured content as text for older clients.
		del found["text"]
	return {key: value for key, value in found.items() if value not in ("", None, [])} or {"text": ""}


def describe_block(block: Any) -> str:
	"""Describe a content block that is not passed to the model."""
	resource = getattr(block, "resource", block)
	kind = getattr(resource, "mime_type", None) or ""
	address = str(getattr(resource, "uri", None) or "")
	return strip_invisible(" ".join(filter(None, (block.type, kind, address))))[:300]
