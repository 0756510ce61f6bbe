"""What people, and time, answer to drafts. Each answer has the run taken up again; the call itself is made there.

An answer counts once, and for what was shown: where that has changed, the draft is shown anew and stays open.
"""

from datetime import datetime

import frappe
from frappe.utils import now_datetime

from huf.ai.core.canonical_json import to_canonical_json
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.types import DraftStatus
from huf.ai.runs.admission import acting_as
from huf.ai.runs.approvals import propose
from huf.ai.runs.queue import enqueue_work
from huf.ai.storage import drafts, leases
from huf.ai.storage.drafts import DraftAnswer, Proposal
from huf.ai.storage.journal import request_cancel
from huf.permissions import is_manager

CHANGED = "What it would do has changed since it was shown. Look at it again, then answer."


def approve_call(name: str, shown: str, arguments: dict | None = None) -> dict:
	"""Allow a draft as it was shown (its digest), or with other arguments; gives the draft. Commits.

	Raises PermissionError for who may not answer; UsageError where it is answered, has changed or expired, or where the other
	arguments cannot be carried out: then it stays as it is.
	"""
	if not shown:
		raise UsageError("Say which difference you allow: its digest.")
	row = get_open_draft(name, shown)
	if arguments is None or to_canonical_json(arguments) == to_canonical_json(
		drafts.get_effective_arguments(row)
	):
		check_fresh(row)
		answer = DraftAnswer(DraftStatus.APPROVED, frappe.session.user)
	else:
		proposal = propose_again(row, arguments)
		answer = DraftAnswer(
			DraftStatus.APPROVED, frappe.session.user, arguments=arguments, proposal=proposal
		)
	return store_answer(row, answer)


def reject_call(name: str, shown: str | None = None, reason: str | None = None) -> dict:
	"""Say no; the model reads the reason. Raises as `approve`. Commits."""
	row = get_open_draft(name, shown)
	return store_answer(
		row, DraftAnswer(DraftStatus.REJECTED, frappe.session.user, (reason or "").strip() or None)
	)


def expire_drafts(now: datetime | None = None) -> list[str]:
	"""Answer for those who have not, in time; gives the drafts' names. Called every minute; commits after each."""
	expired = []
	for row in drafts.read_overdue_drafts(now):
		if drafts.record_answer(row.name, row.digest, DraftAnswer(DraftStatus.EXPIRED)):
			expired.append(row.name)
			resume_run(row.run)
	frappe.db.commit()
	return expired


def cancel_run(run: str) -> None:
	"""Ask a run to end; one that waits for a person is taken up for that. Commits."""
	request_cancel(run)
	drafts.expire_pending(run, f"{frappe.session.user} cancelled the run")
	waits = frappe.db.get_value("Agent Run", run, "status") == "Waiting"
	frappe.db.commit()
	if waits:
		resume_run(run)


def end_runs_of(conversation: str) -> None:
	"""Ask the runs of a conversation that is deleted to end. Does not commit."""
	for run in leases.read_open_runs(conversation):
		request_cancel(run)
		drafts.expire_pending(run, "The conversation was deleted")
		leases.wake_run(run)
		enqueue_work(run, enqueue_after_commit=True)


def may_answer_draft(row) -> bool:
	user = frappe.session.user
	return is_manager(user) or (row.approver == user and user != "Guest")


def get_open_draft(name: str, shown: str | None):
	"""A draft that is still to be answered, by this person, and as it was shown to them."""
	row = drafts.read_draft(name)
	if not row or not may_answer_draft(row):
		raise frappe.PermissionError(f"There is no draft {name!r} that you may answer.")
	if row.status != drafts.PENDING:
		raise UsageError(describe_answer(row))
	if row.expires_at and row.expires_at < now_datetime():
		raise UsageError("It has expired, so it cannot be answered any more.")
	if shown and shown != row.digest:
		raise UsageError(CHANGED)
	return row


def describe_answer(row) -> str:
	"""What became of a draft, for who comes too late."""
	by = f" by {row.answered_by}" if row.answered_by else ""
	when = f" at {row.answered_at:%Y-%m-%d %H:%M}" if row.answered_at else ""
	return f"This was answered before: {row.status}{by}{when}."


def check_fresh(row) -> None:
	"""Raises UsageError, with the draft shown anew, where a document it would change is not what it was."""
	against = frappe.parse_json(row.against or "[]")
	if all(
		str(frappe.db.get_value(dt, name, "modified") or "") == modified for dt, name, modified in against
	):
		return
	drafts.renew_draft(row, propose_again(row, drafts.get_effective_arguments(row)))
	frappe.db.commit()
	raise UsageError(CHANGED)


def propose_again(row, arguments: dict) -> Proposal:
	"""What a call would do now, as the run's user. Raises UsageError where it cannot be done."""
	try:
		with acting_as(row.owner):
			# Lazy: the SDK takes seconds to load, and listing drafts does not need it.
			from huf.ai.agents.tool_factory import find_tool

			tool = find_tool(row.agent, row.tool)
			if tool is None:
				raise UsageError(f"{row.owner} cannot use the tool {row.tool} any more. Reject the draft.")
			return propose(tool, arguments)
	except (ToolError, frappe.ValidationError, frappe.PermissionError, frappe.DoesNotExistError) as error:
		frappe.db.rollback()
		raise UsageError(f"It cannot be done: {error or type(error).__name__}") from None


def store_answer(row, answer: DraftAnswer) -> dict:
	"""Answer, if nobody else has, and have the run go on."""
	if not drafts.record_answer(row.name, row.digest, answer):
		frappe.db.rollback()
		now = drafts.read_draft(row.name)
		raise UsageError(CHANGED if now.status == drafts.PENDING else describe_answer(now))
	resume_run(row.run)
	return drafts.describe_draft(drafts.read_draft(row.name))


def resume_run(run: str) -> None:
	"""Have a worker take up a run that waits. Commits: a worker must find what it was answered."""
	leases.wake_run(run)
	frappe.db.commit()
	enqueue_work(run)
