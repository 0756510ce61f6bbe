"""Sends approved mail: checks it again immediately before, then puts it into the site's mail queue, once."""

import re
from collections.abc import Sequence

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.mail_types import MailEvent, MailStatus
from huf.ai.core.times import to_utc
from huf.ai.mail import store, threads
from huf.ai.mail.compose import OutgoingMail, compose, read_recipients
from huf.ai.mail.delivery import list_reached
from huf.ai.mail.inbox import InboxError
from huf.ai.mail.intake import get_own_addresses, ingest_sent
from huf.ai.mail.stored_reasons import ANSWERED, MANY_IN_THREAD, MANY_TO_ADDRESS
from huf.ai.storage.outgoing_mail import find_sending_problem, queue_mail

TAG = re.compile(r"\+[^@,]*(?=@)")
"""What ticket systems have in the address of each ticket, as in support+1042@shop.example."""


def send_approved_mail(mail: str) -> bool:
	"""Job: put an approved mail into the mail queue, or hold it if there is an objection. Returns whether it
	was queued.

	Raises InboxError if people's own answers cannot be searched for; the job is then tried again.
	"""
	row = store.read_mail(mail)
	if not row or row.status != MailStatus.APPROVED.value:
		return False
	problem = store.find_mailbox_problem(row)
	if row.reply_to_mail and not problem:
		find_sent_answers(row)
	objection = problem or find_objection(row)
	status = MailStatus.HELD if objection else MailStatus.QUEUED
	if not store.change_status(mail, MailStatus.APPROVED, status, reason=objection):
		frappe.db.rollback()
		return False
	if objection:
		store.write_event(row, MailEvent.HELD, objection, run=row.run)
	else:
		queue_approved(row)
		if row.approved_by:
			end_answered_mails(row)
	frappe.db.commit()
	return not objection


def find_sent_answers(row) -> None:
	"""Ingest people's own answers. Raises InboxError, after recording it on the mailbox and the reply."""
	try:
		ingest_sent(row.mailbox)
	except InboxError as error:
		frappe.db.rollback()
		store.record_mailbox_error(row.mailbox, str(error))
		store.update_mail(row.name, reason=str(error))
		frappe.db.commit()
		raise


def find_objection(row) -> str | None:
	"""Why a mail must not be sent now, for people to read; None if it may be sent."""
	if problem := find_sending_problem(row.sender):
		return problem
	if not row.reply_to_mail:
		return None
	answered = store.read_mail(row.reply_to_mail)
	if not answered:
		return None if row.approved_by else "The mail that it answers was deleted"
	if who := threads.find_answerer(answered, threads.read_approval_time(row.name)):
		return ANSWERED.format(who=who)
	if row.approved_by:
		return None
	if threads.is_with_person(row.thread):
		return "The thread was handed over to a person"
	if threads.is_for_machine(answered, read_recipients(row.recipients)):
		return "A machine wrote what it answers"
	own = set(get_own_addresses(store.read_mailbox(row.mailbox)))
	if own & set(read_recipients(row.recipients)):
		return "It would go to the mailbox itself"
	since = add_to_date(now_datetime(), days=-1, as_datetime=True)
	if threads.count_own_replies(since, thread=row.thread) > threads.MAX_REPLIES_PER_DAY:
		return MANY_IN_THREAD.format(count=threads.MAX_REPLIES_PER_DAY)
	to_address = {"mailbox": row.mailbox, "recipients": ["like", TAG.sub("+%", row.recipients)]}
	if threads.count_own_replies(since, **to_address) > threads.MAX_REPLIES_TO_ADDRESS_PER_DAY:
		return MANY_TO_ADDRESS.format(count=threads.MAX_REPLIES_TO_ADDRESS_PER_DAY, recipients=row.recipients)
	return None


def queue_approved(row) -> None:
	sender_name = row.mailbox and store.read_mailbox(row.mailbox).sender_name
	recipients = read_recipients(row.recipients)
	to, cc = split_copied(row, recipients)
	outgoing = OutgoingMail(
		sender=row.sender,
		sender_name=sender_name or "",
		to=to,
		cc=cc,
		subject=row.subject or "",
		body=row.text or "",
		message_id=row.message_id,
		in_reply_to=row.in_reply_to or "",
		references=(row.message_references or "").split(),
		date=to_utc(now_datetime()),
		automatic=not row.approved_by,
	)
	reached = list_reached(row.name)
	queued = queue_mail(row, compose(outgoing), [each for each in recipients if each not in reached])
	store.update_mail(row.name, email_queue=queued)
	store.write_event(row, MailEvent.QUEUED, f"To {row.recipients}", run=row.run, queue=queued)


def end_answered_mails(row) -> None:
	"""Mark the mail that a person's reply (its row) answers, and earlier ones of its thread, as done."""
	answered = row.reply_to_mail and store.read_mail(row.reply_to_mail)
	if answered:
		earlier = threads.list_mails_for_people(answered.thread)
		store.end_mails(each for each in earlier if each.creation <= answered.creation)


def split_copied(row, recipients: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
	"""(to, cc) of a mail to these recipients: those whom the answered mail had in Cc stay there."""
	answered = row.reply_to_mail and store.read_mail(row.reply_to_mail)
	copied = store.split_addresses(answered.cc) if answered else ()
	to = [each for each in recipients if each not in copied]
	return (to, [each for each in recipients if each in copied]) if to else (recipients, ())
