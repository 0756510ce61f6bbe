import frappe
from frappe.model.document import Document


class AgentRun(Document):
	def on_trash(self):
		"""Its journal goes with it; what was said in the conversation stays."""
		for doctype in ("Agent LLM Call", "Agent Tool Call", "Agent Draft"):
			frappe.db.delete(doctype, {"run": self.name})
		frappe.db.set_value("Agent Message", {"run": self.name}, "run", None, update_modified=False)
		frappe.db.set_value("Agent Run", {"parent_run": self.name}, "parent_run", None, update_modified=False)
