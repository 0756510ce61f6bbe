from frappe.model.document import Document


class AgentLLMCall(Document):
	pass
