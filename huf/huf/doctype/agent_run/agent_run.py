import frappe
from frappe.model.document import Document


class AgentRun(Document):
	def on_trash(self):
		"""Delete the run's journal with it; the conversation's messages stay."""
		for doctype in ("Agent LLM Call", "Agent Tool Call", "Agent Draft", "Agent Change"):
			frappe.db.delete(doctype, {"run": self.name})
		frappe.db.set_value("Agent Message", {"run": self.name}, "run", None, update_modified=False)
		frappe.db.set_value("Agent Run", {"parent_run": self.name}, "parent_run", None, update_modified=False)
