"""People's actions on mail: writing, editing, sending and discarding replies, assigning threads, and
reprocessing.
"""

from collections.abc import Mapping, Sequence

import frappe
from frappe import _
from frappe.utils import now

from huf.ai.core.errors import UsageError
from huf.ai.core.mail_types import Direction, MailEvent, MailJob, MailStatus
from huf.ai.mail import drafts, store, threads
from huf.ai.mail.compose import read_recipients
from huf.ai.mail.drafts import Reply
from huf.ai.mail.intake import describe_unreadable, enqueue_mail
from huf.ai.mail.jobs import find_reply_recipients, get_categories, message_from_row
from huf.ai.mail.stored_reasons import BY, TAKEN_OVER, TO, translate_reason
from huf.ai.mail.triage import needs_reply
from huf.ai.storage.outgoing_mail import enqueue_sending, find_sending_problem

UNSENT = (MailStatus.DRAFT, MailStatus.HELD, MailStatus.FAILED)
"""Statuses of outgoing mail that a person may send or discard."""
ENDED = (MailStatus.DONE, MailStatus.FAILED, MailStatus.SKIPPED, MailStatus.WITH_PERSON)
"""Statuses of incoming mail that agents no longer work on."""
MAX_WAITING = 200


# --- replies ---


def list_waiting_mails() -> list:
	"""What waits for the session user, newest first: unsent replies, and mails that a person has to answer,
	unless such a reply answers them or they are assigned to somebody else.
	"""
	if not frappe.has_permission(store.MAIL, "read"):
		return []
	replies = list_mails(Direction.OUTGOING, UNSENT, fields=["text"])
	answered = {each.reply_to_mail for each in replies}
	mine = {"assigned_to": ["in", ["", frappe.session.user]]}
	mails = list_mails(Direction.INCOMING, threads.FOR_PEOPLE, mine)
	waiting = [*clear_unreadable_links(replies), *(each for each in mails if each.name not in answered)]
	return sorted(waiting, key=lambda each: each.creation, reverse=True)


def list_mails(
	direction: Direction,
	statuses: Sequence[MailStatus],
	filters: Mapping | None = None,
	fields: Sequence[str] = (),
) -> list:
	wanted = {"direction": direction.value, "status": ["in", [each.value for each in statuses]]}
	rows = frappe.get_list(
		store.MAIL,
		filters={**wanted, **(filters or {})},
		fields=[*store.LIST_FIELDS, *fields],
		order_by="creation desc",
		limit_page_length=MAX_WAITING,
	)
	for row in rows:
		row.reason = translate_reason(row.reason)
	return rows


def mark_waiting_replies(rows: list) -> list:
	"""Sets `reply_waiting` on the rows of mails: the name of an unsent reply, or None."""
	if not rows:
		return rows
	filters = {
		"reply_to_mail": ["in", [row.name for row in rows]],
		"status": ["in", [each.value for each in UNSENT]],
	}
	found = frappe.get_all(store.MAIL, filters, ["name", "reply_to_mail"], order_by="creation asc")
	waiting = {each.reply_to_mail: each.name for each in found}
	for row in rows:
		row.reply_waiting = waiting.get(row.name)
	return rows


def clear_unreadable_links(rows: list) -> list:
	"""Clears `reply_to_mail` in the rows of replies whose mail is deleted, or is not the session user's."""
	names = list({row.reply_to_mail for row in rows if row.reply_to_mail})
	filters = {"name": ["in", names]}
	found = frappe.get_list(store.MAIL, filters=filters, pluck="name", order_by="name asc") if names else []
	for row in rows:
		if row.reply_to_mail not in found:
			row.reply_to_mail = None
	return rows


def begin_reply(doc) -> dict:
	"""Open an empty draft of a person for an incoming mail, or the draft that its thread already has, which
	then answers this mail.
	"""
	reply = Reply(find_reply_recipients(doc), doc.subject or "", "")
	name, is_new = drafts.find_or_insert_draft(doc, reply, None)
	values = {"edited_by": frappe.session.user} if is_new else store.name_answered(doc)
	store.change_status(name, MailStatus.DRAFT, MailStatus.DRAFT, **values)
	return {"name": name}


def read_draft_edits(doc, text: str | None, subject: str | None, to: str | None) -> dict:
	"""The fields a person has changed. Raises UsageError for an invalid address."""
	try:
		# Only the addresses: they are compared with those of the thread.
		recipients = ", ".join(read_recipients(doc.recipients if to is None else to))
	except ValueError as error:
		raise UsageError(str(error)) from None
	values = {"text": text, "subject": subject, "recipients": recipients}
	values = {key: value for key, value in values.items() if value is not None and value != doc.get(key)}
	return {**values, "edited_by": frappe.session.user} if values else {}


def edit_reply(doc, text: str, subject: str | None, to: str | None, modified: str | None = None) -> dict:
	"""Change a reply that waits for approval: {name, status, modified}. Raises UsageError as `change_reply`
	does, and if the reply has changed since `modified`.
	"""
	refuse_if_changed(doc.name, modified)
	values = read_draft_edits(doc, text, subject, to)
	if not values:
		return {"name": doc.name, "status": doc.status, "modified": doc.modified}
	return change_reply(doc, MailStatus.DRAFT, MailEvent.DRAFT_CHANGED, values)


def approve_reply(
	doc, text: str | None, subject: str | None, to: str | None, modified: str | None = None
) -> dict:
	"""Approve a reply with these edits and queue it: {name, status, modified}. Raises UsageError if it cannot
	be sent, or as `edit_reply` does.
	"""
	refuse_if_changed(doc.name, modified)
	if problem := find_sending_problem(doc.sender):
		raise UsageError(problem)
	values = {
		**read_draft_edits(doc, text, subject, to),
		"approved_by": frappe.session.user,
		"reason": None,
		"attempts": 0,
	}
	if not (values.get("text", doc.text) or "").strip():
		raise UsageError(_("This reply has no text. Write it, then send it."))
	result = change_reply(doc, MailStatus.APPROVED, MailEvent.APPROVED, values)
	enqueue_sending(doc.name)
	return result


def discard_reply(doc) -> dict:
	"""Discard an unsent reply: {name, status, modified}. Raises UsageError as `change_reply` does."""
	return change_reply(doc, MailStatus.DISCARDED, MailEvent.DISCARDED, {})


def refuse_if_changed(name: str, modified: str | None) -> None:
	"""Raises UsageError if a reply is not as it was at `modified`; locks its row until the commit."""
	if modified and str(frappe.db.get_value(store.MAIL, name, "modified", for_update=True)) != modified:
		text = _("This reply has changed since you opened it. Look at its new text, then save or send again.")
		raise UsageError(text)


def change_reply(doc, status: MailStatus, event: MailEvent, values: dict) -> dict:
	"""Change an outgoing mail on behalf of the session user: {name, status, modified}.

	Raises UsageError if somebody else has changed its status since `doc` was read.
	"""
	if not store.change_status(doc.name, MailStatus(doc.status), status, modified=now(), **values):
		raise not_a_draft_error(frappe.db.get_value(store.MAIL, doc.name, "status"))
	store.write_event(doc, event, BY.format(user=frappe.session.user), run=doc.run)
	modified = frappe.db.get_value(store.MAIL, doc.name, "modified")
	return {"name": doc.name, "status": status.value, "modified": modified}


def not_a_draft_error(status: str) -> UsageError:
	return UsageError(_("This mail is no longer a draft. Its status is {0}.").format(_(status)))


# --- threads ---


def assign_thread(doc, user: str, reason: str) -> dict:
	"""Assign a thread to a user, who may then read and answer it. Agents no longer process it, and this mail
	waits for the user.
	"""
	if not frappe.db.get_value("User", user, "enabled") or not frappe.has_permission(
		store.MAIL, "read", user=user
	):
		raise UsageError(
			_("{0} cannot read mail. Choose an enabled user with the role Huf User.").format(user)
		)
	store.set_thread_user(doc.thread, user)
	if doc.status in [each.value for each in ENDED]:
		store.change_status(doc.name, MailStatus(doc.status), MailStatus.WITH_PERSON, reason=None)
	store.write_event(doc, MailEvent.ESCALATED, TO.format(recipients=f"{user} {reason}".strip()))
	return {"thread": doc.thread, "with_person": True, "assigned_to": user}


def hand_over_thread(doc, reason: str) -> dict:
	"""Mark a thread as handled by a person, so that agents do not reply: {thread, with_person}."""
	if not threads.is_with_person(doc.thread):
		store.write_event(doc, MailEvent.ESCALATED, reason or TAKEN_OVER.format(user=frappe.session.user))
	return {"thread": doc.thread, "with_person": True}


def return_thread(doc) -> dict:
	"""Return a thread to its agent: {thread, with_person}. Mails that a person had to answer are done."""
	if threads.is_with_person(doc.thread):
		store.set_thread_user(doc.thread, None)
		store.end_mails(threads.list_mails_for_people(doc.thread))
		store.write_event(doc, MailEvent.GIVEN_BACK, BY.format(user=frappe.session.user))
	return {"thread": doc.thread, "with_person": False}


# --- processing again ---


def reclassify(doc, category: str | None) -> dict:
	"""Set a mail's category, or let a model choose one, and queue the drafting of a reply if one is due."""
	if category is None:
		return queue_again(doc, MailJob.CLASSIFY)
	categories = get_categories()
	if category not in [each.name for each in categories]:
		raise UsageError(_("There is no category {0}.").format(category))
	store.write_event(doc, MailEvent.CLASSIFIED, f"{category}: {frappe.session.user}")
	store.update_mail(doc.name, category=category)
	if needs_reply(message_from_row(doc), category, categories) and not threads.is_with_person(doc.thread):
		return queue_again(doc, MailJob.DRAFT)
	if doc.status == MailStatus.FAILED.value:
		store.change_status(doc.name, MailStatus.FAILED, MailStatus.DONE, reason=None)
	return {"name": doc.name, "category": category}


def run_again(doc) -> dict:
	"""Let agents process an incoming mail again from the beginning."""
	return queue_again(doc, MailJob.AGENT_PROCESS if doc.agent else MailJob.CLASSIFY)


def queue_again(doc, job: MailJob) -> dict:
	"""Queue a processed incoming mail again: {name, status}. Raises UsageError for any other mail."""
	is_incoming = doc.direction == Direction.INCOMING.value
	if is_incoming and not doc.route:
		raise UsageError(doc.reason or describe_unreadable())
	is_ended = is_incoming and doc.status in [each.value for each in ENDED]
	if is_ended and threads.is_with_person(doc.thread):
		raise UsageError(_("The thread is with a person. Return it to agents first."))
	values = {"job": job.value, "attempts": 0, "reason": None}
	if not is_ended or not store.change_status(doc.name, MailStatus(doc.status), MailStatus.QUEUED, **values):
		raise UsageError(_("This mail is being processed, or is outgoing. Wait until it is done."))
	store.write_event(doc, MailEvent.RUN_AGAIN, f"{job.value}: {frappe.session.user}")
	enqueue_mail(doc.name)
	return {"name": doc.name, "status": MailStatus.QUEUED.value}
