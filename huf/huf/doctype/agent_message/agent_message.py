from frappe.model.document import Document


class AgentMessage(Document):
	pass
