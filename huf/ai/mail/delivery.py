"""Follows outgoing mail through the site's Email Queue: Queued, then Sent or Failed with the reason.

Frappe's queue reports nothing: it is read once a minute (`follow_queue`), and whenever a page shows mail.
"""

from collections.abc import Iterable

import frappe
from frappe import _
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.errors import add_details
from huf.ai.core.mail_types import Direction, MailEvent, MailStatus
from huf.ai.core.stored_text import clip
from huf.ai.mail import store
from huf.ai.mail.stored_reasons import TO, translate_reason

FAILED_STATUSES = ("Error", "Expired", "Partially Errored")
LOST_AFTER_S = 3600
"""No worker takes so long over one mail. Frappe leaves the mail of a worker that died at "Sending"."""
MAX_ERROR_CHARS = 300


def follow_queue() -> list[str]:
	"""Store what became of queued mail; returns the names of mails that were sent or failed. Scheduled every
	minute. Commits.
	"""
	queued = frappe.get_all(
		store.MAIL,
		{"status": MailStatus.QUEUED.value, "direction": Direction.OUTGOING.value},
		["name", "thread", "mailbox", "run_as", "run", "recipients", "reason", "email_queue"],
		order_by="creation asc",
		limit=500,
	)
	settled = []
	for row, (status, reason) in zip(queued, read_delivery_states(queued), strict=True):
		if status is MailStatus.QUEUED:
			if reason != row.reason:
				store.update_mail(row.name, reason=reason)
		elif store.change_status(row.name, MailStatus.QUEUED, status, reason=reason):
			kind = MailEvent.SENT if status is MailStatus.SENT else MailEvent.FAILED
			store.write_event(
				row, kind, reason or TO.format(recipients=row.recipients), run=row.run, queue=row.email_queue
			)
			settled.append(row.name)
	frappe.db.commit()
	return settled


def add_current_states(rows: list) -> list:
	"""The rows of mails, those in the queue with the status and reason that they have there now. Stored
	reasons are in English.
	"""
	for row in rows:
		row.reason = translate_reason(row.get("reason"))
	queued = [
		row
		for row in rows
		if row.status == MailStatus.QUEUED.value and row.direction == Direction.OUTGOING.value
	]
	for row, (status, reason) in zip(queued, read_delivery_states(queued), strict=True):
		row.status, row.reason = status.value, reason
	return rows


def read_delivery_states(rows: Iterable) -> list[tuple[MailStatus, str | None]]:
	"""(status, reason) of mails in the queue, read from their Email Queue rows."""
	rows = list(rows)
	names = [row.email_queue for row in rows]
	fields = ["name", "status", "error", "modified"]
	found = (
		frappe.get_all("Email Queue", {"name": ["in", names]}, fields, order_by="name asc") if names else []
	)
	by_name = {each.name: each for each in found}
	return [to_state(row.name, by_name.get(row.email_queue)) for row in rows]


def to_state(mail: str, queued) -> tuple[MailStatus, str | None]:
	if queued is None:
		reason = _("The entry in the mail queue is gone, so it is not known whether it was sent.")
		return MailStatus.FAILED, reason
	if queued.status == "Sent":
		return MailStatus.SENT, None
	lines = (queued.error or "").strip().splitlines() or [""]
	error = clip(lines[-1].strip().rstrip("."), MAX_ERROR_CHARS)
	if queued.status in FAILED_STATUSES or is_lost(queued):
		return MailStatus.FAILED, add_details(describe_delivery_failure(mail), error or queued.status)
	if error:
		return MailStatus.QUEUED, add_details(_("It could not be sent yet and is tried again."), error)
	return MailStatus.QUEUED, None


def describe_delivery_failure(mail: str) -> str:
	advice = _("Before you send it again, check the outgoing server and whether it has arrived.")
	unconfirmed = f"{_('The mail server has not confirmed that it took it.')} {advice}"
	return describe_partial_delivery(mail) or unconfirmed


def describe_partial_delivery(mail: str) -> str:
	"""Which recipients a failed mail has reached; empty if it has reached nobody."""
	names = ", ".join(sorted(list_reached(mail)))
	return names and _("Only {0} got it. Correct the other addresses; nobody gets it twice.").format(names)


def is_lost(queued) -> bool:
	before = add_to_date(now_datetime(), seconds=-LOST_AFTER_S, as_datetime=True)
	return queued.status == "Sending" and queued.modified < before


def list_reached(mail: str) -> set[str]:
	"""The recipients whom any attempt to send an Agent Mail has reached."""
	filters = {**recipients_of(mail), "status": "Sent"}
	return set(frappe.get_all("Email Queue Recipient", filters, pluck="recipient", order_by="recipient asc"))


def forget_reached(mail: str, recipients: Iterable[str]) -> None:
	"""Record that an Agent Mail has not reached these recipients after all."""
	filters = {**recipients_of(mail), "recipient": ["in", list(recipients)]}
	frappe.db.set_value("Email Queue Recipient", filters, "status", "Not Sent", update_modified=False)


def recipients_of(mail: str) -> dict:
	"""Filters for the Email Queue Recipients of all attempts to send an Agent Mail."""
	about = {"reference_doctype": store.MAIL, "reference_name": mail}
	queues = frappe.get_all("Email Queue", about, pluck="name", order_by="creation asc")
	return {"parent": ["in", queues or [""]], "parenttype": "Email Queue"}
