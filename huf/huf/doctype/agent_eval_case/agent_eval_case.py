from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values, throwing
from huf.ai.evals.cases import parse_case


class AgentEvalCase(Document):
	def validate(self):
		check_field_values(self)
		self.check_definition()

	def check_definition(self):
		with throwing():
			parse_case(self.case_name, self.agent, self.prompt or "", self.definition or "")
