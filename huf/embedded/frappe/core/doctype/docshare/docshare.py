"""One document shared with one user, or with everyone."""

import frappe
from frappe.model.document import Document


class DocShare(Document):
	def validate(self):
		if self.everyone:
			self.user = None
		elif not self.user:
			frappe.throw(frappe._("User is mandatory for Share"), frappe.MandatoryError)
		if self.write or self.submit or self.share:
			self.read = 1
		shared = frappe.get_doc(self.share_doctype, self.share_name)
		if not self.flags.ignore_share_permission and not frappe.has_permission(
			self.share_doctype, "share", doc=shared
		):
			frappe.throw(frappe._('You need to have "Share" permission'), frappe.PermissionError)
		if self.submit and not shared.meta.is_submittable:
			message = frappe._(
				"Cannot share {0} with submit permission as the doctype {1} is not submittable"
			)
			frappe.throw(message.format(self.share_name, self.share_doctype))
