from frappe.model.document import Document


class AgentBudget(Document):
	pass
