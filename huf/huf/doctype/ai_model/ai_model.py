from frappe.model.document import Document


class AIModel(Document):
	pass
