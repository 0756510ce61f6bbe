"""Stores mail that agents send: rows of Agent Mail, which a job puts into the mail queue."""

from collections.abc import Sequence

import frappe
from frappe import _

from huf.ai.core.stored_text import clip, digest
from huf.ai.storage.jobs import enqueue_job
from huf.ai.storage.rows import insert_row

SENDING_TIMEOUT_S = 300


def find_sending_problem(sender: str) -> str | None:
	"""Why mail from an address cannot be sent and what to do; None if an outgoing server is configured."""
	for account in ({"email_id": sender}, {"default_outgoing": 1}):
		if frappe.db.exists("Email Account", {"enable_outgoing": 1, **account}):
			return None
	if frappe.conf.get("mail_server"):
		return None
	return _(
		"No outgoing mail server is set up for {0}. Enter an SMTP host in its mailbox, "
		"or create an Email Account with default outgoing mail."
	).format(sender)


def find_sender() -> str | None:
	"""The sender of new mail: the address of the default outgoing account, else of another one."""
	return frappe.db.get_value(
		"Email Account", {"enable_outgoing": 1}, "email_id", order_by="default_outgoing desc, creation asc"
	)


def mail_name(mailbox: str, key: str) -> str:
	"""The name of a mail's row; `key`: its Message-ID, if it has one."""
	return digest("mail", mailbox, key)


def insert_new_mail(sender: str, to: Sequence[str], subject: str, body: str, run: str | None) -> str:
	"""Insert an approved mail of the session user and enqueue its sending after the commit."""
	key = frappe.generate_hash(length=20)
	mailbox = frappe.db.get_value("Agent Mailbox", {"email": sender})
	message_id = f"{key}@{sender.rpartition('@')[2]}"
	row = {
		"mailbox": mailbox,
		"direction": "Outgoing",
		"status": "Approved",
		"thread": digest("thread", key),
		"message_id": message_id,
		"sender": sender,
		"recipients": ", ".join(to),
		"subject": clip(subject, 1000),
		"text": body,
		"run": run,
		"run_as": frappe.session.user,
		"attempts": 0,
		"taken_by": key,  # retention blanks rows that have it
	}
	name = insert_row("Agent Mail", row, name=mail_name(mailbox, message_id))
	enqueue_sending(name)
	return name


def enqueue_sending(name: str, attempt: int = 0, after_commit: bool = True) -> bool:
	"""Enqueue the sending of an approved mail; False if the queue refuses it."""
	return enqueue_job(
		"huf.ai.mail.outbox.send_approved_mail",
		queue="short",
		timeout=SENDING_TIMEOUT_S,
		job_id=mail_job_id(name, attempt),
		after_commit=after_commit,
		mail=name,
	)


def mail_job_id(name: str, attempt: int = 0) -> str:
	"""The ID of the job that answers or sends a mail."""
	return f"huf-mail-{name}-{attempt}"
