from frappe.model.document import Document


class AgentDraft(Document):
	pass
