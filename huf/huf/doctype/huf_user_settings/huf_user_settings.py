import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values
from huf.permissions import may_answer


class HufUserSettings(Document):
	"""What a user has chosen for themselves."""

	def validate(self):
		check_field_values(self)
		if self.user != frappe.session.user:
			frappe.throw(_("Choose these settings for yourself only."), frappe.PermissionError)
		if self.deputy and (self.deputy == self.user or not may_answer(self.deputy)):
			frappe.throw(_("{0} cannot be your deputy. Choose another user of Huf.").format(self.deputy))
