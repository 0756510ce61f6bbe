"""Reads delivery reports (RFC 3464): a sent mail that did not arrive becomes Failed, with the reason.

Anybody can write a report: it counts only if it names a mail that was sent and one of its recipients.
"""

from collections.abc import Iterator
from email.parser import BytesHeaderParser

from frappe import _

from huf.ai.core.errors import add_details
from huf.ai.core.mail_types import MailEvent, MailStatus
from huf.ai.core.stored_text import clip
from huf.ai.mail import store
from huf.ai.mail.compose import read_recipients
from huf.ai.mail.delivery import MAX_ERROR_CHARS, describe_partial_delivery, forget_reached
from huf.ai.mail.message import MailMessage, first_id

ORIGINALS = ("message/rfc822", "text/rfc822-headers", "message/rfc822-headers")
"""Content types of the part with the returned mail."""
HANDED_OVER = (MailStatus.SENT.value, MailStatus.QUEUED.value, MailStatus.FAILED.value)
"""A report may arrive before the mail queue is read, once a minute; each recipient may have its own."""


def find_bounced_mail(mailbox: str, message: MailMessage):
	"""The row of the sent mail that a delivery report is about; None for any other mail."""
	message_id = read_original_id(message)
	row = store.read_mail(store.mail_name(mailbox, message_id)) if message_id else None
	is_handed_over = row and row.email_queue and row.status in HANDED_OVER
	return row if is_handed_over and read_failed_recipients(message, row) else None


def record_bounce(row, message: MailMessage) -> None:
	"""Mark a sent mail (its row) as failed for the recipients whom a delivery report names."""
	failed = read_failed_recipients(message, row)
	forget_reached(row.name, failed)
	advice = describe_partial_delivery(row.name) or _(
		"It did not arrive. Correct the address, or send it again."
	)
	details = "; ".join(f"{address}: {words}" for address, words in failed.items())
	reason = add_details(advice, clip(details, MAX_ERROR_CHARS))
	if store.change_status(row.name, MailStatus(row.status), MailStatus.FAILED, reason=reason):
		store.write_event(row, MailEvent.FAILED, reason, run=row.run, queue=row.email_queue)


def read_failed_recipients(message: MailMessage, row) -> dict[str, str]:
	"""{recipient: the server's reply} for the recipients of a sent mail who did not receive it."""
	recipients = read_recipients(row.recipients)
	return {address: words for address, words in list_failed_recipients(message) if address in recipients}


def list_failed_recipients(message: MailMessage) -> Iterator[tuple[str, str]]:
	reports = (each.content for each in message.attachments if each.content_type == "message/delivery-status")
	for group in b"\n\n".join(reports).replace(b"\r\n", b"\n").split(b"\n\n"):
		fields = BytesHeaderParser().parsebytes(group.strip())
		if str(fields["Action"] or "").strip().lower() != "failed":
			continue
		words = " ".join(str(fields["Diagnostic-Code"] or fields["Status"] or "").split())
		# The final recipient of a forwarded mail is an address that its sender does not know.
		for name in ("Original-Recipient", "Final-Recipient"):
			yield str(fields[name] or "").rpartition(";")[2].strip(" <>").lower(), words


def read_original_id(message: MailMessage) -> str:
	"""The Message-ID of the mail that a report returns; may be empty."""
	returned = next((each.content for each in message.attachments if each.content_type in ORIGINALS), b"")
	return first_id(BytesHeaderParser().parsebytes(returned)["Message-ID"])
