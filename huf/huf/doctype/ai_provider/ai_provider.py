import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values
from huf.ai.core.stored_secrets import require_secret_again
from huf.ai.knowledge.vectors import check_text_receiver
from huf.ai.providers.models import HTTP_ADDRESS


class AIProvider(Document):
	def validate(self):
		check_field_values(self)
		if self.api_base and not HTTP_ADDRESS.match(self.api_base):
			frappe.throw(_("Address must begin with http:// or https://"))
		require_secret_again(self, "api_base", "api_key")
		models = frappe.get_all("AI Model", {"provider": self.name}, pluck="name", order_by="name asc")
		check_text_receiver(self, models, "api_base", "api_key")
