from frappe.model.document import Document


class AgentPackRecord(Document):
	"""A record that a pack brought. `made`: it did not find it there."""
