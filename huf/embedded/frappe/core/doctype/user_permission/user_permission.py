"""Restricts a user to some documents of a DocType, and to documents that link to them."""

import frappe
from frappe.model.document import Document
from frappe.utils.data import cstr


class UserPermission(Document):
	def validate(self):
		same = dict(
			user=self.user,
			allow=self.allow,
			for_value=self.for_value,
			apply_to_all_doctypes=self.apply_to_all_doctypes,
			applicable_for=cstr(self.applicable_for),
			name=["!=", cstr(self.name)],
		)
		if frappe.get_all("User Permission", filters=same, limit=1):
			frappe.throw(frappe._("User permission already exists"), frappe.DuplicateEntryError)
