"""Reads mail threads: participants, whether a person has taken over, and whether a mail was answered."""

from collections.abc import Iterable
from datetime import datetime

import frappe

from huf.ai.core.mail_types import Direction, MailEvent, MailStatus
from huf.ai.core.stored_text import digest
from huf.ai.mail.automated import WEAK_SIGNS
from huf.ai.mail.colleagues import is_colleague, is_of_same_domain
from huf.ai.mail.store import EVENT, MAIL, mail_name, split_addresses

MAX_REPLIES_PER_DAY = 5
"""Replies that agents may send into one thread in a day; more means that two machines answer each other."""
MAX_REPLIES_TO_ADDRESS_PER_DAY = 20
"""The same for all threads with an address: some machines begin a new thread with each answer."""

WITHHELD = ("Draft", "Discarded", "Held", "Failed")
"""Statuses of outgoing mails that have reached nobody."""
SENDING = ("Approved", "Queued", "Sent")
FOR_PEOPLE = (MailStatus.FAILED, MailStatus.WITH_PERSON)
"""Statuses of incoming mail that a person has to answer."""


def find_author(message, own: Iterable[str]) -> str:
	"""Who wrote a mail: its sender, or an outsider in Reply-To if it was sent from the mailbox's own address.

	Websites send their forms like this and name the visitor there. `own`: addresses of the mailbox.
	"""
	if message.sender not in own:
		return message.sender
	return next((each for each in message.reply_to if not is_colleague(each, own)), message.sender)


def resolve_thread(mailbox: str, message, author: str, own: Iterable[str]) -> tuple[str, bool]:
	"""(the thread a mail belongs to, whether it existed before).

	An author who takes no part in a thread does not join it by naming one of its mails: that would let a
	stranger read along. `own`: addresses of the mailbox.
	"""
	named = list(dict.fromkeys([message.in_reply_to, *reversed(message.references)]))
	for reference in filter(None, named):
		known = frappe.db.get_value(MAIL, mail_name(mailbox, reference), "thread")
		if known and (author in read_participants(known) or is_colleague(author, own)):
			return known, True
	root = next(iter(message.references), "") or message.in_reply_to or message.key
	thread = digest("thread", mailbox, root)
	exists = root != message.key and bool(frappe.db.exists(MAIL, {"thread": thread}))
	if not exists or author in read_participants(thread):
		return thread, exists
	return digest("thread", mailbox, message.key), False


def read_participants(thread: str, also_named: bool = True) -> set[str]:
	"""All addresses that take part in a thread, as sender or recipient.

	Without `also_named`, those to whom an agent may write without a person: they have written, or were
	written to from here. A stranger can name anybody in To or Cc; only the sender's own domain counts.
	"""
	rows = frappe.get_all(
		MAIL,
		{"thread": thread},
		["sender", "recipients", "cc", "direction", "status", "prepared", "email_queue"],
		order_by="creation asc",
	)
	people: set[str] = set()
	for row in rows:
		if row.direction == Direction.OUTGOING.value and row.status in WITHHELD:
			# Recipients of a mail that was not sent do not take part yet.
			continue
		named = {*split_addresses(row.recipients), *split_addresses(row.cc)}
		if not (also_named or row.email_queue):
			named = {each for each in named if is_of_same_domain(each, row.sender or "")}
		people |= {*named, *split_addresses(row.sender)}
		if answer_to := read_answer_to(row):
			people.add(answer_to)
	return people


def read_answer_to(row) -> str | None:
	"""The customer whom the preprocessor of a mail has found in its text; see `PreparedMail`."""
	return (frappe.parse_json(row.prepared or "{}") or {}).get("answer_to")


def is_for_machine(row, to: Iterable[str]) -> bool:
	"""Whether a reply would go to a machine; a person whose mail a helpdesk forwarded is not one."""
	if not row.automated:
		return False
	answer_to = read_answer_to(row)
	return not answer_to or any(each != answer_to for each in to)


def is_from_machine(automated: str | None) -> bool:
	"""Whether a machine wrote a mail. Some of the reasons for `automated` also fit mail that people write."""
	return bool(automated and not automated.startswith(WEAK_SIGNS))


def was_begun_by_outsider(thread: str, own: Iterable[str]) -> bool:
	first = frappe.db.get_value(
		MAIL, {"thread": thread}, ["sender", "direction"], as_dict=True, order_by="creation asc"
	)
	if not first:
		return False
	is_form = first.sender in own and first.direction == Direction.INCOMING.value
	return is_form or not is_colleague(first.sender or "", own)


def is_with_person(thread: str) -> bool:
	"""Whether a thread was handed over to a person who has not returned it."""
	last = frappe.db.get_value(
		EVENT,
		{"thread": thread, "kind": ["in", (MailEvent.ESCALATED.value, MailEvent.GIVEN_BACK.value)]},
		"kind",
		order_by="creation desc",
	)
	return last == MailEvent.ESCALATED.value


def list_mails_for_people(thread: str) -> list:
	"""A thread's mails for a person: [{name, status, thread, creation, date, message_id}]."""
	filters = {"direction": Direction.INCOMING.value, "status": ["in", [each.value for each in FOR_PEOPLE]]}
	fields = ["name", "status", "thread", "creation", "date", "message_id"]
	return frappe.get_all(MAIL, {"thread": thread, **filters}, fields, order_by="creation asc")


def find_answerer(answered, known_until: datetime | None = None) -> str | None:
	"""The colleague who has answered a mail (its row), directly or by approving a draft, or None.

	An acknowledgement or absence notice that a machine sent for them is no answer; what they wrote through a
	mailing list is. `known_until`: answers stored by then do not count: the approver has seen them.
	"""
	newer = {"creation": [">", known_until]} if known_until else {}
	own = {"thread": answered.thread, "by_person": 1, "name": ["!=", answered.name], **newer}
	fields = ["sender", "date", "in_reply_to", "automated"]
	for row in frappe.get_all(MAIL, own, fields, order_by="creation asc"):
		if is_from_machine(row.automated):
			continue
		is_later = row.date and answered.date and row.date >= answered.date
		if is_later or (answered.message_id and row.in_reply_to == answered.message_id):
			return row.sender
	since = known_until or answered.creation
	approvals = {"thread": answered.thread, "kind": MailEvent.APPROVED.value, "creation": [">", since]}
	replies = frappe.get_all(EVENT, approvals, pluck="mail", order_by="creation asc")
	handed = (MailStatus.QUEUED.value, MailStatus.SENT.value)
	sent = {"name": ["in", replies or [""]], "status": ["in", handed]}
	return frappe.db.get_value(MAIL, sent, "approved_by", order_by="creation asc")


def read_approval_time(mail: str) -> datetime | None:
	"""When a person last approved a reply; `modified` also changes when it is sent."""
	approved = {"mail": mail, "kind": MailEvent.APPROVED.value}
	return frappe.db.get_value(EVENT, approved, "creation", order_by="creation desc")


def count_own_replies(since: datetime, **where: str | list[str]) -> int:
	"""The number of mails that agents have sent since a time, or are about to send: into a `thread`, or from
	a `mailbox` to `recipients`.
	"""
	filters = {**where, "direction": Direction.OUTGOING.value, "status": ["in", SENDING]}
	return frappe.db.count(
		MAIL, {**filters, "approved_by": ["is", "not set"], "by_person": 0, "creation": [">", since]}
	)
