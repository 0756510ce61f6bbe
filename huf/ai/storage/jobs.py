"""Enqueues jobs for recorded work: runs, trigger events, mails, knowledge sources.

A full or unreachable queue must not fail the save that caused the job. The record stays, and a recovery
scheduled every minute enqueues it again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import frappe
from frappe.utils.background_jobs import get_job_status


def enqueue_job(
	method: str, *, after_commit: bool = False, for_user: str | None = None, **options: Any
) -> bool:
	"""Enqueue `method` with options of `frappe.enqueue`. If the queue refuses it, log that and return False.

	With `after_commit` it is enqueued when the transaction is committed, and a refusal is only logged.
	`for_user`: the owner of the job, by default the session user; a fair queue serves users in turn.
	"""
	if after_commit:
		frappe.db.after_commit.add(partial(enqueue_job, method, for_user=for_user, **options))
		return True
	messages = len(frappe.local.message_log)
	try:
		with session_of(for_user or frappe.session.user):
			frappe.enqueue(method, **options)
	except Exception as error:  # the boundary around the queue: it may be full or unreachable
		if len(frappe.local.message_log) > messages:
			frappe.clear_last_message()
		frappe.logger("huf").warning(f"{method} was not enqueued and will be tried again: {error!r}")
		return False
	return True


def is_job_waiting(job_id: str) -> bool:
	"""Whether no worker has taken the job yet."""
	return get_job_status(job_id) == "queued"


@contextmanager
def session_of(user: str) -> Iterator[None]:
	"""Frappe stores the session user in a job. No permission is checked inside the block."""
	before, frappe.session.user = frappe.session.user, user
	try:
		yield
	finally:
		frappe.session.user = before
