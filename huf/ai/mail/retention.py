"""Applies the retention settings to mail. Rows stay, so that a mail is not ingested again."""

import frappe
from frappe import _
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.mail_types import Direction, MailEvent, MailStatus
from huf.ai.core.settings import get_settings
from huf.ai.knowledge.store import delete_items, find_document_items
from huf.ai.mail import store
from huf.ai.mail.store import EVENT, MAIL
from huf.ai.storage.rows import blank_fields, process_in_batches

OPEN = (MailStatus.QUEUED, MailStatus.STARTED, MailStatus.WITH_PERSON, MailStatus.DRAFT, MailStatus.APPROVED)
LEFT_UNSENT = (MailStatus.HELD, MailStatus.FAILED)
"""Statuses of replies that people may still send, until they are as old as contents may be."""
CONTENTS = (
	"subject",
	"text",
	"new_text",
	"prompt",
	"prepared",
	"checks",
	"attachments",
	"raw_file",
	"sender_name",
)


def blank_old_mails() -> int:
	"""Blank contents and delete files of old mails that need no further work; return how many.

	Replies that could not be sent and that nobody has changed since are discarded. Scheduled daily; commits.
	"""
	settings = get_settings()
	days = [days for days in (settings.keep_contents_days, settings.keep_runs_days) if days]
	if not days:
		return 0
	before = add_to_date(now_datetime(), days=-min(days), as_datetime=True)
	outgoing, unsent = {"direction": Direction.OUTGOING.value}, [each.value for each in LEFT_UNSENT]
	left = {**outgoing, "modified": ["<", before], "status": ["in", unsent]}
	discarded = process_in_batches(MAIL, left, discard_replies)
	# `taken_by` is blanked too, so that a blank mail does not match again.
	old = {"creation": ["<", before], "taken_by": ["is", "set"]}
	is_open = [each.value for each in OPEN]
	incoming = {**old, "direction": Direction.INCOMING.value, "status": ["not in", is_open]}
	blanked = process_in_batches(MAIL, incoming, blank_mails)
	ended = {**old, **outgoing, "status": ["not in", [*is_open, *unsent]]}
	return discarded + blanked + process_in_batches(MAIL, ended, blank_mails)


def discard_replies(names: list[str]) -> None:
	reason = _("It was not sent for as long as contents are kept, so its text was deleted.")
	fields = ["name", "thread", "mailbox", "run_as", "run", "status"]
	for row in frappe.get_all(MAIL, {"name": ["in", names]}, fields, order_by="creation asc"):
		if store.change_status(row.name, MailStatus(row.status), MailStatus.DISCARDED, reason=reason):
			blank_mails([row.name])
			store.write_event(row, MailEvent.DISCARDED, reason, run=row.run)


def blank_mails(names: list[str]) -> None:
	store.delete_files(names)
	blank_fields(MAIL, {"name": ["in", names]}, (*CONTENTS, "taken_by"))
	for name in names:
		delete_items(find_document_items(MAIL, name))
	blank_fields(EVENT, {"mail": ["in", names]}, ("summary", "details"))
