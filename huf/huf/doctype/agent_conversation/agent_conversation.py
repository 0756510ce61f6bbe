import frappe
from frappe.model.document import Document

from huf.ai.chat.approvals import end_runs_of
from huf.ai.core.field_values import check_field_values
from huf.ai.storage.chats import show_remaining

EDITABLE = ("title", "is_active")


class AgentConversation(Document):
	def validate(self):
		"""Restore the fields that runs write by SQL: people change only the title and whether it is active.

		The other fields decide what the model reads and whether it counts as untrusted, and a run may have
		changed them since the document was opened.
		"""
		if before := self.get_doc_before_save():
			restored = [field.fieldname for field in self.meta.fields if field.fieldname not in EDITABLE]
			self.update({name: before.get(name) for name in restored})
		check_field_values(self)

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
