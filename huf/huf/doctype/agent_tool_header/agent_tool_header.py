from frappe.model.document import Document


class AgentToolHeader(Document):
	pass
