from frappe.model.document import Document


class HufSettings(Document):
	pass
