from frappe.model.document import Document


class MCPServerOffer(Document):
	pass
