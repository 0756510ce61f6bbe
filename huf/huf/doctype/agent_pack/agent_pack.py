from frappe.model.document import Document


class AgentPack(Document):
	"""An installed pack, with the records that it made. Written by `huf.ai.packs`."""
