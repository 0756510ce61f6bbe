from frappe.model.document import Document


class AgentChange(Document):
	pass
