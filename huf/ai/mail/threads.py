"""Threads of mails: who takes part, whether a person has one in hand, whether somebody has answered. Only reads."""

from collections.abc import Iterable
from datetime import datetime

import frappe

from huf.ai.core.mail_types import Direction, MailEvent, MailStatus
from huf.ai.mail.store import EVENT, MAIL, mail_name
from huf.ai.storage.rows import digest

MAX_REPLIES_PER_DAY = 5
"""Mails that agents may send by themselves into one thread in a day: more is two machines talking."""


def resolve_thread(mailbox: str, message, own: Iterable[str]) -> tuple[str, bool]:
	"""The thread a mail belongs to, and whether it was there before.

	Who takes no part in a thread does not get into it by naming one of its mails: that would let a stranger read along.
	`own`: addresses of the mailbox itself.
	"""
	named = list(dict.fromkeys([message.in_reply_to, *reversed(message.references)]))
	for reference in filter(None, named):
		known = frappe.db.get_value(MAIL, mail_name(mailbox, reference), "thread")
		if known and (message.sender in read_participants(known) or is_internal(message.sender, own)):
			return known, True
	root = next(iter(message.references), "") or message.in_reply_to or message.key
	thread = digest("thread", mailbox, root)
	if (
		root == message.key
		or not frappe.db.exists(MAIL, {"thread": thread})
		or message.sender in read_participants(thread)
	):
		return thread, False
	return digest("thread", mailbox, message.key), False


def is_internal(address: str, own: Iterable[str]) -> bool:
	"""Whether somebody is of the mailbox's own house."""
	domain = address.rpartition("@")[2]
	return bool(domain) and any(domain == each.rpartition("@")[2] for each in own)


def read_participants(thread: str) -> set[str]:
	"""Every address that a thread's mails are from or to."""
	rows = frappe.get_all(
		MAIL,
		{"thread": thread},
		["sender", "recipients", "cc", "status", "prepared"],
		order_by="creation asc",
	)
	people: set[str] = set()
	for row in rows:
		if row.status in (MailStatus.DRAFT.value, MailStatus.DISCARDED.value, MailStatus.HELD.value):
			# Whom an agent would like to write to takes no part yet.
			continue
		for field in (row.sender, row.recipients, row.cc):
			people |= {each.strip().lower() for each in (field or "").split(",") if each.strip()}
		if answer_to := (frappe.parse_json(row.prepared or "{}") or {}).get("answer_to"):
			people.add(answer_to)
	return people


def is_for_machine(row, to: Iterable[str]) -> bool:
	"""Whether an answer to a mail would go to a machine. What a helpdesk passes on is a person's; the answer goes to them."""
	if not row.automated:
		return False
	answer_to = (frappe.parse_json(row.prepared or "{}") or {}).get("answer_to")
	return not answer_to or any(each != answer_to for each in to)


def read_first_mail(thread: str):
	return frappe.db.get_value(
		MAIL, {"thread": thread}, ["name", "sender"], as_dict=True, order_by="creation asc"
	)


def is_with_person(thread: str) -> bool:
	"""Whether a thread was handed over to a person and not given back."""
	last = frappe.db.get_value(
		EVENT,
		{"thread": thread, "kind": ["in", (MailEvent.ESCALATED.value, MailEvent.GIVEN_BACK.value)]},
		"kind",
		order_by="creation desc",
	)
	return last == MailEvent.ESCALATED.value


def find_answerer(answered, known_until: datetime | None = None) -> str | None:
	"""Who of the house has answered a mail (its row) already, by a mail of their own or by allowing another draft; or None.

	`known_until`: answers that were on record by then do not count, because a person who saw them wants to write all the same.
	"""
	learnt = {"creation": [">", known_until]} if known_until else {}
	own = {"thread": answered.thread, "by_person": 1, "name": ["!=", answered.name], **learnt}
	for row in frappe.get_all(MAIL, own, ["sender", "date", "in_reply_to"], order_by="creation asc"):
		is_later = row.date and answered.date and row.date >= answered.date
		if is_later or (answered.message_id and row.in_reply_to == answered.message_id):
			return row.sender
	since = known_until or answered.creation
	sent = {"thread": answered.thread, "status": MailStatus.SENT.value, "approved_by": ["is", "set"]}
	return frappe.db.get_value(
		MAIL, {**sent, "modified": [">", since]}, "approved_by", order_by="creation asc"
	)


def count_own_replies(thread: str, since: datetime) -> int:
	"""Mails that agents have sent into a thread by themselves since a time, or are about to send."""
	sent = (MailStatus.SENT.value, MailStatus.APPROVED.value)
	filters = {"thread": thread, "direction": Direction.OUTGOING.value, "status": ["in", sent]}
	return frappe.db.count(
		MAIL, {**filters, "approved_by": ["is", "not set"], "by_person": 0, "creation": [">", since]}
	)
