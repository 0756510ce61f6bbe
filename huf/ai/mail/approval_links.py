"""Mails approvers a link to answer one draft, and reads such links.

A link is for one user and one proposal: it is void once the draft is answered, renewed or expired. It is
stored only in the mail itself.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import frappe
from frappe.utils import get_datetime, get_url, now_datetime

from huf.ai.core.sealed_tokens import seal, unseal
from huf.ai.core.stored_text import digest
from huf.ai.core.times import to_utc
from huf.ai.mail.compose import OutgoingMail, compose
from huf.ai.storage import drafts
from huf.ai.storage.outgoing_mail import find_sender, queue_mail

KIND, PATH = "approval", "/agent/approval"
TEXTS = (
	"The agent {agent} waits for your approval of {tool}.",
	"See what it would do, and approve or reject it:",
	"{link}",
	"The link works once, until {until}.",
)


@dataclass(frozen=True)
class ApprovalLink:
	"""`draft`: its row; `is_current`: it still waits, with the proposal that the mail was about."""

	draft: Any
	user: str
	is_current: bool


def send_link(draft: str) -> bool:
	"""Job: queue the mail about a draft that waits for its approver, once for each approver and proposal;
	returns whether it was queued.
	"""
	row = drafts.read_draft(draft)
	sender = find_sender()
	if not row or not row.approver or not sender or row.status != drafts.PENDING:
		return False
	to = frappe.db.get_value("User", row.approver, ["email", "language", "enabled"], as_dict=True)
	proposal = digest("approval", row.name, row.approver, row.digest, row.expires_at)
	key = f"{proposal}@{sender.rpartition('@')[2]}"
	if not to or not to.enabled or not to.email or frappe.db.exists("Email Queue", {"message_id": key}):
		return False
	mail = SimpleNamespace(name=row.name, sender=sender, message_id=key, cc="")
	queue_mail(mail, write_mail(mail, row, to), [to.email], drafts.DRAFT)
	frappe.db.commit()
	return True


def write_mail(mail, row, to) -> str:
	values = {
		"agent": row.agent,
		"tool": row.tool,
		"until": f"{get_datetime(row.expires_at):%Y-%m-%d %H:%M}",
		"link": make_approval_link(row),
	}
	outgoing = OutgoingMail(
		sender=mail.sender,
		sender_name="Huf",
		to=[to.email],
		cc=(),
		subject=frappe._("{0} waits for your approval", lang=to.language).format(row.agent),
		body="\n\n".join(frappe._(text, lang=to.language).format(**values) for text in TEXTS),
		message_id=mail.message_id,
		in_reply_to="",
		references=(),
		date=to_utc(now_datetime()),
		automatic=True,
	)
	return compose(outgoing)


def make_approval_link(row) -> str:
	until = get_datetime(row.expires_at)
	lifetime_s = (until - now_datetime()).total_seconds()
	token = seal(KIND, lifetime_s, draft=row.name, user=row.approver, digest=row.digest, until=str(until))
	return f"{get_url(PATH)}?token={token}"


def read_link(token: str) -> ApprovalLink | None:
	"""The link with this token; None if it is not one, has expired, or its draft is gone."""
	claims = unseal(KIND, token)
	row = claims and drafts.read_draft(claims["draft"])
	if not claims or not row:
		return None
	is_same = row.digest == claims["digest"] and get_datetime(row.expires_at) == get_datetime(claims["until"])
	return ApprovalLink(row, claims["user"], row.status == drafts.PENDING and is_same)
