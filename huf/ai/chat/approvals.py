"""Answers drafts for people, or for the expiry, and resumes the waiting run; the run makes the call itself.

An answer counts once, and only for the change that was shown: if that has changed, the draft is shown again
and stays open.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import frappe
from frappe import _
from frappe.utils import now_datetime

from huf.ai.agents.tool_factory import find_tool
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.json_text import to_canonical_json
from huf.ai.core.refusals import read_refusal
from huf.ai.core.session import acting_as
from huf.ai.core.types import DraftStatus, RunStatus
from huf.ai.runs.admission import admit, check_agent_enabled
from huf.ai.runs.approvals import mail_approver, propose
from huf.ai.runs.queue import enqueue_work, wake
from huf.ai.storage import drafts, leases, stops
from huf.ai.storage.drafts import DraftAnswer, Proposal
from huf.ai.storage.run_rows import request_cancel
from huf.ai.storage.untrusted_records import OTHERS
from huf.ai.tools.taint import find_origins
from huf.permissions import has_permission, is_manager, may_answer

SECOND_PERSON = "Somebody else has to approve this, because the run acts for you. You can cancel the run."
EDITED = "You can change the arguments only to what you may do yourself. {0}"
EDITED_ALONE = (
	"A call with these arguments needs two people, and only you have chosen them. Approve the call as it was "
	"asked for, or reject it with a reason."
)
OF_OTHERS = "The run has read messages of others, so you can approve only what you may do yourself. {0}"
EXPIRED = "This draft has expired and can no longer be answered."
CHANGED = "What this call would do has changed since you saw it. Look at it again, then answer."
REFUSALS = (
	ToolError,
	frappe.ValidationError,
	frappe.PermissionError,
	frappe.DoesNotExistError,
	frappe.DuplicateEntryError,
)
"""Errors of a call that cannot be made with these arguments."""


class DraftOutdated(UsageError):
	"""The draft has been answered or has expired, or the call would do something else by now."""


@dataclass(frozen=True)
class ApprovalResponse:
	"""A person's answer to a draft as it was displayed (`digest`)."""

	draft: str
	digest: str | None
	is_approved: bool
	arguments: dict | None = None
	reason: str | None = None


def approve_call(name: str, digest: str, arguments: dict | None = None) -> dict:
	"""Approve a draft as it was presented (`digest`), or with other arguments; see `answer_call`."""
	return answer_call(ApprovalResponse(name, digest, True, arguments))


def reject_call(name: str, digest: str | None = None, reason: str | None = None) -> dict:
	"""Reject a draft; the model reads the reason. See `answer_call`."""
	return answer_call(ApprovalResponse(name, digest, False, reason=reason))


def answer_call(response: ApprovalResponse) -> dict:
	"""Approve or reject a draft; returns it. Raises as `check_response`. Commits."""
	return store_answer(*check_response(response))


def check_response(response: ApprovalResponse) -> tuple[Any, DraftAnswer]:
	"""(the draft's row, the answer to store). Raises as `check_approval` and `get_open_draft`."""
	if response.is_approved:
		return check_approval(response.draft, response.digest, response.arguments)
	row, reason = get_open_draft(response.draft, response.digest), (response.reason or "").strip()
	return row, DraftAnswer(DraftStatus.REJECTED, frappe.session.user, reason or None)


def check_approval(name: str, digest: str | None, arguments: dict | None) -> tuple[Any, DraftAnswer]:
	"""(the draft's row, the approval to store).

	Raises PermissionError for users who may not answer; UsageError if it was answered, has changed or
	expired, if its agent is disabled, or if the other arguments do not work: then it stays as it is.
	"""
	if not digest:
		raise UsageError("Pass the digest of the preview that you approve.")
	row = get_open_draft(name, digest)
	check_agent_enabled(row.agent)
	check_draft_stops(row)
	if arguments is None or to_canonical_json(arguments) == to_canonical_json(
		drafts.get_effective_arguments(row)
	):
		if OTHERS in find_origins(row.run):
			check_own_rights(row, drafts.get_effective_arguments(row), _(OF_OTHERS))
		check_fresh(row)
		return row, DraftAnswer(DraftStatus.APPROVED, frappe.session.user)
	check_own_rights(row, arguments, _(EDITED))
	proposal = propose_again(row, arguments)
	if proposal.second_person:
		# The run's user may not answer such a call, and nobody else has seen what another person wrote.
		is_owner = frappe.session.user == row.owner
		raise frappe.PermissionError(_(SECOND_PERSON)) if is_owner else UsageError(_(EDITED_ALONE))
	return row, DraftAnswer(DraftStatus.APPROVED, frappe.session.user, arguments=arguments, proposal=proposal)


def check_own_rights(row, arguments: dict, text: str) -> None:
	"""Raises UsageError with this text if the session user may not make the call with these arguments.

	Somebody who changes the arguments, or may have asked for the call, would otherwise act with the rights of
	the run's user.
	"""
	if frappe.session.user == row.owner:
		return
	try:
		admit(row.agent, frappe.session.user)
		propose_again(row, arguments, frappe.session.user)
	except (UsageError, frappe.PermissionError) as error:
		raise UsageError(text.format(read_refusal(error))) from None


def check_draft_stops(row) -> None:
	"""Raises UsageError while a stop covers the draft's call: it could not be made now."""
	run = frappe.db.get_value("Agent Run", row.run, ["agent", "provider", "run_as", "trigger"], as_dict=True)
	stops.refuse_if_stopped(run or {}, _("Approve the draft after it has been released."), row.tool)


def expire_drafts(now: datetime | None = None) -> list[str]:
	"""Expire drafts that were not answered in time and return their names. Scheduled every minute; commits
	each.
	"""
	return [row.name for row in drafts.read_overdue_drafts(now) if expire_draft(row)]


def expire_draft(row) -> bool:
	"""Expire a draft unless it was answered. Commits."""
	is_expired = drafts.record_answer(row.name, row.digest, DraftAnswer(DraftStatus.EXPIRED))
	frappe.db.commit()
	if is_expired:
		resume_answered(row.run)
	return is_expired


def cancel_run(run: str) -> None:
	"""Ask a run, and those it called, to end; one without a worker gets one for that. Commits.

	Raises PermissionError: a user with whom a run is shared may only read it.
	"""
	if not has_permission(frappe.get_doc("Agent Run", run)):
		raise frappe.PermissionError
	request_cancel(run)
	drafts.expire_pending(run, _("{0} cancelled the run").format(frappe.session.user))
	for child in leases.read_children(run):
		cancel_run(child)
	status = frappe.db.get_value("Agent Run", run, "status")
	frappe.db.commit()
	if status == RunStatus.WAITING.value:
		wake(run)
	elif status == RunStatus.QUEUED.value:
		enqueue_work(run)


def end_runs_of(conversation: str) -> None:
	"""Ask the runs of a deleted conversation to end. Does not commit."""
	for run in leases.read_open_runs(conversation):
		request_cancel(run)
		drafts.expire_pending(run, _("The conversation was deleted"))
		leases.wake_run(run)
		enqueue_work(run, after_commit=True)


def may_answer_draft(row) -> bool:
	user = frappe.session.user
	if row.second_person and user == row.owner:
		return False
	return is_manager(user) or (row.approver == user and may_answer(user))


def get_open_draft(name: str, digest: str | None):
	"""The row of an open draft that the user may answer, as it was presented. Raises PermissionError,
	DraftOutdated; commits the expiry of an overdue one.
	"""
	row = drafts.read_draft(name)
	if row and row.second_person and frappe.session.user == row.owner:
		raise frappe.PermissionError(_(SECOND_PERSON))
	if not row or not may_answer_draft(row):
		raise frappe.PermissionError(_("There is no draft {0} that you may answer.").format(name))
	if row.status != drafts.PENDING:
		raise DraftOutdated(describe_decision(row))
	if row.expires_at and row.expires_at < now_datetime():
		# The page then shows it as expired, and the run goes on, before the next minute.
		expire_draft(row)
		raise DraftOutdated(_(EXPIRED))
	if digest and digest != row.digest:
		raise DraftOutdated(_(CHANGED))
	return row


def describe_decision(row) -> str:
	"""The answer a draft has, for a user who comes too late."""
	if not row.answered_by:
		return _(EXPIRED)
	return _("This was answered before: {0} by {1}.").format(_(row.status), row.answered_by)


def check_fresh(row) -> None:
	"""Raises DraftOutdated, and presents the draft again, if the proposal has changed with a document."""
	against = frappe.parse_json(row.against or "[]")
	if all(
		str(frappe.db.get_value(dt, name, "modified") or "") == modified for dt, name, modified in against
	):
		return
	proposal = propose_again(row, drafts.get_effective_arguments(row))
	if (proposal.digest, proposal.second_person) == (row.digest, bool(row.second_person)):
		frappe.db.rollback()
		return
	drafts.renew_draft(row, proposal)
	frappe.db.commit()
	mail_approver(row.agent, row.name)
	raise DraftOutdated(_(CHANGED))


def propose_again(row, arguments: dict, user: str | None = None) -> Proposal:
	"""The proposal of a call as it would run now, as the run's user or another one. Raises UsageError if it
	cannot run.
	"""
	user = user or row.owner
	try:
		with acting_as(user):
			tool = find_tool(row.agent, row.tool)
			if tool is None:
				text = _("{0} can no longer use the tool {1}. Reject the draft.")
				raise UsageError(text.format(user, row.tool))
			return propose(tool, arguments)
	except (*REFUSALS, frappe.db.DataError) as error:
		frappe.db.rollback()
		raise UsageError(_("It cannot be done: {0}").format(error or type(error).__name__)) from None


def store_answer(row, answer: DraftAnswer) -> dict:
	"""Store an answer unless there is one, and resume the run after the last; returns the draft. Commits."""
	if not drafts.record_answer(row.name, row.digest, answer):
		frappe.db.rollback()
		current = drafts.read_draft(row.name)
		raise DraftOutdated(_(CHANGED) if current.status == drafts.PENDING else describe_decision(current))
	resume_answered(row.run)
	return drafts.describe_draft(drafts.read_draft(row.name))


def resume_answered(run: str) -> None:
	"""Resume a run once all its drafts have their answers. Commits first: of two people who answer the last
	two at once, the second sees both answers.
	"""
	frappe.db.commit()
	if not drafts.has_pending(run):
		wake(run)
