"""A queued or sent mail."""

import frappe
from frappe.model.document import Document


class EmailQueue(Document):
	def after_insert(self):
		frappe.db.after_commit.add(flush_after_commit)


def flush_after_commit():
	"""Send at once instead of at the next minute, because the person who approved a mail waits for it."""
	frappe.enqueue("frappe.email.queue.flush", queue="short", job_id="email_queue_flush", deduplicate=True)
