"""What agents write to people: one draft a thread, never over a person's words. Writes rows; commits and sends nothing."""

from dataclasses import dataclass

import frappe

from huf.ai.core.mail_types import MailEvent, MailStatus
from huf.ai.mail import store
from huf.ai.mail.compose import build_reply_subject
from huf.ai.storage.rows import clip


@dataclass(frozen=True)
class Reply:
	"""A mail as an agent or a person wants it. `why`: what keeps it from being sent without a person."""

	to: tuple[str, ...]
	subject: str
	body: str
	why: str | None = None

	def as_row(self) -> dict:
		return {
			"recipients": ", ".join(self.to),
			"subject": clip(build_reply_subject(self.subject), 1000),
			"text": self.body,
			"reason": self.why,
		}


def write_draft(answers, wish: Reply, run: str | None) -> tuple[str, str]:
	"""Write the draft of a thread (`answers`: the row it answers); gives (what was done, its name).

	created, changed; or kept: a person has edited it, and nobody writes over that.
	"""
	# One at a time where the database can wait. Counted before it is looked for: who comes second finds the draft, or has
	# the same place.
	store.lock_mail(answers.name)
	place = store.count_outgoing(answers.thread)
	draft = store.read_open_draft(answers.thread)
	name = draft.name if draft else None
	if name is None:
		row = {**wish.as_row(), "run": run}
		name, is_new = store.insert_outgoing(answers, row, MailStatus.DRAFT, place)
		if is_new:
			store.write_event(answers, MailEvent.DRAFTED, wish.subject, run=run, draft=name)
			return "created", name
	# The row is held, and from here seen as it is: a person who saves it now is waited for, or waits.
	is_open = store.change_status(name, MailStatus.DRAFT, MailStatus.DRAFT)
	if not is_open or frappe.db.get_value(store.MAIL, name, "edited_by"):
		store.write_event(
			answers, MailEvent.DRAFT_KEPT, "A person has the draft in hand", run=run, draft=name
		)
		return "kept", name
	store.update_mail(name, **wish.as_row(), run=run)
	store.write_event(answers, MailEvent.DRAFT_CHANGED, wish.subject, run=run, draft=name)
	return "changed", name


def write_reply(answers, wish: Reply, run: str | None) -> str:
	"""A mail that is to be sent without a person; it takes the place of an agent's own draft. Gives its name."""
	store.lock_mail(answers.name)
	draft = store.read_open_draft(answers.thread)
	if draft and store.change_status(
		draft.name, MailStatus.DRAFT, MailStatus.APPROVED, **wish.as_row(), run=run
	):
		return draft.name
	place = store.count_outgoing(answers.thread)
	return store.insert_outgoing(answers, {**wish.as_row(), "run": run}, MailStatus.APPROVED, place)[0]
