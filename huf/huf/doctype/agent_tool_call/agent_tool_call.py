from frappe.model.document import Document

from huf.ai.storage.run_rows import refuse_deletion


class AgentToolCall(Document):
	def on_trash(self):
		refuse_deletion(self)
