import frappe
from frappe.model.document import Document

from huf.ai.storage.budgets import delete_run_budget, settle_lost_runs
from huf.ai.storage.run_rows import end_children, refuse_deletion_of_called_run
from huf.ai.storage.untrusted_records import mark_conversations
from huf.ai.tools.taint import find_origins


class AgentRun(Document):
	def on_trash(self):
		"""Delete the run's journal and budget. Messages stay, with the marks of untrusted content."""
		refuse_deletion_of_called_run(self)
		# Nobody would release what a call has reserved in other budgets.
		settle_lost_runs([self.name])
		end_children(self.name, "The run that called it was deleted")
		holders = frappe.get_all(
			"Agent Message", {"run": self.name}, pluck="conversation", distinct=True, order_by="conversation"
		)
		mark_conversations(holders, find_origins(self.name))
		for doctype in ("Agent LLM Call", "Agent Tool Call", "Agent Draft", "Agent Change"):
			frappe.db.delete(doctype, {"run": self.name})
		delete_run_budget(self.name)
		frappe.db.set_value("Agent Message", {"run": self.name}, "run", None, update_modified=False)
		frappe.db.set_value("Agent Run", {"parent_run": self.name}, "parent_run", None, update_modified=False)
