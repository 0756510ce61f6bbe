import frappe
from frappe.model.document import Document


class AgentConversation(Document):
	def on_trash(self):
		"""What was said goes with it; runs stay, because they are the record of what was done."""
		frappe.db.delete("Agent Message", {"conversation": self.name})
		for doctype in ("Agent Run", "Agent Draft"):
			frappe.db.set_value(
				doctype, {"conversation": self.name}, "conversation", None, update_modified=False
			)
