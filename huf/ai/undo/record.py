"""Records an undo as a run with a tool call per document, and their changes, so that it can be undone.

Writes rows only; the caller commits them together with what was restored.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import frappe
from frappe.utils import now

from huf.ai.core.json_text import to_canonical_json
from huf.ai.core.stored_text import clip
from huf.ai.core.types import CallStatus, Effect, RunStatus, StopReason
from huf.ai.storage.agent_changes import insert_changes, mark_redone, mark_undone
from huf.ai.storage.rows import insert_row
from huf.ai.undo.restoring import Restored
from huf.ai.undo.scope import UndoScope

TOOL = "undo"
RESTORED = {
	"create": "{0} {1} exists again",
	"update": "{0} {1} has its earlier values again",
	"delete": "{0} {1} was deleted",
	"cancel": "{0} {1} was cancelled",
	"amend": "{0} {1} was amended with its earlier values",
}
"""By the actions of `Restored`."""


def record_undo(
	found: UndoScope, undone: Sequence[Any], restored: Sequence[Restored], changes: Sequence[dict]
) -> str:
	"""Insert the run of an undo and return its name. Does not commit.

	`undone`: the Agent Changes that it undoes; `changes`: those that it made.
	"""
	run = insert_undo_run(found, restored)
	calls = {}
	for position, each in enumerate(restored):
		calls[each.doctype, each.name] = insert_call(run, position, each)
	first = next(iter(calls.values()), None) or insert_call(run, 0, None)
	for position, change in enumerate(changes):
		# What a controller changed in addition belongs to the first call.
		call = calls.get((change["reference_doctype"], change["reference_name"]), first)
		insert_changes(run, call, [{**change, "position": position}])
	mark_redone(filter_undos(found.runs), undone)
	mark_undone([row.name for row in undone], run)
	return run


def insert_undo_run(found: UndoScope, restored: Sequence[Restored]) -> str:
	time = now()
	return insert_row(
		"Agent Run",
		{
			"agent": frappe.db.get_value("Agent Run", found.runs[0], "agent"),
			"is_undo": 1,
			"undone_runs": json.dumps(found.runs),
			"status": RunStatus.SUCCESS.value,
			"stop_reason": StopReason.FINAL_ANSWER.value,
			"prompt": clip(frappe._("Undo of {0}").format(", ".join(found.runs))),
			"response": clip("\n".join(f"- {describe_restored(each)}" for each in restored)),
			"opening": "[]",
			"run_as": frappe.session.user,
			"started_at": time,
			"ended_at": time,
			"steps": 1,
			"attempts": 1,
		},
	)


def describe_restored(restored: Restored) -> str:
	return frappe._(RESTORED[restored.action]).format(frappe._(restored.doctype), restored.name)


def insert_call(run: str, position: int, restored: Restored | None) -> str:
	document = {"doctype": restored.doctype, "name": restored.name} if restored else {}
	return insert_row(
		"Agent Tool Call",
		{
			"run": run,
			"step": 1,
			"position": position,
			"tool": TOOL,
			"effect": Effect.WRITE.value,
			"status": CallStatus.SUCCESS.value,
			"call_id": f"undo_{position}",
			"arguments": to_canonical_json(document),
			"result": to_canonical_json(asdict(restored) if restored else {}),
			"started_at": now(),
		},
	)


def filter_undos(runs: Sequence[str]) -> list[str]:
	"""Those of the runs that are undos."""
	return frappe.get_all(
		"Agent Run", {"name": ["in", runs], "is_undo": 1}, pluck="name", order_by="creation asc"
	)
