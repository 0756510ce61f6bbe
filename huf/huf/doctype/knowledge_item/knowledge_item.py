from frappe.model.document import Document


class KnowledgeItem(Document):
	pass
