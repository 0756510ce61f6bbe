"""A mail that is to go, or has gone."""

import frappe
from frappe.model.document import Document


class EmailQueue(Document):
	def after_insert(self):
		frappe.enqueue(
			"frappe.email.queue.flush",
			queue="short",
			job_id="email_queue_flush",
			deduplicate=True,
			enqueue_after_commit=True,
		)
