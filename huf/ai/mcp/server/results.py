"""Builds MCP tool results from runs: the agent's answer, or the result of the one tool."""

import frappe
from mcp_types import Annotations, CallToolResult, TextContent
from pydantic import ValidationError

from huf.ai.chat.run_states import RunState, describe_approval
from huf.ai.core.json_text import read_json_or_text
from huf.ai.core.refusals import read_refusal
from huf.ai.core.types import DIRECT, CallStatus, RunStatus
from huf.ai.mcp.server.output_schemas import SHAPES, find_tool_type, structure_result
from huf.ai.storage import route_decisions

PASSED_ON = {"content", "structuredContent", "isError", "resultType", "_meta"}
"""Fields of a result in MCP's format. One with other fields would lose them."""


def describe_result(state: RunState) -> CallToolResult:
	"""The result of the tool call for which the run was started."""
	return describe_tool_result(state) if state.row.model == DIRECT else describe_answer(state)


def build_refusal(error: Exception) -> CallToolResult:
	"""The result of a call that was refused. Rolls back."""
	frappe.db.rollback()
	return CallToolResult(content=[TextContent(text=read_refusal(error))], is_error=True)


def describe_answer(state: RunState) -> CallToolResult:
	"""The answer of an agent. A run stopped by a guard has a partial answer and is not an error."""
	row = state.row
	lines = [row.response, row.error_message, state.notice]
	# Many clients pass only the text to their model.
	continuation = TextContent(
		text=f"Conversation: {row.conversation}", annotations=Annotations(audience=["assistant"])
	)
	return CallToolResult(
		content=[TextContent(text="\n\n".join(filter(None, lines))), continuation],
		structured_content={
			"answer": row.response or "",
			"status": row.status,
			"conversation": row.conversation,
			"run": state.run,
			"error": row.error_message,
			"approval": describe_approval(state),
			"route": route_decisions.read_decisions([state.run]).get(state.run),
		},
		is_error=state.status is RunStatus.FAILED,
	)


def describe_tool_result(state: RunState) -> CallToolResult:
	"""The result of the run's one tool call. A result with `content` in MCP's format is passed on
	unchanged.
	"""
	call = frappe.db.get_value(
		"Agent Tool Call", {"run": state.run}, ["tool", "status", "result"], order_by="step asc", as_dict=True
	)
	if call is None or state.notice:
		text = state.notice or state.row.error_message or "The tool was not called."
		structured = describe_approval(state) or {"result": text}
		return CallToolResult(
			content=[TextContent(text=text)], structured_content=structured, is_error=not state.notice
		)
	is_error = call.status != CallStatus.SUCCESS.value
	value, types = read_json_or_text(call.result), find_tool_type(call.tool)
	if types not in SHAPES and is_passed_on(value):
		try:
			return CallToolResult.model_validate({**value, "isError": is_error})
		except ValidationError:
			pass  # not MCP's: a document with a field of that name
	structured = structure_result(types, value, call.result or "")
	return CallToolResult(
		content=[TextContent(text=call.result or "")], structured_content=structured, is_error=is_error
	)


def is_passed_on(value: object) -> bool:
	"""Whether a result seems to be in MCP's format."""
	return isinstance(value, dict) and value.keys() <= PASSED_ON and isinstance(value.get("content"), list)
