"""Settles external calls whose worker was lost: a manager records the outcome or repeats the call."""

import frappe
from frappe import _

from huf.ai.agents.tool_factory import find_tool
from huf.ai.core.call_key import CALL_KEY
from huf.ai.core.errors import UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.session import acting_as
from huf.ai.core.types import CallRequest, CallStatus, ToolResult
from huf.ai.loop.tool_calls import perform, prepare_one
from huf.ai.providers.sdk_agent import to_loop_tool
from huf.ai.runs.admission import check_enabled
from huf.ai.storage import stops
from huf.ai.storage.lost_calls import claim_lost_call, resolve_lost_call
from huf.permissions import is_manager

VERDICTS = {"done": CallStatus.SUCCESS, "not_done": CallStatus.FAILED}


def settle_call(name: str, verdict: str) -> None:
	"""Record the outcome that a manager found out. Commits the claim. Raises PermissionError, UsageError."""
	row = lost_call(name)
	if verdict not in VERDICTS:
		raise UsageError(f"{verdict!r} is not a verdict. Use one of: {', '.join(VERDICTS)}.")
	words = "was carried out" if verdict == "done" else "was not carried out"
	result = f"{frappe.session.user} found out that the call {words}."
	refuse_unless_claimed(row)
	resolve_lost_call(row.name, VERDICTS[verdict], result)


def retry_call(name: str) -> str:
	"""Repeat the call as the run's user and with the same Idempotency-Key; return its result. Commits.

	If several managers try at once, one succeeds and the others get UsageError.
	"""
	row = lost_call(name)
	run = frappe.get_doc("Agent Run", row.run)
	check_enabled(run.run_as)
	stops.refuse_if_stopped(run.as_dict(), _("Repeat the call after it has been released."), row.tool)
	with acting_as(run.run_as):
		tool = find_tool(run.agent, row.tool)
	if tool is None:
		raise UsageError(
			f"{run.run_as} can no longer use the tool {row.tool} of the agent {run.agent}. "
			"Give it back, or settle the call."
		)
	request = CallRequest(row.call_id, row.tool, row.arguments)
	call = prepare_one(request, row.position, {tool.name: to_loop_tool(tool)})
	if call.error:
		# The call was not repeated, so its outcome stays unknown.
		raise UsageError(call.error)
	refuse_unless_claimed(row)
	tool_result = ToolResult(call, CallStatus.UNKNOWN, "It was repeated, and its worker was lost.")
	try:
		with acting_as(run.run_as):
			CALL_KEY.set(row.idempotency_key)
			tool_result = run_coroutine(perform(call))
	finally:
		CALL_KEY.set(None)
		resolve_lost_call(row.name, tool_result.status, tool_result.text)
		frappe.db.commit()
	return tool_result.text


def lost_call(name: str):
	row = frappe.get_doc("Agent Tool Call", name)
	if not is_manager(frappe.session.user):
		raise frappe.PermissionError("Only a Huf Manager can settle a lost call.")
	if row.status != CallStatus.UNKNOWN.value:
		raise UsageError(f"The outcome of this call is known: {row.status}.")
	return row


def refuse_unless_claimed(row) -> None:
	if not claim_lost_call(row):
		raise UsageError("Somebody else is repeating this call. Wait for its result.")
