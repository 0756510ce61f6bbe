"""A remark on a document."""

import frappe
from frappe.model.document import Document


class Comment(Document):
	def validate(self):
		self.comment_email = self.comment_email or frappe.session.user
		self.comment_by = self.comment_by or frappe.utils.get_fullname(self.comment_email)
