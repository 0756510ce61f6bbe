"""The definition of a DocType, as a document: saving it makes or extends its table, which stays when it is
deleted.
"""

import re

import frappe
from frappe.core.doctype.doctype.field_checks import check_fields
from frappe.database.schema import COLUMN_TYPES, sync_table
from frappe.model import default_fields, no_value_fields, optional_fields
from frappe.model.document import Document
from frappe.utils.data import cint

NAME = re.compile(r"[A-Za-z][\w \-]*", re.ASCII)
FIELDNAME = re.compile(r"[a-z]\w*", re.ASCII | re.IGNORECASE)
MAY_BE_UNIQUE = {"Data", "Link", "Read Only", "Int"}
NEEDS_OPTIONS = {"Link", "Table", "Table MultiSelect", "Dynamic Link"}


BASIC_RIGHTS = ("select", "read", "write", "submit", "cancel", "create")


def describe_scope(rule) -> tuple:
	return rule.role, cint(rule.permlevel), cint(rule.if_owner)


class DocType(Document):
	def validate(self):
		if not self.custom and not frappe.conf.developer_mode and not frappe.flags.in_install:
			frappe.throw(frappe._("Not in Developer Mode! Set in site_config.json or make 'Custom' DocType."))
		if not NAME.fullmatch(self.name) or len(self.name) > 61:
			frappe.throw(frappe._("DocType's name should start with a letter and have at most 61 characters"))
		self.make_amendable()
		for field in self.fields:
			if self.autoname == f"field:{field.fieldname}":
				field.unique = 1
			self.complete_field(field)
		names = [field.fieldname for field in self.fields]
		if duplicate := next((name for name in names if names.count(name) > 1), None):
			frappe.throw(frappe._("{0}: Fieldname {1} appears multiple times").format(self.name, duplicate))
		check_fields(self)
		if not self.istable and not self.permissions and not self.custom:
			frappe.throw(frappe._("{0}: No basic permissions set").format(self.name))
		for rule in self.permissions:
			self.check_rule(rule)

	def make_amendable(self):
		if self.is_submittable and not any(field.fieldname == "amended_from" for field in self.fields):
			linked = {
				"fieldname": "amended_from",
				"fieldtype": "Link",
				"options": self.name,
				"label": "Amended From",
			}
			self.append(
				"fields", {**linked, "read_only": 1, "no_copy": 1, "search_index": 1, "print_hide": 1}
			)

	def check_rule(self, rule):
		"""Refuse rights that make no sense together, or on this DocType."""
		above = cint(rule.permlevel) > 0
		base = any(other.role == rule.role and not cint(other.permlevel) for other in self.permissions)
		wrong = {
			"No basic permissions set": not any(rule.get(right) for right in BASIC_RIGHTS),
			"Cannot set Cancel without Submit": rule.cancel and not rule.submit,
			"Cannot set Submit, Cancel, Amend without Write": (rule.submit or rule.cancel or rule.amend)
			and not rule.write,
			"Cannot set Assign Submit if not Submittable": rule.submit and not self.is_submittable,
			"Cannot set Assign Amend if not Submittable": rule.amend and not self.is_submittable,
			"Permission at level 0 must be set before higher levels are set": above
			and not base
			and rule.role not in ("All", "Desk User"),
			"Only one rule allowed with the same Role, Level and If Owner": any(
				other is not rule and describe_scope(other) == describe_scope(rule)
				for other in self.permissions
			),
		}
		if fault := next((fault for fault, is_so in wrong.items() if is_so), None):
			where = frappe._("For {0} at level {1} in {2} in row {3}").format(
				rule.role, cint(rule.permlevel), self.name, rule.idx
			)
			frappe.throw(frappe._(f"{{0}}: {fault}").format(where))

	def complete_field(self, field):
		"""Give a field its name; refuse one that cannot be stored."""
		if not (field.fieldname or field.label) and field.fieldtype not in no_value_fields:
			frappe.throw(frappe._("Row #{0}: Fieldname is required").format(field.idx))
		field.fieldname = field.fieldname or frappe.scrub(field.label or f"{field.fieldtype}_{field.idx}")
		field.permlevel = cint(field.permlevel)
		if not FIELDNAME.fullmatch(field.fieldname):
			frappe.throw(frappe._("Fieldname {0} cannot have special characters").format(field.fieldname))
		if field.fieldname in (*default_fields, *optional_fields) and field.fieldtype not in no_value_fields:
			frappe.throw(frappe._("Fieldname {0} is restricted").format(field.fieldname))
		if field.fieldtype not in COLUMN_TYPES and field.fieldtype not in no_value_fields:
			frappe.throw(frappe._("{0}: Fieldtype {1} is not known").format(field.fieldname, field.fieldtype))
		if field.unique and field.fieldtype not in MAY_BE_UNIQUE:
			message = frappe._("{0}: Fieldtype {1} for {2} cannot be unique")
			frappe.throw(message.format(self.name, field.fieldtype, field.label))
		if field.fieldtype in NEEDS_OPTIONS and not field.options:
			frappe.throw(
				frappe._("Options required for Link or Table type field {0}").format(field.fieldname)
			)

	def after_insert(self):
		frappe.db.versions.changed("DocType")

	def on_update(self):
		frappe.db.versions.changed("DocType")
		sync_table(frappe.get_meta(self.name))
