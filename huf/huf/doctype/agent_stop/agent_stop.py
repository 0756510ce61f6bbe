from frappe.model.document import Document


class AgentStop(Document):
	pass
