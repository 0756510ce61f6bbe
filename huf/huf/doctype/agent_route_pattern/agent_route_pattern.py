from frappe.model.document import Document


class AgentRoutePattern(Document):
	pass
