"""A run's result as the result of a tool call."""

import json
from typing import Any

import frappe
from frappe.utils import get_url
from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from huf.ai.core.types import CallStatus, RunResult, RunStatus

WAITS = "A person has to approve this first: {url}"


def describe_answer(result: RunResult) -> CallToolResult:
	"""The answer of an agent. A run that a guard stopped has a part of one, and is no error."""
	described = {
		"answer": result.response,
		"status": result.status.value,
		"conversation": result.conversation,
		"run": result.run,
		"error": result.error,
		"approval": describe_approval(result),
	}
	lines = [result.response, result.error, find_waiting_line(result)]
	return CallToolResult(
		content=[TextContent(text="\n\n".join(filter(None, lines)))],
		structured_content=described,
		is_error=result.status is RunStatus.FAILED,
	)


def describe_tool_result(result: RunResult) -> CallToolResult:
	"""The result of the run's one tool call. A result with `content` as MCP has it is passed on as it is."""
	row = frappe.db.get_value(
		"Agent Tool Call", {"run": result.run}, ["status", "result"], order_by="step asc", as_dict=True
	)
	if row is None:
		texts = [find_waiting_line(result) or result.error or result.response]
		approval = describe_approval(result)
		return CallToolResult(
			content=[TextContent(text=texts[0])], structured_content=approval, is_error=approval is None
		)
	is_error = row.status != CallStatus.SUCCESS.value
	value = parse(row.result)
	if isinstance(value, dict) and isinstance(value.get("content"), list):
		try:
			return CallToolResult.model_validate({**value, "isError": is_error})
		except ValidationError:
			pass  # a document with a field of that name
	structured = value if isinstance(value, dict) else {"result": value}
	return CallToolResult(
		content=[TextContent(text=row.result or "")], structured_content=structured, is_error=is_error
	)


def parse(text: str) -> Any:
	try:
		return json.loads(text)
	except ValueError:
		return text


def describe_approval(result: RunResult) -> dict | None:
	"""What a waiting run waits for, with the page where it can be answered."""
	if result.draft is None:
		return None
	described = {key: result.draft.get(key) for key in ("draft", "tool", "arguments", "difference", "digest")}
	return json.loads(json.dumps({**described, "url": draft_url(result)}, default=str))


def find_waiting_line(result: RunResult) -> str | None:
	return WAITS.format(url=draft_url(result)) if result.draft else None


def draft_url(result: RunResult) -> str:
	return get_url(f"/huf/runs/{result.run}")
