"""Replays the events of a run from its journal, for readers who arrive when the live events are gone.

Read-only.
"""

from collections.abc import Iterator

import frappe

from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.types import CallRequest, RunStatus
from huf.ai.queries.runs import describe_runs
from huf.ai.storage.drafts import PENDING, describe_draft, read_drafts
from huf.ai.storage.recorded_run import read_recorded


def replay_events(run: str, with_end: bool = True) -> Iterator[RunEvent]:
	"""Yield `run_started` (no kept steps), the text and calls of each step and, `with_end`, how it ended or
	waits. The caller checks permissions.
	"""
	row = describe_runs([run], is_checked=True)[run]
	start = {key: row[key] for key in ("conversation", "agent", "model", "offline")}
	yield RunEvent(EventKind.RUN_STARTED, run, {**start, "kept_steps": 0})
	recorded = read_recorded(run)
	for step, reply in sorted(recorded.replies.items()):
		# An answer after which the run went on was refused, and never shown.
		is_displayed = bool(reply.calls) or step == max(recorded.replies)
		if reply.reasoning and is_displayed:
			yield RunEvent(EventKind.REASONING_DELTA, run, {"step": step, "text": reply.reasoning})
		if reply.text and is_displayed:
			yield RunEvent(EventKind.TEXT_DELTA, run, {"step": step, "text": reply.text})
		for position, request in enumerate(reply.calls):
			if call := recorded.calls.get((step, position)):
				yield from replay_call(run, request, call)
	if with_end and row["status"] == RunStatus.WAITING.value:
		pending = [each for each in read_drafts(run).values() if each.status == PENDING]
		for draft in pending:
			yield RunEvent(EventKind.DRAFT_CREATED, run, describe_draft(draft))
		names = [draft.name for draft in pending]
		yield RunEvent(EventKind.RUN_WAITING, run, {**row, "draft": next(iter(names), None), "drafts": names})
	elif with_end:
		yield RunEvent(EventKind.RUN_FINISHED, run, row)


def replay_call(run: str, request: CallRequest, call) -> Iterator[RunEvent]:
	call_data = {"step": call.step, "call_id": request.id, "tool": call.tool}
	arguments = (
		frappe.parse_json(call.arguments) if (call.arguments or "").startswith("{") else call.arguments
	)
	reason = {"reason": request.reason} if request.reason else {}
	started = {**call_data, "effect": call.effect, "arguments": arguments, **reason}
	yield RunEvent(EventKind.TOOL_STARTED, run, started)
	ended = {"ok": call.status == "Success", "result": call.result or "", "duration_ms": call.duration_ms}
	yield RunEvent(EventKind.TOOL_FINISHED, run, {**call_data, **ended})
