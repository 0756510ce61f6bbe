from frappe.model.document import Document


class MCPGrant(Document):
	"""A program that a user has allowed to connect. Deleting it takes the access away."""
