import frappe
from frappe import _
from frappe.model.document import Document


class HufUserSettings(Document):
	"""What a user has chosen for themselves."""

	def validate(self):
		if self.user != frappe.session.user:
			frappe.throw(_("Choose these settings for yourself only."), frappe.PermissionError)
