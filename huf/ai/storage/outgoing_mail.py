"""Stores mail to be sent: rows of Agent Mail, which a job puts into Frappe's Email Queue, and the Email
Accounts by which mailboxes send.
"""

from collections.abc import Sequence

import frappe
from frappe import _

from huf.ai.core.documents import get_or_new
from huf.ai.core.stored_text import clip, digest
from huf.ai.storage.jobs import enqueue_job
from huf.ai.storage.rows import insert_row, update_cached_row

SENDING_TIMEOUT_S = 300
NO_SERVER = (
	"No outgoing mail server is set up for {sender}. Enter an SMTP host in its mailbox, "
	"or create an Email Account with default outgoing mail."
)


def find_sending_problem(sender: str) -> str | None:
	"""Why mail from an address cannot be sent and what to do; None if an outgoing server is configured."""
	for account in ({"email_id": sender}, {"default_outgoing": 1}):
		if frappe.db.exists("Email Account", {"enable_outgoing": 1, **account}):
			return None
	if frappe.conf.get("mail_server"):
		return None
	return _(NO_SERVER).format(sender=sender)


def find_sender() -> str | None:
	"""The sender of new mail: the address of the default outgoing account, else of another one."""
	return frappe.db.get_value(
		"Email Account", {"enable_outgoing": 1}, "email_id", order_by="default_outgoing desc, creation asc"
	)


def mail_name(mailbox: str | None, key: str) -> str:
	"""The name of a mail's row; `key`: its Message-ID, if it has one."""
	return digest("mail", mailbox, key)


def find_sending_run(message_id: str) -> str | None:
	"""The run that sent the mail with this Message-ID from here; None for any other mail, and for one that a
	person approved.
	"""
	mailboxes = frappe.get_all("Agent Mailbox", pluck="name", order_by="name asc")
	names = [mail_name(each, message_id) for each in (*mailboxes, None)]
	sent = {"name": ["in", names], "direction": "Outgoing", "email_queue": ["is", "set"]}
	return frappe.db.get_value("Agent Mail", {**sent, "approved_by": ["is", "not set"]}, "run")


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


def queue_mail(row, message: str, recipients: Sequence[str], doctype: str = "Agent Mail") -> str:
	"""Insert the Email Queue row of a mail and return its name; Frappe sends it once, after the commit.

	`row`: {name, sender, message_id, cc} of a record of `doctype`.
	"""
	doc = frappe.get_doc(
		{
			"doctype": "Email Queue",
			"sender": row.sender,
			"recipients": [{"recipient": each, "status": "Not Sent"} for each in recipients],
			"message": message,
			"message_id": row.message_id,
			"status": "Not Sent",
			"reference_doctype": doctype,
			"reference_name": row.name,
			"show_as_cc": row.cc or "",
			"expose_recipients": "header",
			"add_unsubscribe_link": 0,
			"priority": 1,
		}
	)
	return doc.insert(ignore_permissions=True).name


def own_account_name(mailbox: str) -> str:
	"""The name of the Email Account that a mailbox with its own SMTP settings sends by."""
	return f"Huf {mailbox}"


def save_email_account(mailbox, password: str | None) -> None:
	"""Save the Email Account that a mailbox with its own SMTP settings sends by; Frappe checks the
	connection.
	"""
	name = own_account_name(mailbox.name)
	values = {
		"email_account_name": name,
		"email_id": mailbox.email,
		"enable_outgoing": 1,
		"smtp_server": mailbox.smtp_host,
		"smtp_port": str(mailbox.smtp_port or ""),
		"use_tls": int(mailbox.smtp_security == "STARTTLS"),
		"use_ssl_for_outgoing": int(mailbox.smtp_security == "SSL/TLS"),
		"login_id_is_different": int(bool(mailbox.smtp_user) and mailbox.smtp_user != mailbox.email),
		"login_id": mailbox.smtp_user,
		"password": password,
		"no_smtp_authentication": int(not (mailbox.smtp_user or password)),
		"auth_method": "Basic",
	}
	if mailbox.auth_method == "OAuth":
		values |= {
			"auth_method": "OAuth",
			"connected_app": mailbox.connected_app,
			"connected_user": mailbox.connected_user,
			"no_smtp_authentication": 0,
		}
	get_or_new("Email Account", name).update(values).save(ignore_permissions=True)


def find_replaced_account(mailbox, is_changed: bool) -> str | None:
	"""The Email Account of the site whose mail a mailbox's own server would send: another one of its address
	or, if `is_changed`, its own one that is the site's default, or was before it was disabled.
	"""
	found = find_other_account(mailbox, enable_outgoing=1)
	if not found and is_changed:
		own = {"name": own_account_name(mailbox.name), "default_outgoing": 1}
		found = frappe.db.get_value("Email Account", own)
	return found


def find_other_account(mailbox, **filters) -> str | None:
	"""An Email Account with the address of a mailbox, other than the one that Huf has made for it."""
	others = {"email_id": mailbox.email, "name": ["!=", own_account_name(mailbox.name)]}
	return frappe.db.get_value("Email Account", {**others, **filters})


def disable_email_account(mailbox: str) -> None:
	"""Stop sending by the Email Account of a mailbox whose SMTP settings were removed."""
	if frappe.db.exists("Email Account", name := own_account_name(mailbox)):
		update_cached_row("Email Account", name, {"enable_outgoing": 0})
