from frappe.model.document import Document


class AgentRouteDecision(Document):
	pass
