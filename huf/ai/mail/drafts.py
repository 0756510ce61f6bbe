"""Writes replies: one open draft in a thread, which never replaces a person's edits. Commits and sends
nothing.
"""

from dataclasses import dataclass

import frappe
from frappe.utils import now

from huf.ai.core.mail_types import MailEvent, MailStatus
from huf.ai.core.stored_text import clip
from huf.ai.mail import store
from huf.ai.mail.compose import build_reply_subject


@dataclass(frozen=True)
class Reply:
	"""A reply to a mail. `reason`: why a person must approve it before it is sent, or None."""

	to: tuple[str, ...]
	subject: str
	body: str
	reason: str | None = None

	def as_row(self) -> dict:
		return {
			"recipients": ", ".join(self.to),
			"subject": clip(build_reply_subject(self.subject), 1000),
			"text": self.body,
			"reason": self.reason,
		}


def write_draft(answers, reply: Reply, run: str | None) -> tuple[str, str]:
	"""Write the draft of a thread; `answers` is the row of the answered mail. Returns (outcome, name of the
	draft).

	The outcome is "created", "changed", or "kept" if a person has edited the draft, which then answers this
	mail too.
	"""
	name, is_new = find_or_insert_draft(answers, reply, run)
	if is_new:
		return "created", name
	# The row is locked: a person who saves it now either came first and is seen, or waits.
	answered = store.name_answered(answers)
	is_open = store.change_status(name, MailStatus.DRAFT, MailStatus.DRAFT, **answered)
	if not is_open or frappe.db.get_value(store.MAIL, name, "edited_by", for_update=True):
		store.write_event(answers, MailEvent.DRAFT_KEPT, "A person is editing the draft", run=run, draft=name)
		return "kept", name
	store.update_mail(name, **reply.as_row(), run=run, modified=now())
	store.write_event(answers, MailEvent.DRAFT_CHANGED, reply.subject, run=run, draft=name)
	return "changed", name


def find_or_insert_draft(answers, reply: Reply, run: str | None) -> tuple[str, bool]:
	"""The draft of a thread, which is `reply` only if it had none: (name, whether it is new)."""
	# One writer at a time, if the database has row locks. Count before looking for a draft: a second writer
	# either finds the draft, or gets the same place and thereby the same row.
	store.lock_mail(answers.name)
	place = store.count_outgoing(answers.thread)
	if draft := store.read_open_draft(answers.thread):
		return draft.name, False
	row = {**reply.as_row(), "run": run}
	name, is_new = store.insert_outgoing(answers, row, MailStatus.DRAFT, place)
	if is_new:
		store.write_event(answers, MailEvent.DRAFTED, reply.subject, run=run, draft=name)
	return name, is_new


def write_reply(answers, reply: Reply, run: str | None) -> str | None:
	"""Write an approved reply, in place of an agent's own open draft; returns its name, or None if a person
	edits that draft.
	"""
	store.lock_mail(answers.name)
	draft = store.read_open_draft(answers.thread)
	if draft and store.change_status(draft.name, MailStatus.DRAFT, MailStatus.DRAFT):
		if frappe.db.get_value(store.MAIL, draft.name, "edited_by", for_update=True):
			return None
		values = {**reply.as_row(), **store.name_answered(answers), "run": run}
		store.change_status(draft.name, MailStatus.DRAFT, MailStatus.APPROVED, **values)
		return draft.name
	place = store.count_outgoing(answers.thread)
	return store.insert_outgoing(answers, {**reply.as_row(), "run": run}, MailStatus.APPROVED, place)[0]
