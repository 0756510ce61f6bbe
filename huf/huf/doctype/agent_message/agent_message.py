from frappe.model.document import Document

from huf.ai.storage.history import drop_summary


class AgentMessage(Document):
	def on_trash(self):
		"""Agents read the message in the summary of its conversation as well."""
		drop_summary(self.conversation, self.sequence)
