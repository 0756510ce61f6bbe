"""A mail that is to go, or has gone."""

import frappe
from frappe.model.document import Document


class EmailQueue(Document):
	def after_insert(self):
		frappe.db.after_commit.add(flush_after_commit)


def flush_after_commit():
	"""Not at the next minute only: who has allowed a mail waits for it."""
	frappe.enqueue("frappe.email.queue.flush", queue="short", job_id="email_queue_flush", deduplicate=True)
