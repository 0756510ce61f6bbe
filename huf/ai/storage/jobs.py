"""Enqueues jobs whose work is on record: runs, trigger events, mails, knowledge sources.

A full or missing queue must not refuse the save that caused the job. The record stays, and the recovery of
its kind, scheduled every minute, enqueues it again.
"""

from functools import partial
from typing import Any

import frappe


def enqueue_job(method: str, *, after_commit: bool = False, **options: Any) -> bool:
	"""Enqueue `method` with options of `frappe.enqueue`. If the queue refuses it, log that and return False.

	With `after_commit` it is enqueued when the transaction is committed, and a refusal is only logged.
	"""
	if after_commit:
		frappe.db.after_commit.add(partial(enqueue_job, method, **options))
		return True
	messages = len(frappe.local.message_log)
	try:
		frappe.enqueue(method, **options)
	except Exception as error:  # the boundary around the queue: full, or its server is out of reach
		if len(frappe.local.message_log) > messages:
			frappe.clear_last_message()
		frappe.logger("huf").warning(f"{method} was not enqueued and will be tried again: {error!r}")
		return False
	return True
