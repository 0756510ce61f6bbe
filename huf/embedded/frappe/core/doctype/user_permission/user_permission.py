"""Confines a user to some documents of a DocType, and to what links to them."""

import frappe
from frappe.model.document import Document
from frappe.permissions import get_user_permissions as read_user_permissions
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


@frappe.whitelist()
def get_user_permissions():
	"""The User Permissions of the user in session, by DocType."""
	return read_user_permissions(frappe.session.user)
