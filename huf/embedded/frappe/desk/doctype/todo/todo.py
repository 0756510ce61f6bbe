"""Something to do, for one user."""

import frappe
from frappe.model.document import Document


class ToDo(Document):
	pass


def get_permission_query_conditions(user):
	user = user or frappe.session.user
	if "System Manager" in frappe.get_roles(user):
		return ""
	name = frappe.db.escape(user)
	return f"(`tabToDo`.allocated_to = {name} or `tabToDo`.assigned_by = {name} or `tabToDo`.owner = {name})"


def has_permission(doc, ptype="read", user=None):
	user = user or frappe.session.user
	if "System Manager" in frappe.get_roles(user) or ptype == "create":
		return True
	return user in (doc.allocated_to, doc.assigned_by, doc.owner)
