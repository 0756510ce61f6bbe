"""The tool calls of a run as one list, in the form that others read: tool, arguments, result, iteration. Only reads."""

import json
from typing import Any

import frappe

FIELDS = ["tool", "arguments", "result", "status", "step"]


def tool_calls_log(run: str) -> list[dict[str, Any]]:
	"""[{tool, arguments, result, iteration}] in the order of the calls.

	A call that failed has {"error": message} as its result; arguments that could not be read are {}.
	"""
	rows = frappe.get_all("Agent Tool Call", {"run": run}, FIELDS, order_by="step asc, position asc")
	return [as_entry(row) for row in rows]


def as_entry(row) -> dict[str, Any]:
	arguments, result = read_json(row.arguments), read_json(row.result)
	return {
		"tool": row.tool,
		"arguments": arguments if isinstance(arguments, dict) else {},
		"result": result if row.status == "Success" else {"error": row.result or row.status},
		"iteration": row.step,
	}


def read_json(text: str | None) -> Any:
	try:
		return json.loads(text or "null")
	except ValueError:
		return text
