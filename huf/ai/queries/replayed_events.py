"""The events of a run once more, from its journal: for those who come when the live ones are gone. Only reads."""

from collections.abc import Iterator

import frappe

from huf.ai.core.types import EventKind, RunEvent, RunStatus
from huf.ai.queries.runs import describe_runs
from huf.ai.storage.drafts import PENDING, describe_draft, read_drafts
from huf.ai.storage.recorded_run import read_recorded


def retell(run: str, to_the_end: bool = True) -> Iterator[RunEvent]:
	"""From `run_started`, with no steps kept, over each step's text and calls to how it ended, or what it waits for."""
	told = describe_runs([run])[run]
	begun = {key: told[key] for key in ("conversation", "agent", "model", "offline")}
	yield RunEvent(EventKind.RUN_STARTED, run, {**begun, "kept_steps": 0})
	recorded = read_recorded(run)
	for step, reply in sorted(recorded.replies.items()):
		if reply.text:
			yield RunEvent(EventKind.TEXT_DELTA, run, {"step": step, "text": reply.text})
		for position, request in enumerate(reply.calls):
			if call := recorded.calls.get((step, position)):
				yield from retell_call(run, request.id, call)
	if to_the_end and told["status"] == RunStatus.WAITING.value:
		for draft in read_drafts(run).values():
			if draft.status == PENDING:
				card = describe_draft(draft)
				yield RunEvent(EventKind.DRAFT_CREATED, run, card)
				yield RunEvent(EventKind.RUN_WAITING, run, {**told, "draft": card["draft"]})
	elif to_the_end:
		yield RunEvent(EventKind.RUN_FINISHED, run, told)


def retell_call(run: str, call_id: str, call) -> Iterator[RunEvent]:
	seen = {"step": call.step, "call_id": call_id, "tool": call.tool}
	arguments = (
		frappe.parse_json(call.arguments) if (call.arguments or "").startswith("{") else call.arguments
	)
	yield RunEvent(EventKind.TOOL_STARTED, run, {**seen, "effect": call.effect, "arguments": arguments})
	ended = {"ok": call.status == "Success", "result": call.result or "", "duration_ms": call.duration_ms}
	yield RunEvent(EventKind.TOOL_FINISHED, run, {**seen, **ended})
