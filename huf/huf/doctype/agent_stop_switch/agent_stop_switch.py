from frappe.model.document import Document


class AgentStopSwitch(Document):
	pass
