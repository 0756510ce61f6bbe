import frappe
from frappe import _
from frappe.model.document import Document


class AgentChat(Document):
	def validate(self):
		"""Users may write only so that the form lets them choose an agent: all share this record."""
		frappe.throw(_("This page stores nothing. Choose an agent and write to it."))
