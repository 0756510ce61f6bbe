from frappe.model.document import Document


class KnowledgeChunk(Document):
	pass
