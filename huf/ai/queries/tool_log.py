"""The tool calls of a run as a log for external readers. Read-only; permissions are checked by the caller."""

from typing import Any

import frappe

from huf.ai.core.json_text import parse_result

FIELDS = ["tool", "arguments", "result", "status", "step"]


def read_tool_log(run: str) -> list[dict[str, Any]]:
	"""[{tool, arguments, result, iteration}] in the order of the calls.

	The result of a failed call is {"error": message}; arguments that cannot be parsed are {}.
	"""
	rows = frappe.get_all("Agent Tool Call", {"run": run}, FIELDS, order_by="step asc, position asc")
	return [build_log_entry(row) for row in rows]


def build_log_entry(row) -> dict[str, Any]:
	"""{tool, arguments, result, iteration}. The result of a failed call has `error`."""
	arguments, result = parse_result(row.arguments), parse_result(row.result)
	if row.status != "Success" and not (isinstance(result, dict) and "error" in result):
		result = {"error": result or row.status}
	return {
		"tool": row.tool,
		"arguments": arguments if isinstance(arguments, dict) else {},
		"result": result,
		"iteration": row.step,
	}
