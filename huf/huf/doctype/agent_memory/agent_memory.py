import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values
from huf.permissions import may_use_memory

MAX_FACT_CHARS = 500
SCOPE_FIELDS = {"User": ("user",), "Role": ("role",), "Record": ("reference_doctype", "reference_name")}
SOURCES = {"run": "Agent Run", "message": "Agent Message"}


class AgentMemory(Document):
	"""A fact that agents keep, and who may read it (`huf.permissions.memory_condition`)."""

	def before_validate(self):
		# Retention deletes runs; a link to one that is gone must not prevent a change of the fact.
		for field, doctype in SOURCES.items():
			if self.get(field) and not frappe.db.exists(doctype, self.get(field)):
				self.set(field, None)

	def validate(self):
		check_field_values(self)
		self.fact = " ".join((self.fact or "").split())
		if not 0 < len(self.fact) <= MAX_FACT_CHARS:
			frappe.throw(_("A fact has 1 to {0} characters.").format(MAX_FACT_CHARS))
		if self.scope == "User":
			self.user = self.user or frappe.session.user
		for scope, fields in SCOPE_FIELDS.items():
			for field in fields:
				if scope != self.scope:
					self.set(field, None)
				elif not self.get(field):
					frappe.throw(_("{0} is missing.").format(_(self.meta.get_label(field))))
		if self.scope == "Record":
			self.check_record()
		if not may_use_memory(self, "write", frappe.session.user):
			frappe.throw(
				_("You can keep facts for yourself, for your roles and for records that you may change."),
				frappe.PermissionError,
			)

	def check_record(self):
		meta = frappe.get_meta(self.reference_doctype)
		if meta.istable or meta.issingle or meta.name == self.doctype:
			frappe.throw(_("No facts can be kept for {0}.").format(_(meta.name)))
