"""Stores Agent Draft: tool calls that a person has to approve, and their outcome. The only writer.

A draft is named after its call (`RunJournal.keys`), so a call has one draft. An answer is a compare-and-set
on the digest of what was shown: only what a person approved is committed, and one of several answers counts.
Nothing here commits.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import frappe
from frappe.utils import add_to_date, get_url, now, now_datetime

from huf.ai.core.flow import Concern
from huf.ai.core.json_text import to_canonical_json
from huf.ai.core.settings import get_settings
from huf.ai.core.stored_text import clip, shorten_id
from huf.ai.core.types import Call, DraftStatus, ToolResult
from huf.ai.storage.limits import translate
from huf.ai.storage.rows import insert_row, update_row, update_rows

DRAFT = "Agent Draft"
WAITING = "This waits until a person approves {tool}: {url}"
PENDING, APPROVED = DraftStatus.PENDING.value, DraftStatus.APPROVED.value
FIELDS = [
	"name",
	"run",
	"agent",
	"conversation",
	"status",
	"tool",
	"effect",
	"step",
	"call_id",
	"approver",
	"second_person",
	"passed_on_from",
	"passed_on_at",
	"owner",
	"arguments",
	"edited_arguments",
	"difference",
	"concern",
	"digest",
	"against",
	"reference_doctype",
	"reference_name",
	"expires_at",
	"answered_by",
	"answered_at",
	"answer_key",
	"reason",
	"result",
	"creation",
]


@dataclass(frozen=True)
class Proposal:
	"""What a person is asked to approve: `preview` is a difference or a request, `digest` identifies it.

	`against`: the documents that would change, as (DocType, name, modified). `second_person`: the run's user
	may not approve it.
	"""

	preview: dict
	digest: str
	against: tuple[tuple[str, str, str], ...] = ()
	reference: tuple[str | None, str | None] = (None, None)
	second_person: bool = False

	def as_row(self) -> dict[str, Any]:
		return {
			"difference": json.dumps(self.preview, ensure_ascii=False, default=str),
			"digest": self.digest,
			"against": to_canonical_json(self.against),
			"reference_doctype": self.reference[0],
			"reference_name": self.reference[1],
			"second_person": int(self.second_person),
		}


@dataclass(frozen=True)
class DraftAnswer:
	"""The answer to a draft, by a person or by expiry. `arguments` and `proposal` are set only if a person
	changed them.
	"""

	status: DraftStatus
	by: str | None = None
	reason: str | None = None
	arguments: dict | None = None
	proposal: Proposal | None = None
	key: str = field(default_factory=lambda: frappe.generate_hash(length=20))


def insert_draft(
	name: str,
	run: str,
	step: int,
	call: Call,
	proposal: Proposal,
	approver: str | None,
	concern: Concern | None,
) -> None:
	row = frappe.db.get_value("Agent Run", run, ["agent", "conversation", "run_as"], as_dict=True)
	values = {
		"run": run,
		"agent": row.agent,
		"conversation": row.conversation,
		"status": PENDING,
		"tool": call.request.name,
		"effect": call.effect.value,
		"step": step,
		"position": call.position,
		"call_id": shorten_id(call.request.id),
		"approver": approver,
		"expires_at": draft_expiry(),
		"arguments": json.dumps(call.arguments, ensure_ascii=False),
		"concern": concern and json.dumps(asdict(concern), ensure_ascii=False),
		**proposal.as_row(),
	}
	insert_row(DRAFT, values, owner=row.run_as, name=name)


def draft_expiry() -> datetime:
	return add_to_date(now_datetime(), hours=get_settings().draft_expiry_hours, as_datetime=True)


def read_draft(name: str):
	"""The row of FIELDS, or None."""
	return frappe.db.get_value(DRAFT, name, FIELDS, as_dict=True)


def read_drafts(run: str) -> dict[str, Any]:
	"""A run's drafts by name, which is also the idempotency key of the call."""
	rows = frappe.get_all(DRAFT, {"run": run}, FIELDS, order_by="step asc, position asc")
	return {row.name: row for row in rows}


def read_pending_drafts(run: str) -> list:
	return [each for each in read_drafts(run).values() if each.status == PENDING]


def is_pending(name: str) -> bool:
	return frappe.db.get_value(DRAFT, name, "status") == PENDING


def read_pending_below(run: str) -> list:
	"""The unanswered drafts of a run and of the runs it called, whose answers it waits for."""
	waiting = {"parent_run": run, "status": "Waiting"}
	children = frappe.get_all("Agent Run", waiting, pluck="name", order_by="creation asc")
	return [*read_pending_drafts(run), *(draft for child in children for draft in read_pending_below(child))]


def has_pending(run: str) -> bool:
	"""Whether the run has an unanswered draft."""
	return bool(frappe.db.exists(DRAFT, {"run": run, "status": PENDING}))


def renew_draft(row, proposal: Proposal) -> None:
	"""Replace an outdated proposal and ask again, unless the draft was answered."""
	no_answer = dict.fromkeys(("answered_by", "answered_at", "answer_key", "reason"))
	values = {"status": PENDING, "expires_at": draft_expiry(), **proposal.as_row(), **no_answer}
	if proposal.second_person and row.approver == row.owner:
		# An amount has risen: any other manager may answer.
		values["approver"] = None
	update_row(DRAFT, row.name, values, status=row.status, digest=row.digest)


def get_effective_arguments(row) -> dict:
	"""The arguments of the call, or those that a person set instead."""
	return json.loads(row.edited_arguments or row.arguments)


def record_answer(name: str, digest: str, answer: DraftAnswer) -> bool:
	"""Answer the draft that was shown with this digest; False if it was answered or replaced meanwhile."""
	values = {
		"status": answer.status.value,
		"answered_by": answer.by,
		"answered_at": now(),
		"answer_key": answer.key,
		"reason": clip(answer.reason, 1000),
	}
	if answer.arguments is not None:
		values["edited_arguments"] = json.dumps(answer.arguments, ensure_ascii=False)
	if answer.proposal:
		values |= answer.proposal.as_row()
	update_row(DRAFT, name, values, status=PENDING, digest=digest)
	# The update locks the row, so this read stays true until the commit.
	return frappe.db.get_value(DRAFT, name, "answer_key") == answer.key


def record_draft_result(name: str, tool_result: ToolResult) -> None:
	"""Store the result of an approved call, in the commit of its journal row."""
	status = DraftStatus.APPLIED if tool_result.ok else DraftStatus.FAILED
	update_row(DRAFT, name, {"status": status.value, "result": clip(tool_result.text)})


def settle_draft(name: str, result: str) -> None:
	"""Mark a draft as applied whose call turned out to have been carried out; there may be none."""
	applied = {"status": DraftStatus.APPLIED.value, "result": clip(result)}
	update_row(DRAFT, name, applied, status=DraftStatus.FAILED.value)


def fail_lost_drafts(run: str) -> None:
	"""Mark approved external calls that a lost worker had begun: their outcome is unknown."""
	frappe.db.sql(
		"""update `tabAgent Draft` set status = %s, result = %s where run = %s and status = %s and name in (
			select idempotency_key from `tabAgent Tool Call` lost where lost.run = %s)""",
		(DraftStatus.FAILED.value, "The worker was lost in the middle of the call.", run, APPROVED, run),
	)


def expire_pending(run: str, reason: str) -> None:
	"""Expire the unanswered drafts of a run."""
	update_rows(DRAFT, {"status": DraftStatus.EXPIRED.value, "reason": reason}, run=run, status=PENDING)


def close_drafts(run: str) -> None:
	"""Close all drafts of an ended run, including approved ones: it makes no more calls."""
	expire_pending(run, translate("The run has ended"))
	failed = {"status": DraftStatus.FAILED.value, "result": "The run ended before it was done."}
	update_rows(DRAFT, failed, run=run, status=APPROVED)


def read_overdue_drafts(moment: datetime | None) -> list:
	"""Drafts that were not answered in time, oldest first: [{name, run, digest}]."""
	late = {"status": PENDING, "expires_at": ["<", moment or now_datetime()]}
	return frappe.get_all(DRAFT, late, ["name", "run", "digest"], order_by="expires_at asc", limit=500)


def read_unanswered_drafts(since: datetime) -> list:
	"""Pending drafts from before a time that were not passed on yet, oldest first; rows as in
	`read_draft`.
	"""
	# Frappe 15 has no "is not set" for times on Postgres.
	return frappe.db.sql(
		f"""select {", ".join(FIELDS)} from `tab{DRAFT}`
		where status = %s and creation < %s and passed_on_at is null order by creation limit 500""",
		(PENDING, since),
		as_dict=True,
	)


def pass_on_draft(row, approver: str | None, now: datetime) -> bool:
	"""Ask somebody else; False if the draft was answered meanwhile. `approver` None: any Huf Manager."""
	passed = {"approver": approver, "passed_on_from": row.approver, "passed_on_at": now}
	update_row(DRAFT, row.name, passed, status=PENDING)
	# A locking read: this transaction may have begun before the answer.
	return frappe.db.get_value(DRAFT, row.name, "status", for_update=True) == PENDING


def describe_draft(row: Mapping[str, Any]) -> dict:
	"""A draft as pages show it: `draft` (its name) and FIELDS, with JSON fields parsed."""
	left_out = ("answer_key", "against", "owner", "name")
	values = {key: value for key, value in row.items() if key not in left_out}
	for key in ("arguments", "edited_arguments", "difference", "concern"):
		values[key] = json.loads(row[key]) if row[key] else None
	return {"draft": row["name"], **values}


def waiting_notice(tool: str, run: str) -> str:
	"""What clients that know no approvals read in place of an answer."""
	return WAITING.format(tool=tool, url=get_url(f"/huf/runs/{run}"))


def notice_below(run: str) -> str:
	"""The notice of a run that waits for a run that it called; "" if that one waits for nobody."""
	below = read_pending_below(run)
	return waiting_notice(below[0].tool, below[0].run) if below else ""


def is_waiting_notice(text: str) -> bool:
	"""Whether a text is such a notice of this site and nothing else."""
	pattern = WAITING.format(tool=r"[\w-]+", url=re.escape(get_url("/huf/runs/")) + r"\w+")
	return bool(re.fullmatch(pattern, text))
