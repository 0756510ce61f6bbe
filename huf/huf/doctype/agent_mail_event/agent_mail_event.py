from frappe.model.document import Document


class AgentMailEvent(Document):
	pass
