from frappe.model.document import Document


class AgentUntrustedRecord(Document):
	pass
