from frappe.model.document import Document


class AgentTriggerEvent(Document):
	pass
