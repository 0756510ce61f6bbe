"""Reads the tool calls of a run from its journal, as evidence for what its answer claims."""

from collections.abc import Iterator
from dataclasses import replace

import frappe

from huf.ai.core.grouping import group_pairs
from huf.ai.core.json_text import parse_result
from huf.ai.core.types import ANSWER_TOOL, Effect
from huf.ai.receipts.evidence import CallEvidence
from huf.ai.storage.agent_changes import CHANGE

MAX_EARLIER_RUNS = 20


def read_run_calls(run: str, step: int | None = None) -> tuple[CallEvidence, ...]:
	"""The tool calls of a run (up to a `step`) in order, with the documents that each changed.

	Calls that did nothing are left out: they got an earlier call's result, or returned the answer itself. A
	call of another agent is preceded by the calls of that agent.
	"""
	rows = frappe.db.sql(
		f"""select name, tool, effect, status, arguments, result, idempotency_key from `tabAgent Tool Call`
		where run = %(run)s and cached = 0 and tool != %(answer)s {"and step <= %(step)s" if step else ""}
		order by step, position""",
		{"run": run, "answer": ANSWER_TOOL, "step": step},
		as_dict=True,
	)
	changes = read_run_changes(run) if any(row.effect != "read" for row in rows) else {}
	children = find_called_runs(run) if any(row.effect == Effect.EXTERNAL.value for row in rows) else {}
	evidence: list[CallEvidence] = []
	for row in rows:
		child = children.get(row.idempotency_key)
		evidence += [replace(each, name=row.name) for each in read_run_calls(child)] if child else []
		evidence.append(
			CallEvidence(
				row.name,
				row.tool,
				Effect.READ.value if child else row.effect,
				row.status == "Success",
				parse_result(row.arguments),
				parse_result(row.result),
				tuple(changes.get(row.name, ())),
			)
		)
	return tuple(evidence)


def read_run_changes(run: str) -> dict[str, list[tuple[str, str, str]]]:
	"""{call: (DocType, name, action) of the documents that it changed}."""
	fields = ["tool_call", "reference_doctype", "reference_name", "action"]
	rows = frappe.get_all(CHANGE, {"run": run}, fields, order_by="creation asc, position asc")
	return group_pairs(
		(row.tool_call, (row.reference_doctype, row.reference_name, row.action)) for row in rows
	)


def read_earlier_calls(run: str) -> Iterator[CallEvidence]:
	"""The tool calls of the last runs before a run in its conversation.

	A branch continues the runs whose messages were copied to it.
	"""
	conversation, creation = frappe.db.get_value("Agent Run", run, ["conversation", "creation"])
	if not conversation:
		return
	of_messages = {"conversation": conversation, "run": ["is", "set"]}
	named = frappe.get_all("Agent Message", of_messages, pluck="run", distinct=True, order_by="run asc")
	for earlier in frappe.get_all(
		"Agent Run",
		{"creation": ["<", creation]},
		or_filters={"conversation": conversation, "name": ["in", named]},
		pluck="name",
		order_by="creation desc",
		limit=MAX_EARLIER_RUNS,
	):
		yield from read_run_calls(earlier)


def find_called_runs(run: str) -> dict[str, str]:
	"""The runs that a run has called, by the key of the call."""
	called = {"parent_run": run, "parent_call": ["is", "set"]}
	rows = frappe.get_all("Agent Run", called, ["parent_call", "name"], order_by="creation asc")
	return {row.parent_call: row.name for row in rows}
