"""Upgrades a site of an earlier version: renews stored paths of functions that have moved.

Runs after each migration, and changes nothing if no old path is left.
"""

import frappe

from huf.ai.core.mail_types import MailStatus
from huf.ai.mail import store
from huf.ai.mail.intake import enqueue_mail
from huf.ai.runs.queue import enqueue_work
from huf.ai.storage.leases import lease_expiry
from huf.ai.storage.outgoing_mail import enqueue_sending, find_other_account
from huf.ai.storage.rows import update_cached_row

TOOL = "Agent Tool Function"
MOVED_PATHS = {"huf.ai.tools.mail.": "huf.ai.mail.tools."}


def move_stored_paths() -> None:
	"""Rewrite function paths of tools, and enqueue waiting work again. Commits.

	A job that was queued by an earlier version names a function that has moved, and fails. What it was to do
	is on record, so it is enqueued under the new path; doing it twice has no effect.
	"""
	for old, new in MOVED_PATHS.items():
		tools = frappe.get_all(
			TOOL, {"function_path": ["like", f"{old}%"]}, ["name", "function_path"], order_by="name asc"
		)
		for tool in tools:
			frappe.db.set_value(TOOL, tool.name, "function_path", new + tool.function_path.removeprefix(old))
	for run in frappe.get_all("Agent Run", {"status": "Queued"}, pluck="name", order_by="creation asc"):
		enqueue_work(run, job_id=f"huf-recover-{run}", deduplicate=True)
	waiting = [MailStatus.QUEUED.value, MailStatus.APPROVED.value]
	mails = frappe.get_all(
		store.MAIL, {"status": ["in", waiting]}, ["name", "status"], order_by="creation asc"
	)
	for mail in mails:
		attempt = store.count_mail_attempt(mail.name)
		if mail.status == MailStatus.QUEUED.value:
			enqueue_mail(mail.name, attempt)
		else:
			enqueue_sending(mail.name, attempt)
	frappe.db.commit()


def shorten_leases() -> None:
	"""End leases that an earlier version stored in the site's time zone, once they would have ended. Commits.

	East of Greenwich they look longer than any lease is now.
	"""
	expiry = lease_expiry()
	frappe.db.sql(
		"update `tabAgent Run` set lease_until = %s where status = 'Started' and lease_until > %s",
		(expiry, expiry),
	)
	frappe.db.commit()


def link_email_accounts() -> None:
	"""Let mailboxes go on taking the mail of the Email Accounts that they have taken. A patch, run once."""
	mailboxes = frappe.get_all(
		store.MAILBOX, {"imap_host": ["is", "not set"]}, ["name", "email"], order_by="name asc"
	)
	for mailbox in mailboxes:
		update_cached_row(store.MAILBOX, mailbox.name, {"email_account": find_other_account(mailbox)})


def label_old_results() -> None:
	"""Label results of earlier external calls as outside content, once. Commits.

	Conversations that go on after the migration are then treated as before.
	"""
	if not frappe.db.exists("Agent Tool Call", {"origin": ["is", "set"]}):
		frappe.db.sql(
			"""update `tabAgent Tool Call` set origin = tool
			where effect = 'external' and status = 'Success'
			"""
		)
		frappe.db.commit()
