import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.chat.approvals import end_runs_of
from huf.ai.storage.chat_versions import show_remaining

EDITABLE = ("title", "is_active")


class AgentConversation(Document):
	def validate(self):
		"""Runs write the other fields, past this check.

		They decide what the model reads and whether it counts as untrusted.
		"""
		fields = [field.fieldname for field in self.meta.fields if field.fieldname not in EDITABLE]
		if not self.is_new() and any(map(self.has_value_changed, fields)):
			frappe.throw(_("Only the title of a conversation can be changed."), frappe.PermissionError)

	def on_trash(self):
		"""Delete the messages and end open runs.

		The runs' records stay, because they document what was done.
		"""
		end_runs_of(self.name)
		show_remaining(self.name)
		frappe.db.delete("Agent Message", {"conversation": self.name})
		for doctype in ("Agent Run", "Agent Draft"):
			frappe.db.set_value(
				doctype, {"conversation": self.name}, "conversation", None, update_modified=False
			)
