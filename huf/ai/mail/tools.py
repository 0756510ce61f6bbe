"""Tools of an agent that works on a mail: reply, draft a reply, hand the thread over to a person.

They only write rows; a worker sends after the commit. An automated mail is never answered, and no agent
writes over a person's draft or, without approval, to an address outside the thread.
"""

import frappe

from huf.ai.core.contacts import find_outsiders
from huf.ai.core.errors import ToolError
from huf.ai.core.mail_types import MailEvent
from huf.ai.core.stored_text import clip
from huf.ai.core.types import Effect
from huf.ai.mail import drafts, store, threads
from huf.ai.mail.compose import read_recipients
from huf.ai.mail.drafts import Reply
from huf.ai.receipts.claims import list_unconfirmed_claims
from huf.ai.storage.outgoing_mail import enqueue_sending, find_sending_problem
from huf.ai.tools.registry import tool
from huf.ai.tools.taint import find_mail

MAX_CLAIM_CHARS = 300
APPROVAL_NEEDED = "A person reads it before it is sent."


@tool(effect=Effect.WRITE, documents_only=True)
def send_reply(to: str, subject: str, body: str) -> dict:
	"""Send an email reply in the thread that you work on; where a person has to allow it, it becomes a draft

	Args:
		to: The address, or several with commas between them
		subject: The subject
		body: Plain text without Markdown, and without a quote of what is answered
	"""
	recipients = parse_recipients(to)
	answers = get_answerable_mail(recipients)
	reason = find_approval_reason(answers, recipients, body)
	if reason:
		return draft_reply(answers, Reply(recipients, subject, body, reason))
	name = drafts.write_reply(answers, Reply(recipients, subject, body), frappe.flags.huf_run)
	if name is None:
		return draft_reply(answers, Reply(recipients, subject, body))
	enqueue_sending(name)
	return {"status": "queued", "mail": name}


@tool(effect=Effect.WRITE, documents_only=True)
def create_draft(to: str, subject: str, body: str) -> dict:
	"""Create a draft of a reply for a person to review and send

	Args:
		to: The address, or several with commas between them
		subject: The subject
		body: Plain text without Markdown, and without a quote of what is answered
	"""
	recipients = parse_recipients(to)
	answers = get_answerable_mail(recipients)
	return draft_reply(answers, Reply(recipients, subject, body, describe_outsiders(answers, recipients)))


@tool(effect=Effect.WRITE, documents_only=True)
def escalate(reason: str) -> dict:
	"""Hand the conversation over to a person; from then on no agent works on it until it is given back

	Args:
		reason: Why a person is needed, and what they should know
	"""
	row = get_current_mail()
	if not threads.is_with_person(row.thread):
		store.write_event(row, MailEvent.ESCALATED, reason, run=frappe.flags.huf_run)
	return {"status": "escalated"}


def draft_reply(answers, reply: Reply) -> dict:
	outcome, name = drafts.write_draft(answers, reply, frappe.flags.huf_run)
	if outcome == "kept":
		message = (
			"A person is editing the draft of this thread. It was not changed, and this text was not stored."
		)
		return {"status": "kept", "draft": name, "message": message}
	message = " ".join(filter(None, (reply.reason, APPROVAL_NEEDED)))
	return {"status": "created", "draft": name, "message": message}


def find_approval_reason(answers, recipients: tuple[str, ...], body: str) -> str | None:
	"""Why a person must approve a reply before it is sent, or None."""
	if reason := describe_outsiders(answers, recipients):
		return reason
	if strangers := find_outsiders(recipients, threads.read_participants(answers.thread, also_named=False)):
		return f"{', '.join(strangers)} has written nothing in this thread. Only its mails name the address."
	if problem := find_sending_problem(store.read_mailbox(answers.mailbox).email):
		return problem
	agent = frappe.db.get_value("Agent Run", frappe.flags.huf_run, "agent")
	if not frappe.get_cached_value("Agent", agent, "may_send_mail"):
		return "The agent may not send mail by itself."
	draft = store.read_open_draft(answers.thread)
	if draft and draft.edited_by:
		return "A person is editing the draft of this thread."
	if claims := list_unconfirmed_claims(frappe.flags.huf_run, body):
		return f"No result of the run confirms this: {clip(' '.join(claims), MAX_CLAIM_CHARS)}"
	return None


def describe_outsiders(answers, recipients: tuple[str, ...]) -> str | None:
	"""Which recipients take no part in the thread, for the person who approves the reply, or None."""
	outsiders = find_outsiders(recipients, threads.read_participants(answers.thread))
	return f"{', '.join(outsiders)} takes no part in this thread." if outsiders else None


def parse_recipients(to: str) -> tuple[str, ...]:
	try:
		return read_recipients(to)
	except ValueError as error:
		raise ToolError(str(error)) from None


def get_current_mail():
	"""The row of the mail that the run is about. Raises ToolError if it is about none."""
	row = store.read_mail(find_mail(frappe.flags.huf_run) or "")
	if not row:
		raise ToolError("This run is not about a mail, so there is nothing to answer or hand over.")
	return row


def get_answerable_mail(recipients: tuple[str, ...]):
	"""The row of the mail that the run is about, if it may be answered. Raises ToolError."""
	row = get_current_mail()
	if threads.is_for_machine(row, recipients):
		raise ToolError(f"A machine wrote this mail ({row.automated}). Do not answer it.")
	if threads.is_with_person(row.thread):
		raise ToolError("A person has taken this conversation over. Do not answer it.")
	return row
