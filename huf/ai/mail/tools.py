"""Tools of an agent that works on a mail: answer it, draft an answer, hand it to a person.

They write rows and nothing else: sending is a worker's, after the commit. A machine's mail is never answered.
"""

import frappe

from huf.ai.core.egress import find_outsiders
from huf.ai.core.errors import ToolError
from huf.ai.core.mail_types import MailEvent
from huf.ai.core.types import Effect
from huf.ai.mail import drafts, store, threads
from huf.ai.mail.compose import read_recipients
from huf.ai.mail.threads import is_for_machine
from huf.ai.tools.registry import tool
from huf.ai.tools.taint import mail_of

WAITS = "A person reads it before it is sent."


@tool(effect=Effect.WRITE, documents_only=True)
def send_reply(to: str, subject: str, body: str) -> dict:
	"""Send an email reply in the thread that you work on; where a person has to allow it, it becomes a draft

	Args:
		to: The address, or several with commas between them
		subject: The subject
		body: The text, without a quote of what is answered
	"""
	to = parse_recipients(to)
	answers = get_answerable_mail(to)
	why = find_approval_reason(answers, to)
	if why:
		return draft_reply(answers, drafts.Reply(to, subject, body, why))
	name = drafts.write_reply(answers, drafts.Reply(to, subject, body), frappe.flags.huf_run)
	enqueue(name)
	return {"status": "sent", "mail": name}


@tool(effect=Effect.WRITE, documents_only=True)
def create_draft(to: str, subject: str, body: str) -> dict:
	"""Create a draft of a reply for a person to review and send

	Args:
		to: The address, or several with commas between them
		subject: The subject
		body: The text, without a quote of what is answered
	"""
	to = parse_recipients(to)
	return draft_reply(get_answerable_mail(to), drafts.Reply(to, subject, body))


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


def draft_reply(answers, wish: drafts.Reply) -> dict:
	done, name = drafts.write_draft(answers, wish, frappe.flags.huf_run)
	if done == "kept":
		told = "A person is at work on the draft of this thread. It was left as it is, and this text was not kept."
		return {"status": "kept", "draft": name, "message": told}
	return {"status": "created", "draft": name, "message": " ".join(filter(None, (wish.why, WAITS)))}


def find_approval_reason(answers, to: tuple[str, ...]) -> str | None:
	"""Why a reply is not sent at once."""
	if outsiders := find_outsiders(to, threads.read_participants(answers.thread)):
		return f"{', '.join(outsiders)} takes no part in this thread."
	agent = frappe.db.get_value("Agent Run", frappe.flags.huf_run, "agent")
	if not frappe.get_cached_value("Agent", agent, "may_send_mail"):
		return "The agent may not send mail by itself."
	draft = store.read_open_draft(answers.thread)
	if draft and draft.edited_by:
		return "A person is at work on the draft of this thread."
	return None


def parse_recipients(to: str) -> tuple[str, ...]:
	try:
		return read_recipients(to)
	except ValueError as error:
		raise ToolError(str(error)) from None


def get_current_mail():
	"""The mail that the run is about. Raises ToolError where it is about none."""
	row = store.read_mail(mail_of(frappe.flags.huf_run) or "")
	if not row:
		raise ToolError("This run is not about a mail, so there is nothing to answer or hand over.")
	return row


def get_answerable_mail(to: tuple[str, ...]):
	"""The mail that the run is about, if it may be answered. Raises ToolError."""
	row = get_current_mail()
	if is_for_machine(row, to):
		raise ToolError(f"A machine wrote this mail ({row.automated}), and those are never answered.")
	if threads.is_with_person(row.thread):
		raise ToolError("A person has this conversation in hand. Do not answer it.")
	return row


def enqueue(name: str) -> None:
	frappe.enqueue(
		"huf.ai.mail.outbox.send_mail",
		queue="short",
		job_id=f"huf-mail-{name}-0",
		enqueue_after_commit=True,
		mail=name,
	)
