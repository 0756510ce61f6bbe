"""Ingests mail: stores each mail of a mailbox once, routes it by its rules, and enqueues its job.

Mail comes from IMAP (`read_mailbox_once`), from files (`ingest_raw`), and from Frappe's own mail accounts
(`communications`). No transaction is open while a server is waited for.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from traceback import format_exc

import frappe
from frappe import _

from huf.ai.core.errors import add_details
from huf.ai.core.mail_types import Direction, MailEvent, MailJob, MailStatus
from huf.ai.core.settings import get_settings
from huf.ai.core.stored_text import clip, digest
from huf.ai.mail import oauth, store, threads
from huf.ai.mail.bounces import find_bounced_mail, record_bounce
from huf.ai.mail.colleagues import is_colleague
from huf.ai.mail.dispatch import route_mail
from huf.ai.mail.inbox import Account, FetchedMail, Inbox, InboxError, MessageRefused, open_inbox
from huf.ai.mail.message import Attachment, MailMessage, first_id, parse_message
from huf.ai.mail.rules import MailRoute
from huf.ai.mail.stored_reasons import NO_RULE, TOO_LONG_CHAIN
from huf.ai.storage.jobs import enqueue_job
from huf.ai.storage.outgoing_mail import mail_job_id
from huf.ai.storage.trigger_events import find_mail_cause

INCOMPLETE = "[This mail is too long to be read as a whole. Its end is only on the mail server.]"
BOUNCE = "It reports that a mail did not arrive"
NOTICE = "A machine wrote it for a colleague"
MAX_REFUSED = 20
"""Consecutive refusals after which the server, not the messages, is at fault."""
SENT_DAYS = 2
"""How far back the folder of sent mail is searched for people's own answers."""
JOB_TIMEOUT_S = 3600


@dataclass(frozen=True)
class IncomingMail:
	"""A mail to ingest. `by_person`: a colleague wrote it, so no agent has to answer."""

	message: MailMessage
	raw: bytes | None = None
	by_person: bool = False


def read_fetched(fetched: FetchedMail, by_person: bool = False) -> IncomingMail:
	"""The mail, whose text says so if its end is missing."""
	message = parse_message(fetched.raw)
	if not fetched.is_complete:
		message = replace(message, text=f"{message.text}\n\n{INCOMPLETE}")
	return IncomingMail(message, fetched.raw, by_person)


def ingest_raw(mailbox: str, raw: bytes) -> tuple[str, bool]:
	"""Ingest the bytes of a mail; returns (name of its row, whether it is new). Does not commit."""
	return ingest(store.read_mailbox(mailbox), IncomingMail(parse_message(raw), raw))


def ingest(mailbox, incoming: IncomingMail) -> tuple[str, bool]:
	"""Store a mail with its route, and enqueue its job; returns (name, whether it is new)."""
	message = incoming.message
	name = store.mail_name(mailbox.name, message.key)
	if store.is_of_other_mail(name, message.sent_at):
		return ingest(mailbox, replace(incoming, message=replace(message, message_id="")))
	if frappe.db.exists(store.MAIL, name):
		return name, False
	bounced = find_bounced_mail(mailbox.name, message)
	values = build_mail_row(mailbox, incoming, bounced)
	compressed = store.compress_raw(incoming.raw) if incoming.raw else None
	if not store.insert_mail(name, values, mailbox.run_as):
		return name, False
	row = {"name": name, **values}
	store.store_files(name, mailbox.run_as, message.attachments, compressed)
	store.write_event(row, MailEvent.RECEIVED, f"{message.sender or message.sender_name}: {message.subject}")
	if row["status"] == MailStatus.QUEUED.value:
		summary = f"{row['rule']}: {row['route']}" if row["rule"] else NO_RULE.format(route=row["route"])
		store.write_event(row, MailEvent.ROUTED, summary, checks=row["checks"])
		enqueue_mail(name)
	else:
		store.write_event(row, MailEvent.SKIPPED, row["reason"])
	if bounced:
		record_bounce(bounced, message)
	if row["by_person"]:
		store.end_mails(filter(threads.find_answerer, threads.list_mails_for_people(row["thread"])))
	return name, True


def build_mail_row(mailbox, incoming: IncomingMail, bounced=None) -> dict:
	"""The values of a new Agent Mail. `bounced`: the row of the sent mail that did not arrive."""
	message, own = incoming.message, get_own_addresses(mailbox)
	author = message.sender if incoming.by_person else threads.find_author(message, own)
	thread, known = threads.resolve_thread(mailbox.name, message, author, own)
	status, by_person, reason = find_initial_status(author, thread, known, own, incoming)
	if bounced:
		# It stays outside the thread of that mail: its sender, who may be anybody, would take part in it.
		status, by_person, reason = MailStatus.SKIPPED, False, BOUNCE
	decision = route_mail(message)
	job = MailJob.AGENT_PROCESS if decision.route is MailRoute.AGENT else MailJob.CLASSIFY
	is_own = author in own or incoming.by_person
	return {
		"mailbox": mailbox.name,
		"direction": (Direction.OUTGOING if is_own else Direction.INCOMING).value,
		"status": status.value,
		"reason": reason,
		"by_person": int(by_person),
		"run_as": mailbox.run_as,
		"assigned_to": frappe.db.get_value(store.MAIL, {"thread": thread}, "assigned_to") if known else None,
		"thread": thread,
		"message_id": message.message_id,
		"in_reply_to": message.in_reply_to,
		"message_references": " ".join(message.references),
		"sender": message.sender[:140],
		"sender_name": message.sender_name[:140],
		"recipients": ", ".join(message.to),
		"cc": ", ".join(message.cc),
		"subject": clip(message.subject, 1000),
		"date": message.sent_at,
		"text": message.text,
		"new_text": clip(message.new_text),
		"automated": message.automated,
		"route": decision.route.value,
		"rule": decision.rule,
		"agent": decision.profile,
		"preprocessor": decision.preprocessor,
		"checks": decision.checks_as_json(),
		"job": job.value if status is MailStatus.QUEUED else None,
	}


def find_initial_status(author: str, thread: str, known: bool, own: list[str], incoming: IncomingMail):
	"""(status, whether it is a colleague's, why nothing needs to be done or None)."""
	if incoming.by_person or author in own:
		return MailStatus.SENT, True, "The mailbox's own mail"
	if known and is_colleague(author, own) and threads.was_begun_by_outsider(thread, own):
		is_notice = threads.is_from_machine(incoming.message.automated)
		return MailStatus.SKIPPED, True, NOTICE if is_notice else "A colleague has answered"
	if known and threads.is_with_person(thread):
		return MailStatus.WITH_PERSON, False, "The thread was handed over to a person"
	depth, max_depth = find_mail_cause(incoming.message.message_id)[1], get_settings().max_trigger_depth
	if depth > max_depth:
		return MailStatus.FAILED, False, TOO_LONG_CHAIN.format(limit=max_depth, depth=depth)
	return MailStatus.QUEUED, False, None


def ingest_fetched(mailbox, fetched: FetchedMail, by_person: bool = False, key: str = "") -> tuple[str, bool]:
	"""Like `ingest`. A mail that raises an error is stored as unreadable, so that it does not hold up others.

	`key`: its Message-ID, if known. An error rolls the transaction back.
	"""
	try:
		return ingest(mailbox, read_fetched(fetched, by_person))
	except (frappe.QueryDeadlockError, frappe.QueryTimeoutError, frappe.db.OperationalError):
		raise  # not the mail's fault: the next job reads it again
	except OSError as error:  # nor is this
		raise InboxError(add_details(_("Mail cannot be stored. Check the site's disk."), error)) from None
	except Exception:  # the boundary around one mail, which anybody can write
		frappe.db.rollback()
		stored = ingest_unreadable(mailbox, fetched.raw, by_person, key)
		frappe.log_error(f"A mail of the mailbox {mailbox.name} could not be read", format_exc())
		return stored


def describe_unreadable() -> str:
	return _("This mail could not be read. Open the attached file; the Error Log has the reason.")


def ingest_unreadable(
	mailbox, raw: bytes, by_person: bool, key: str, reason: str | None = None
) -> tuple[str, bool]:
	"""Store a mail without parsing it: people see that it arrived, and its bytes are attached."""
	key = key or hashlib.sha256(raw).hexdigest()[:32]
	name = store.mail_name(mailbox.name, key)
	row = {
		"mailbox": mailbox.name,
		"direction": (Direction.OUTGOING if by_person else Direction.INCOMING).value,
		"status": (MailStatus.SENT if by_person else MailStatus.FAILED).value,
		"reason": reason or describe_unreadable(),
		"by_person": int(by_person),
		"run_as": mailbox.run_as,
		"thread": digest("thread", mailbox.name, key),
	}
	compressed = store.compress_raw(raw) if raw else None
	if not store.insert_mail(name, row, mailbox.run_as):
		return name, False
	if raw:
		attached = (Attachment("mail.eml", "message/rfc822", raw),)
		store.store_files(name, mailbox.run_as, attached, compressed)
	store.write_event({"name": name, **row}, MailEvent.FAILED, row["reason"])
	return name, True


def get_own_addresses(mailbox) -> list[str]:
	"""The addresses of a mailbox and its aliases, in lower case."""
	return [mailbox.email.strip().lower(), *store.split_addresses(mailbox.aliases)]


def enqueue_mail(name: str, attempt: int = 0, after_commit: bool = True) -> bool:
	"""Enqueue the job of a received mail; False if the queue refuses it."""
	return enqueue_job(
		"huf.ai.mail.jobs.process_mail",
		queue="long",
		timeout=JOB_TIMEOUT_S,
		job_id=mail_job_id(name, attempt),
		after_commit=after_commit,
		mail=name,
	)


# --- IMAP ---


def poll_mailboxes() -> list[str]:
	"""Enqueue a job for every mailbox with a server; returns their names. Scheduled every minute."""
	filters = {"enabled": 1, "imap_host": ["is", "set"]}
	names = frappe.get_all(store.MAILBOX, filters=filters, pluck="name", order_by="name asc")
	for name in names:
		frappe.enqueue(
			"huf.ai.agent_email.sync_mailbox",
			queue="long",
			job_id=f"huf-mailbox-{name}",
			deduplicate=True,
			mailbox=name,
		)
	return names


def read_mailbox_once(mailbox: str) -> list[str]:
	"""Job: ingest new mail of a mailbox; returns the names of the new rows. Commits."""
	return watch_mailbox(mailbox, 0)


def watch_mailbox(mailbox: str, seconds: float) -> list[str]:
	"""Like `read_mailbox_once`; then wait up to that long for new mail, and ingest it."""
	try:
		account = build_account(store.read_mailbox(mailbox))
		frappe.db.commit()
		with open_inbox(account) as inbox:
			taken = list(ingest_new(mailbox, inbox))
			if seconds:
				inbox.wait(seconds)
				taken += ingest_new(mailbox, inbox)
			return taken
	except InboxError as error:
		frappe.db.rollback()
		store.record_mailbox_error(mailbox, str(error))
		frappe.db.commit()
		return []


def ingest_new(name: str, inbox: Inbox) -> Iterator[str]:
	"""Ingest every message after the last one read; each is one commit together with the new position."""
	mailbox, at = store.read_mailbox(name), store.read_position(name)
	frappe.db.commit()
	# With another UIDVALIDITY the UIDs start over: read everything again; known mails are skipped by
	# Message-ID.
	last = at.last_uid or 0 if at.uidvalidity == inbox.uidvalidity else 0
	refused: dict[int, MessageRefused] = {}
	for uid in inbox.uids(last, at.since):
		try:
			found = inbox.fetch(uid)
		except MessageRefused as error:
			refused[uid] = error
			if len(refused) == MAX_REFUSED:
				break
			continue
		yield from ingest_refused(mailbox, inbox, refused)
		if found and not (at.since and found.arrived < at.since):
			mail, is_new = ingest_fetched(mailbox, found)
			if is_new:
				yield mail
		last = uid
		store.set_position(name, inbox.uidvalidity, last)
		frappe.db.commit()
	if refused:
		raise next(iter(refused.values()))
	problem = inbox.find_folder_problem(mailbox.sent_folder)
	store.set_position(name, inbox.uidvalidity, last, problem)
	frappe.db.commit()


def ingest_refused(mailbox, inbox: Inbox, refused: dict[int, MessageRefused]) -> Iterator[str]:
	"""Store refused messages as failed. A later message was returned, so the server works."""
	for uid, error in refused.items():
		reason = add_details(
			_("The mail server does not hand over this mail. Open it in another program."), error
		)
		mail, is_new = ingest_unreadable(mailbox, b"", False, f"{inbox.uidvalidity} {uid}", reason)
		store.set_position(mailbox.name, inbox.uidvalidity, uid)
		frappe.db.commit()
		if is_new:
			yield mail
	refused.clear()


def ingest_sent(name: str) -> None:
	"""Ingest recent mail that people sent themselves, if the mailbox's folder of sent mail is known. Commits.

	Raises InboxError; of messages that the server refuses, only if it hands over no other.
	"""
	mailbox = store.read_mailbox(name)
	if not mailbox.sent_folder or not mailbox.imap_host:
		return
	account = replace(build_account(mailbox), folder=mailbox.sent_folder)
	frappe.db.commit()
	with open_inbox(account) as inbox:
		uids = inbox.uids(0, datetime.now(timezone.utc) - timedelta(days=SENT_DAYS))
		refused: list[MessageRefused] = []
		for uid in uids:
			try:
				ingest_sent_message(mailbox, inbox, uid)
			except MessageRefused as error:
				refused.append(error)
		if refused and len(refused) == len(uids):
			raise refused[0]


def ingest_sent_message(mailbox, inbox: Inbox, uid: int) -> None:
	key = first_id(inbox.fetch_id(uid))
	known = key and frappe.db.exists(store.MAIL, store.mail_name(mailbox.name, key))
	frappe.db.commit()
	if not known and (found := inbox.fetch(uid)):
		ingest_fetched(mailbox, found, by_person=True, key=key)
		frappe.db.commit()


def build_account(mailbox) -> Account:
	if not mailbox.imap_host:
		raise InboxError(f"The mailbox {mailbox.name} has no server to receive from.")
	token = oauth.read_token(mailbox)
	return Account(
		mailbox.imap_host,
		mailbox.imap_port or 993,
		mailbox.imap_security,
		mailbox.imap_user or mailbox.email,
		mailbox.get_password("imap_password", raise_exception=False) or "",
		mailbox.folder or "INBOX",
		token,
	)
