from frappe.model.document import Document

from huf.ai.storage.history import drop_summary
from huf.ai.storage.run_rows import refuse_deletion


class AgentMessage(Document):
	def on_trash(self):
		"""Agents read the message in the summary of its conversation as well."""
		refuse_deletion(self)
		drop_summary(self.conversation, self.sequence)
