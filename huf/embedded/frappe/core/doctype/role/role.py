"""What permission rules are given to."""

import frappe
from frappe.model.document import Document
from frappe.permissions import AUTOMATIC_ROLES

STANDARD_ROLES = (*AUTOMATIC_ROLES, "System Manager")


class Role(Document):
	def validate(self):
		if self.disabled and self.name in STANDARD_ROLES:
			frappe.throw(frappe._("Standard roles cannot be disabled"))
		if self.disabled:
			frappe.db.delete("Has Role", {"role": self.name})
			frappe.clear_cache(doctype="User")

	def on_trash(self):
		if self.name in STANDARD_ROLES:
			frappe.throw(frappe._("Standard roles cannot be deleted"))

	def before_rename(self, old, new, merge=False):
		if old in STANDARD_ROLES:
			frappe.throw(frappe._("Standard roles cannot be renamed"))
