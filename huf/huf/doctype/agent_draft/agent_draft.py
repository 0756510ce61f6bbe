import frappe
from frappe.model.document import Document

from huf.ai.core.errors import UsageError
from huf.ai.core.types import OPEN_STATUSES


class AgentDraft(Document):
	def on_trash(self):
		is_open = self.status in ("Pending", "Approved")
		if is_open and frappe.db.get_value("Agent Run", self.run, "status") in OPEN_STATUSES:
			raise UsageError("A run waits for this draft. Reject it or cancel the run before you delete it.")
