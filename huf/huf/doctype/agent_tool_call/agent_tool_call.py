from frappe.model.document import Document


class AgentToolCall(Document):
	pass
