from frappe.model.document import Document


class AgentEvalRun(Document):
	pass
