"""Ingests mail that Frappe itself receives or sends: Communications of a mailbox's Email Account."""

from dataclasses import replace
from mimetypes import guess_type

import frappe
from frappe import _

from huf.ai.core.database_connections import let_statements_wait
from huf.ai.core.files import read_stored_bytes
from huf.ai.core.times import to_utc
from huf.ai.mail import store
from huf.ai.mail.html_text import has_tags, html_to_text
from huf.ai.mail.intake import IncomingMail, ingest
from huf.ai.mail.message import Attachment, MailMessage, parse_headers
from huf.ai.mail.quoting import extract_new_text
from huf.ai.storage.outgoing_mail import own_account_name

NOT_CHOSEN = (
	"The Email Account {0} receives mail for this address. Agents read it once a System Manager has chosen "
	"the account in this mailbox."
)


def take_communication(doc, method: str | None = None) -> None:
	"""Called by Frappe for each Communication, in its transaction: ingests mail of a mailbox's Email Account.

	A Communication written here is complete when it is inserted, a received one when it is saved again.
	"""
	is_whole = bool(doc.flags.in_receive) != bool(doc.flags.in_insert)
	if not is_whole or doc.communication_type != "Communication" or doc.communication_medium != "Email":
		return
	mailbox = find_mailbox(doc)
	if mailbox:
		mail = IncomingMail(message_from_communication(doc), by_person=doc.sent_or_received == "Sent")
		with let_statements_wait():
			ingest(mailbox, mail)


def find_mailbox(doc):
	"""The mailbox of a Communication's account, or None; mailboxes with an IMAP server take nothing from
	Frappe, others only from an account that a System Manager has chosen, or that sends for them.
	"""
	address = (
		frappe.get_cached_value("Email Account", doc.email_account, "email_id") if doc.email_account else None
	)
	if not address:
		return None
	fields = ["name", "email_account", "imap_host"]
	mailbox = frappe.db.get_value(store.MAILBOX, {"email": address, "enabled": 1}, fields, as_dict=True)
	# On Frappe 15, a filter "not set" of `db.get_value` would pass over the empty text that a form stores.
	if not mailbox or mailbox.imap_host:
		return None
	if doc.email_account not in (mailbox.email_account, own_account_name(mailbox.name)):
		store.record_mailbox_error(mailbox.name, _(NOT_CHOSEN).format(doc.email_account))
		return None
	return store.read_mailbox(mailbox.name)


def message_from_communication(doc) -> MailMessage:
	"""The mail as far as Frappe stored it: of the headers, only these and its date."""
	headers = {
		"Message-ID": f"<{doc.message_id}>" if doc.message_id else "",
		"From": doc.sender,
		"To": doc.recipients,
		"Cc": doc.cc,
		"Subject": doc.subject,
	}
	if doc.in_reply_to:
		answered = frappe.db.get_value("Communication", doc.in_reply_to, "message_id")
		headers["In-Reply-To"] = f"<{answered}>" if answered else ""
	message = parse_headers(headers)
	content = doc.content or ""
	# Frappe stores plain text unchanged.
	text = html_to_text(content) if has_tags(content) else content.strip()
	return replace(
		message,
		date=to_utc(doc.communication_date) if doc.communication_date else None,
		text=text,
		new_text=extract_new_text(text),
		attachments=read_communication_files(doc),
		digest=message.digest if doc.message_id else doc.name,
	)


def read_communication_files(doc) -> tuple[Attachment, ...]:
	files = getattr(doc, "_attachments", None) or ()
	return tuple(
		Attachment(
			file.file_name,
			guess_type(file.file_name)[0] or "application/octet-stream",
			read_stored_bytes(file),
		)
		for file in files
	)
