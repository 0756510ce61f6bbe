"""Stores Agent Mail and Agent Mail Event: received and outgoing mail, and what happened to each.

Elsewhere, only `storage/outgoing_mail.py` inserts mails, and `storage/trigger_events.py` claims them.
A mail's row is named by a digest of its mailbox and Message-ID, so the primary key keeps each once. Nothing
here commits, except `find_mail_agent` when it creates the agent.
"""

import errno
import gzip
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import frappe
from frappe.utils import add_to_date, now, now_datetime

from huf.ai.core.files import read_stored_bytes
from huf.ai.core.mail_types import Direction, MailEvent, MailStatus
from huf.ai.core.stored_text import clip, digest
from huf.ai.mail.stored_reasons import MAILBOX_DELETED
from huf.ai.storage.outgoing_mail import mail_name
from huf.ai.storage.recorded_run import SUMMARY_CALL_TYPE
from huf.ai.storage.rows import insert_row, update_cached_row, update_row

MAIL, EVENT, MAILBOX = "Agent Mail", "Agent Mail Event", "Agent Mailbox"
LIST_FIELDS = [
	"name",
	"subject",
	"sender",
	"sender_name",
	"recipients",
	"date",
	"creation",
	"mailbox",
	"direction",
	"status",
	"reason",
	"route",
	"rule",
	"agent",
	"category",
	"run",
	"thread",
	"automated",
	"by_person",
	"reply_to_mail",
	"email_queue",
]
"""What lists of mails show, without the texts."""
DEFAULT_AGENT = "Mail Clerk"
DEFAULT_AGENT_INSTRUCTIONS = (
	"You read the mail of an office, sort it and prepare replies. You are brief, polite and exact."
)
OVERDUE_AFTER_S = 60
"""After this time a mail without a job is enqueued again."""
MAX_ATTEMPTS = 5
MAX_TEXT_CHARS = 1_000_000
MAX_FILE_NAME_BYTES = 140
MAX_FILES = 100
"""Attachments of a mail that are stored as files, in one transaction; the mail itself has all."""
DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO)
"""Not the mail's fault: it is not stored without its files, and is read again later."""
NOT_STORED = {"error": f"Only {MAX_FILES} attachments of a mail are stored. The mail itself has all."}


def read_mail(name: str):
	"""The whole row, or None."""
	return frappe.db.get_value(MAIL, name, "*", as_dict=True)


def is_of_other_mail(name: str, date: datetime | None) -> bool:
	"""Whether the stored mail has another date: some programs reuse one Message-ID for all mails."""
	known = frappe.db.get_value(MAIL, name, ["direction", "date", "message_id"], as_dict=True)
	is_received = known and known.direction == Direction.INCOMING.value and known.message_id
	return bool(is_received and date and known.date and known.date != date)


def lock_mail(name: str) -> None:
	"""Lock the row of a mail until the commit; without effect on databases with a single writer."""
	frappe.db.get_value(MAIL, name, "name", for_update=True)


def read_mailbox(name: str):
	"""The Agent Mailbox, without its passwords."""
	return frappe.get_cached_doc(MAILBOX, name)


def find_mailbox_problem(row) -> str | None:
	"""Why nobody can work on a mail; None if its mailbox exists, or it belongs to none."""
	if not row.mailbox or frappe.db.exists(MAILBOX, row.mailbox):
		return None
	return MAILBOX_DELETED.format(mailbox=row.mailbox)


def split_addresses(text: str | None) -> list[str]:
	"""The addresses in a field, in lower case."""
	return (text or "").replace(",", " ").replace(";", " ").lower().split()


def insert_mail(name: str, row: Mapping[str, Any], owner: str) -> bool:
	"""Insert a mail; False if it exists already, and the process that inserted it continues with it."""
	inserter = frappe.generate_hash(length=20)
	row = {**row, "text": clip(row.get("text"), MAX_TEXT_CHARS), "taken_by": inserter, "attempts": 0}
	insert_row(MAIL, row, owner, name)
	return frappe.db.get_value(MAIL, name, "taken_by") == inserter


def compress_raw(raw: bytes) -> bytes:
	"""The bytes of a mail as they are stored. Takes a second for 40 MB: do it before writing."""
	return gzip.compress(raw, 5, mtime=0)


def store_files(name: str, owner: str, attachments: Sequence, compressed: bytes | None) -> None:
	"""Store the compressed bytes of a mail and its attachments (`message.Attachment`) as private files of the
	row.
	"""
	stored = [
		{
			"file_name": each.file_name,
			"content_type": each.content_type,
			**(save_file(name, owner, each.file_name, each.content) if place < MAX_FILES else NOT_STORED),
		}
		for place, each in enumerate(attachments)
	]
	values = {"attachments": json.dumps(stored, ensure_ascii=False) if stored else None}
	if compressed:
		values["raw_file"] = save_file(name, owner, f"{name}.eml.gz", compressed).get("file_url")
	update_row(MAIL, name, values)


def save_file(name: str, owner: str, file_name: str, content: bytes) -> dict:
	"""{file_url, size}, or {size, error} for a file that the site refuses."""
	# File systems limit bytes. Cut off the beginning, so that the extension stays.
	short = file_name.encode(errors="ignore")[-MAX_FILE_NAME_BYTES:].decode(errors="ignore")
	values = {"doctype": "File", "file_name": short, "is_private": 1}
	values |= {"attached_to_doctype": MAIL, "attached_to_name": name, "content": content}
	try:
		doc = frappe.get_doc(values).insert(ignore_permissions=True)
	except (frappe.QueryDeadlockError, frappe.QueryTimeoutError, frappe.db.OperationalError):
		raise  # the transaction is over
	except Exception as error:  # the boundary around the site's checks of a file, which open PDFs
		if getattr(error, "errno", None) in DISK_FAULTS:
			raise
		return {"size": len(content), "error": str(error)}
	update_cached_row("File", doc.name, {"owner": owner})
	return {"size": len(content), "file_url": doc.file_url}


def read_raw(row) -> bytes | None:
	"""The bytes of a mail; None if they were not stored or are gone."""
	found = row.raw_file and frappe.db.get_value(
		"File", {"file_url": row.raw_file, "attached_to_name": row.name}
	)
	if not found:
		return None
	try:
		return gzip.decompress(read_stored_bytes(frappe.get_doc("File", found)))
	except (OSError, EOFError, zlib.error):  # the file is gone, damaged or not gzip
		return None


# --- states ---


def update_mail(name: str, **values: Any) -> None:
	update_row(MAIL, name, values)


def change_status(name: str, before: MailStatus, after: MailStatus, **values: Any) -> bool:
	"""Change a mail's status if it still is `before`; the row stays locked until the commit.

	`modified` changes with the status. Pass it for another change that a person who edits the mail must see.
	"""
	# The update locks the row on databases without locking reads. On the others the read must be one:
	# after an update that changes nothing, this transaction sees the row as it was when it began.
	frappe.db.sql(f"update `tab{MAIL}` set status = status where name = %s", (name,))
	if frappe.db.get_value(MAIL, name, "status", for_update=True) != before.value:
		return False
	changed = {} if after is before else {"modified": now()}
	update_row(MAIL, name, {"status": after.value, **changed, **values})
	return True


def end_mails(rows: Iterable) -> None:
	"""Mark received mails (their rows) as done: nobody has to answer them."""
	for row in rows:
		change_status(row.name, MailStatus(row.status), MailStatus.DONE, reason=None)


def set_thread_user(thread: str, user: str | None) -> None:
	# Clears cached documents as well, which decide who may read the mails.
	frappe.db.set_value(MAIL, {"thread": thread}, "assigned_to", user, update_modified=False)


def count_mail_attempt(name: str) -> int:
	frappe.db.sql(f"update `tab{MAIL}` set attempts = attempts + 1 where name = %s", (name,))
	return frappe.db.get_value(MAIL, name, "attempts") or 0


def read_overdue_mails(now: datetime | None = None) -> list:
	"""Mails whose job or sending should be done by now, oldest first: [{name, status, attempts}]."""
	before = add_to_date(now or now_datetime(), seconds=-OVERDUE_AFTER_S, as_datetime=True)
	return frappe.db.sql(
		f"""select name, status, attempts from `tab{MAIL}` where modified < %s and
		(status = 'Approved' or (status = 'Queued' and direction = 'Incoming'))
		order by creation limit 500""",
		(before,),
		as_dict=True,
	)


def read_mails_with_ended_runs() -> list[str]:
	"""Started mails whose run has ended or was deleted, oldest first."""
	return frappe.db.sql(
		f"""select mail.name from `tab{MAIL}` mail left join `tabAgent Run` run on run.name = mail.run
		where mail.status = %s and coalesce(run.status, '') not in ('Queued', 'Started', 'Waiting')
		order by mail.creation limit 500""",
		(MailStatus.STARTED.value,),
		pluck=True,
	)


def write_event(mail, kind: MailEvent, summary: str, run: str | None = None, **details: Any) -> str:
	"""Insert an Agent Mail Event and return its name; `mail` is a document, a row, or its values."""
	row = {
		"mail": mail.get("name"),
		"thread": mail.get("thread"),
		"mailbox": mail.get("mailbox"),
		"kind": kind.value,
		"run": run,
		"user": frappe.session.user,
		"summary": clip(summary, 1000),
		"details": json.dumps(details, ensure_ascii=False, default=str) if details else None,
	}
	return insert_row(EVENT, row, mail.get("run_as"))


def annotate_run(row, call_type: str, log: list[dict] | None) -> None:
	"""Mark a mail's run in the records: the type of its steps' model calls, and the log of its tool calls."""
	steps = {"run": row.run, "call_type": ["!=", SUMMARY_CALL_TYPE]}
	frappe.db.set_value("Agent LLM Call", steps, "call_type", call_type, update_modified=False)
	if log is not None:
		update_row("Agent Run", row.run, {"tool_calls_log": json.dumps(log, ensure_ascii=False)})


# --- mailboxes ---


def set_position(mailbox: str, uidvalidity: str, last_uid: int, error: str | None = None) -> None:
	"""Store how far a mailbox was read; never backwards, unless the server's UIDVALIDITY changed.

	`error`: what is wrong with the mailbox although it was read.
	"""
	frappe.db.sql(
		f"""update `tab{MAILBOX}` set
		last_uid = case when uidvalidity = %s and last_uid > %s then last_uid else %s end,
		uidvalidity = %s, last_sync = %s, last_error = %s where name = %s""",
		(uidvalidity, last_uid, last_uid, uidvalidity, now(), clip(error, 1000), mailbox),
	)


def read_position(mailbox: str):
	"""{uidvalidity, last_uid, since}, read from the database and not from the cached document."""
	return frappe.db.get_value(MAILBOX, mailbox, ["uidvalidity", "last_uid", "since"], as_dict=True)


def record_mailbox_error(mailbox: str, error: str) -> None:
	update_cached_row(MAILBOX, mailbox, {"last_error": clip(error, 1000)})


def clear_mailbox_error(mailbox: str) -> None:
	update_cached_row(MAILBOX, mailbox, {"last_error": None})


# --- mails to go ---

OPEN_OUTGOING = (MailStatus.DRAFT.value, MailStatus.APPROVED.value)


def read_open_draft(thread: str):
	"""The open draft of a thread, or None."""
	return frappe.db.get_value(
		MAIL, {"thread": thread, "status": MailStatus.DRAFT.value}, "*", as_dict=True, order_by="creation asc"
	)


def count_outgoing(thread: str) -> int:
	return frappe.db.count(MAIL, {"thread": thread, "direction": Direction.OUTGOING.value})


def insert_outgoing(answers, row: Mapping[str, Any], status: MailStatus, place: int) -> tuple[str, bool]:
	"""Insert a reply to a mail (`answers`: its row) at a place in its thread; returns (name, whether it is
	new).

	Two workers that write at the same place write the same row. A place that is taken by a finished mail is
	skipped: after a deletion there are fewer mails than places.
	"""
	while True:
		name, is_new = insert_at(answers, row, status, place)
		if is_new or frappe.db.get_value(MAIL, name, "status") in OPEN_OUTGOING:
			return name, is_new
		place += 1


def insert_at(answers, row: Mapping[str, Any], status: MailStatus, place: int) -> tuple[str, bool]:
	address = read_mailbox(answers.mailbox).email
	message_id = f"{digest('outgoing', answers.thread, place)}@{address.rpartition('@')[2]}"
	values = {
		"mailbox": answers.mailbox,
		"direction": Direction.OUTGOING.value,
		"status": status.value,
		"thread": answers.thread,
		"message_id": message_id,
		"sender": address,
		"run_as": answers.run_as,
		"assigned_to": answers.assigned_to,
		**name_answered(answers),
		**row,
	}
	name = mail_name(answers.mailbox, message_id)
	return name, insert_mail(name, values, answers.run_as)


def name_answered(answers) -> dict:
	"""The fields of a reply that say which mail it answers (`answers`: its row)."""
	references = [*(answers.message_references or "").split(), answers.message_id]
	return {
		"in_reply_to": answers.message_id,
		"message_references": " ".join(each for each in references if each),
		"reply_to_mail": answers.name,
	}


def delete_files(mails: list[str]) -> None:
	"""Delete all Files of these mails permanently."""
	files = {"attached_to_doctype": MAIL, "attached_to_name": ["in", mails]}
	for name in frappe.get_all("File", files, pluck="name", order_by="name asc"):
		frappe.delete_doc("File", name, ignore_permissions=True, delete_permanently=True)


def find_mail_agent() -> str | None:
	"""The agent that classifies mail and drafts replies: that of Huf Settings, or a new one if there is a
	default model.
	"""
	settings = frappe.get_cached_doc("Huf Settings")
	if settings.mail_agent:
		return settings.mail_agent
	if not settings.default_model:
		return None
	if not frappe.db.exists("Agent", DEFAULT_AGENT):
		values = {
			"agent_name": DEFAULT_AGENT,
			"description": "Sorts mail and drafts replies",
			"instructions": DEFAULT_AGENT_INSTRUCTIONS,
		}
		doc = frappe.get_doc({"doctype": "Agent", **values, "allow_chat": 0, "persist_conversation": 0})
		doc.insert(ignore_permissions=True, ignore_if_duplicate=True)
		frappe.db.commit()
	return DEFAULT_AGENT
