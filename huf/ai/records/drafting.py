"""What agents write to people: one draft a thread, never over a person's words. Writes rows; commits and sends nothing."""

from dataclasses import dataclass

import frappe

from huf.ai.letters import answer_subject
from huf.ai.mail_types import MailEvent, MailStatus
from huf.ai.records import mails
from huf.ai.records.rows import clip

CLERK = "Mail Clerk"
CLERK_WORDS = "You read the mail of an office, sort it and prepare replies. You are brief, polite and exact."


@dataclass(frozen=True)
class Wish:
	"""A mail as an agent or a person wants it. `why`: what keeps it from being sent without a person."""

	to: tuple[str, ...]
	subject: str
	body: str
	why: str | None = None

	def as_row(self) -> dict:
		return {
			"recipients": ", ".join(self.to),
			"subject": clip(answer_subject(self.subject), 1000),
			"text": self.body,
			"reason": self.why,
		}


def write_draft(answers, wish: Wish, run: str | None) -> tuple[str, str]:
	"""Write the draft of a thread (`answers`: the row it answers); gives (what was done, its name).

	created, changed; or kept: a person has edited it, and nobody writes over that.
	"""
	# One at a time where the database can wait. Counted before it is looked for: who comes second finds the draft, or has
	# the same place.
	mails.hold(answers.name)
	place = mails.count_outgoing(answers.thread)
	draft = mails.open_draft(answers.thread)
	name = draft.name if draft else None
	if name is None:
		row = {**wish.as_row(), "run": run}
		name, is_new = mails.insert_outgoing(answers, row, MailStatus.DRAFT, place)
		if is_new:
			mails.write_event(answers, MailEvent.DRAFTED, wish.subject, run=run, draft=name)
			return "created", name
	# The row is held, and from here seen as it is: a person who saves it now is waited for, or waits.
	is_open = mails.move_on(name, MailStatus.DRAFT, MailStatus.DRAFT)
	if not is_open or frappe.db.get_value(mails.MAIL, name, "edited_by"):
		mails.write_event(
			answers, MailEvent.DRAFT_KEPT, "A person has the draft in hand", run=run, draft=name
		)
		return "kept", name
	mails.update_mail(name, **wish.as_row(), run=run)
	mails.write_event(answers, MailEvent.DRAFT_CHANGED, wish.subject, run=run, draft=name)
	return "changed", name


def write_reply(answers, wish: Wish, run: str | None) -> str:
	"""A mail that is to be sent without a person; it takes the place of an agent's own draft. Gives its name."""
	mails.hold(answers.name)
	draft = mails.open_draft(answers.thread)
	if draft and mails.move_on(draft.name, MailStatus.DRAFT, MailStatus.APPROVED, **wish.as_row(), run=run):
		return draft.name
	place = mails.count_outgoing(answers.thread)
	return mails.insert_outgoing(answers, {**wish.as_row(), "run": run}, MailStatus.APPROVED, place)[0]


def find_clerk() -> str | None:
	"""The agent that sorts and drafts: that of Huf Settings; else, where there is a default model, one made for it."""
	settings = frappe.get_cached_doc("Huf Settings")
	if settings.mail_agent:
		return settings.mail_agent
	if not settings.default_model:
		return None
	if not frappe.db.exists("Agent", CLERK):
		values = {
			"agent_name": CLERK,
			"description": "Sorts mail and drafts replies",
			"instructions": CLERK_WORDS,
		}
		doc = frappe.get_doc({"doctype": "Agent", **values, "allow_chat": 0, "persist_conversation": 0})
		doc.insert(ignore_permissions=True, ignore_if_duplicate=True)
		frappe.db.commit()
	return CLERK
