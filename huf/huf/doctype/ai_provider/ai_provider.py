import re

import frappe
from frappe import _
from frappe.model.document import Document


class AIProvider(Document):
	def validate(self):
		if self.api_base and not re.match(r"https?://[^/\s]+", self.api_base):
			frappe.throw(_("API Base must begin with http:// or https://"))
