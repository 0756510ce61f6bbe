from frappe.model.document import Document


class AgentToolRole(Document):
	pass
