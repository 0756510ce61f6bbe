"""Runs for the pages: lists, and the timeline of one run. Read-only, with the user's list permissions."""

import json
from collections.abc import Iterable

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.core.json_text import parse_result
from huf.ai.core.types import OFFLINE
from huf.ai.storage.recorded_run import SUMMARY_CALL_TYPE
from huf.ai.storage.retention import is_blanked
from huf.ai.storage.route_decisions import read_decisions
from huf.ai.storage.stops import describe_stop, read_stops
from huf.ai.tools.sources import read_sources
from huf.ai.tools.taint import find_origins

RUN_FIELDS = [
	"name",
	"agent",
	"status",
	"stop_reason",
	"provider",
	"model",
	"run_as",
	"conversation",
	"parent_run",
	"trigger",
	"mode",
	"tier",
	"prompt",
	"response",
	"error_message",
	"creation",
	"started_at",
	"ended_at",
	"duration_ms",
	"verdict",
	"verdict_note",
	"steps",
	"attempts",
	"lost_workers",
	"input_tokens",
	"output_tokens",
	"cached_tokens",
	"total_cost",
	"models",
	"masked",
	"unpriced_calls",
	"reference_doctype",
	"reference_name",
	"is_undo",
	"held_by",
	"claims",
	"unconfirmed_claims",
]
SEARCHED_FIELDS = ("name", "prompt", "response", "error_message")
LIST_FIELDS = [field for field in RUN_FIELDS if field not in ("response", "attempts", "claims")]
MODEL_CALL_FIELDS = [
	"name",
	"step",
	"status",
	"model",
	"started_at",
	"duration_ms",
	"input_tokens",
	"output_tokens",
	"cached_tokens",
	"cost",
	"cost_known",
	"response",
	"reasoning",
	"finish_reason",
	"corrected",
	"error_message",
]
TOOL_CALL_FIELDS = [
	"name",
	"step",
	"position",
	"tool",
	"effect",
	"status",
	"arguments",
	"result",
	"error_message",
	"started_at",
	"duration_ms",
	"call_id",
	"reason",
	"origin",
]


def list_runs(filters: dict | list, start: int = 0, limit: int = 50, text: str = "") -> list[dict]:
	"""Runs that the user may see, newest first; with `text`, those whose name, prompt, answer or error
	contains it. `%` and `_` in it are wildcards.
	"""
	rows = frappe.get_list(
		"Agent Run",
		filters=filters,
		or_filters=[[field, "like", f"%{text}%"] for field in SEARCHED_FIELDS] if text else None,
		fields=LIST_FIELDS,
		order_by="creation desc",
		limit_start=start,
		limit_page_length=limit,
	)
	return [describe_run_row(row) for row in rows]


def list_newest_runs(statuses: Iterable[str], limit: int) -> list[dict]:
	"""The newest runs with one of the statuses. A query each: the index is in order within a status."""
	rows = [row for status in statuses for row in list_runs({"status": status}, 0, limit)]
	return sorted(rows, key=lambda row: row["creation"], reverse=True)[:limit]


def describe_runs(names: list[str], is_checked: bool = False) -> dict[str, dict]:
	"""{name: run} of runs that the user may see; `is_checked`: the caller has checked that. A run that the
	router decided about has its decision as `route`.
	"""
	read = frappe.get_all if is_checked else frappe.get_list
	rows = read(
		"Agent Run",
		filters={"name": ["in", names]},
		fields=RUN_FIELDS,
		order_by="creation asc",
		limit_page_length=0,
	)
	decisions = read_decisions([row.name for row in rows])
	routes = {name: {"route": decision} for name, decision in decisions.items()}
	return {row.name: {**describe_run_row(row), **routes.get(row.name, {})} for row in rows}


def describe_run_row(row) -> dict:
	"""An Agent Run row with the keys of the event `run_finished` added."""
	return {
		**row,
		"run": row.name,
		"error": row.error_message,
		"models": json.loads(row.models or "[]"),
		"masked": json.loads(row.masked or "{}"),
		"total_cost": None if row.unpriced_calls else row.total_cost,
		"offline": row.model == OFFLINE,
		"claims": parse_result(row.get("claims")) or [],
		"held": describe_held(row.held_by),
	}


def describe_held(stop: str | None) -> str | None:
	"""Who stopped what and why, if the stop that held the run is still active."""
	active = read_stops() if stop else []
	return next((describe_stop(each) for each in active if each["name"] == stop), None)


def list_undos(run: str) -> list[str]:
	"""The undos that took back changes of a run."""
	undone = {"run": run, "undone_by": ["is", "set"]}
	names = frappe.get_all("Agent Change", undone, pluck="undone_by", order_by="creation asc")
	return list(dict.fromkeys(names))


def read_timeline(run: str) -> dict:
	"""{run, steps: [{step, model_calls, tool_calls}], children, undos, changes}. Raises PermissionError.

	`untrusted` of the run, and `origin` of a call: where untrusted content came from. `is_blanked`: its
	contents have been deleted.
	"""
	doc = get_permitted("Agent Run", run)
	model_calls = [
		describe_model_call(row) for row in read_call_rows("Agent LLM Call", run, MODEL_CALL_FIELDS)
	]
	tool_calls = [describe_tool_call(row) for row in read_call_rows("Agent Tool Call", run, TOOL_CALL_FIELDS)]
	steps = sorted({call["step"] for call in [*model_calls, *tool_calls]})
	children = frappe.get_list(
		"Agent Run", filters={"parent_run": run}, fields=["name", "agent", "status"], order_by="creation asc"
	)
	return {
		"run": {
			**describe_runs([run])[run],
			"untrusted": list(find_origins(run)),
			"is_blanked": is_blanked(doc),
		},
		"steps": [
			{
				"step": step,
				"model_calls": [call for call in model_calls if call["step"] == step],
				"tool_calls": [call for call in tool_calls if call["step"] == step],
			}
			for step in steps
		],
		"children": children,
		"undos": list_undos(run),
		"changes": frappe.db.count("Agent Change", {"run": run, "undone_by": ["is", "not set"]}),
	}


def list_tool_calls(runs: list[str]) -> list:
	"""Tool calls of runs in a conversation that the user may read; the caller checks that."""
	fields = ["run", "step", "call_id", "effect", "reason", "status", "duration_ms", "error_message"]
	filters = {"run": ["in", runs]}
	return frappe.get_all(
		"Agent Tool Call",
		filters=filters,
		fields=fields,
		order_by="step asc, position asc",
	)


def list_reasoning(runs: list[str]) -> list:
	"""The steps of runs in which the model gave its reasoning: [{run, step, reasoning}]; the caller checks
	that the user may read the conversation.
	"""
	return frappe.get_all(
		"Agent LLM Call",
		filters={
			"run": ["in", runs],
			"call_type": ["!=", SUMMARY_CALL_TYPE],
			"status": "Success",
			"reasoning": ["is", "set"],
		},
		fields=["run", "step", "reasoning"],
		order_by="creation asc",
	)


def read_tool_results(run: str) -> list[dict]:
	"""The results of a run's tool calls, in order: [{tool, arguments, result}]."""
	rows = read_call_rows("Agent Tool Call", run, ["tool", "arguments", "result", "step", "position"])
	rows.sort(key=lambda row: (row.step, row.position))
	return [
		{"tool": row.tool, "arguments": parse_result(row.arguments), "result": parse_result(row.result)}
		for row in rows
	]


def read_call_rows(doctype: str, run: str, fields: list[str]) -> list:
	"""Rows of a run's calls that the user may read, in order."""
	return frappe.get_list(
		doctype, filters={"run": run}, fields=fields, order_by="step asc, creation asc", limit_page_length=0
	)


def describe_model_call(row) -> dict:
	message = json.loads(row.pop("response") or "{}")
	return {
		**row,
		"text": message.get("content"),
		"cost": row.cost if row.cost_known else None,
		"error": row.error_message,
	}


def describe_tool_call(row) -> dict:
	return {**row, "error": row.error_message, "sources": read_sources(row.result)}
