from frappe.model.document import Document


class AgentMail(Document):
	pass
