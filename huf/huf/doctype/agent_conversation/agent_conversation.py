import frappe
from frappe.model.document import Document

from huf.ai.chat.approvals import end_runs_of
from huf.ai.storage.chat_versions import show_remaining


class AgentConversation(Document):
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
