import frappe
from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values
from huf.ai.knowledge.vectors import check_text_receiver


class AIModel(Document):
	def validate(self):
		check_field_values(self)
		check_text_receiver(self, [self.name], "provider", "model_id")

	def before_naming(self):
		"""Where another provider has a model of this name, this one is named provider/model."""
		if self.model_name and self.provider:
			taken_by = frappe.db.get_value("AI Model", str(self.model_name), "provider")
			if taken_by and taken_by != self.provider:
				self.model_id = self.model_id or self.model_name
				self.model_name = f"{self.provider}/{self.model_name}"
