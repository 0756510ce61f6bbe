"""Stores the outcome of calls whose worker was lost before it could."""

import frappe
from frappe.utils import add_to_date, get_datetime, now_datetime

from huf.ai.core.types import CallStatus
from huf.ai.storage.budgets import settle_lost_runs
from huf.ai.storage.drafts import fail_lost_drafts, settle_draft
from huf.ai.storage.rows import commit_before_effect, update_row, update_rows

RETRY_CLAIMED = "It is being made again."
RETRY_CLAIM_S = 600
"""A claim older than this is void: its worker was lost."""


def mark_lost_calls(run: str) -> None:
	"""Mark unfinished calls of a lost worker as failed or unknown; model calls cost their reservation.
	Commits.
	"""
	settle_lost_runs([run])
	# A call of another agent is made again, and finds the run that it has started.
	frappe.db.sql(
		"""delete from `tabAgent Tool Call` where run = %s and status = 'Started' and idempotency_key in
		(select parent_call from `tabAgent Run` where parent_run = %s)""",
		(run, run),
	)
	update_rows("Agent Tool Call", {"status": CallStatus.UNKNOWN.value}, run=run, status="Started")
	failed = {"status": "Failed", "error_message": "The worker that asked was lost."}
	update_rows("Agent LLM Call", failed, run=run, status="Started")
	fail_lost_drafts(run)
	frappe.db.commit()


def claim_lost_call(row) -> bool:
	"""Claim a call with unknown outcome, to repeat or settle it; False if somebody else has it. Commits."""
	moment = now_datetime()
	since = add_to_date(moment, seconds=-RETRY_CLAIM_S, as_datetime=True)
	if row.result == RETRY_CLAIMED and get_datetime(row.modified) > since:
		return False
	expected = {"status": CallStatus.UNKNOWN.value, "modified": row.modified}
	update_row("Agent Tool Call", row.name, {"result": RETRY_CLAIMED, "modified": moment}, **expected)
	is_mine = get_datetime(frappe.db.get_value("Agent Tool Call", row.name, "modified")) == moment
	commit_before_effect()
	return is_mine


def resolve_lost_call(name: str, status: CallStatus, result: str) -> None:
	"""Store the outcome of a call whose worker was lost."""
	update_row("Agent Tool Call", name, {"status": status.value, "result": result, "error_message": None})
	if status is CallStatus.SUCCESS:
		settle_draft(frappe.db.get_value("Agent Tool Call", name, "idempotency_key"), result)
