import frappe
from frappe.model.document import Document

from huf.ai.masking import read_patterns


class HufSettings(Document):
	def validate(self):
		self.keep_witness()
		self.check_patterns()

	def check_patterns(self):
		try:
			read_patterns(self.mask_patterns)
		except ValueError as error:
			frappe.throw(str(error))

	def keep_witness(self):
		"""When triggers last changed is told by them: a form opened before knows it no longer."""
		if before := self.get_doc_before_save():
			self.triggers_changed = before.triggers_changed
