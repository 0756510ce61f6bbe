import re

import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values
from huf.ai.core.stored_secrets import require_secret_again


class AIProvider(Document):
	def validate(self):
		check_field_values(self)
		if self.api_base and not re.match(r"https?://[^/\s]+", self.api_base):
			frappe.throw(_("Address must begin with http:// or https://"))
		require_secret_again(self, "api_base", "api_key")
