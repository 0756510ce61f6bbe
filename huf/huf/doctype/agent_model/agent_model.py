from frappe.model.document import Document


class AgentModel(Document):
	pass
