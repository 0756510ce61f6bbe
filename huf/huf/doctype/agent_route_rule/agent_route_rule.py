import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.errors import UsageError
from huf.ai.core.field_values import check_field_values
from huf.ai.mail.dispatch import preprocessor_names, rule_from_row
from huf.ai.mail.rules import check_rule


class AgentRouteRule(Document):
	def validate(self):
		check_field_values(self)
		self.check_conditions()
		self.check_preprocessor()

	def check_conditions(self):
		try:
			check_rule(rule_from_row(self))
		except UsageError as error:
			frappe.throw(str(error))
		except (ValueError, TypeError):
			frappe.throw(_('Headers must be JSON such as {"X-Header": "a regular expression"}.'))

	def check_preprocessor(self):
		if self.preprocessor and self.preprocessor not in preprocessor_names():
			names = ", ".join(preprocessor_names())
			frappe.throw(_("There is no preprocessor {0}. Available: {1}.").format(self.preprocessor, names))
