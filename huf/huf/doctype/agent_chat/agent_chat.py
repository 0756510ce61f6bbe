from frappe.model.document import Document


class AgentChat(Document):
	pass
