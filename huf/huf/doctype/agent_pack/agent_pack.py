from frappe.model.document import Document


class AgentPack(Document):
	"""A pack that this site has, and what it made here. Written by `huf.ai.packs`."""
