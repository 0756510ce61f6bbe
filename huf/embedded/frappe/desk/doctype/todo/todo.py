"""Something to do, for one user."""

import frappe
from frappe.model.document import Document
from frappe.permissions import AUTOMATIC_ROLES


class ToDo(Document):
	pass


def get_permission_query_conditions(user):
	user = user or frappe.session.user
	if has_todo_role(user, "read"):
		return ""
	name = frappe.db.escape(user)
	return f"(`tabToDo`.allocated_to = {name} or `tabToDo`.assigned_by = {name})"


def has_permission(doc, ptype="read", user=None):
	user = user or frappe.session.user
	return has_todo_role(user, ptype) or user in (doc.allocated_to, doc.assigned_by)


def has_todo_role(user: str, ptype: str) -> bool:
	"""Whether an assigned role, and not one that all users have, permits this."""
	roles = {row.role for row in frappe.get_meta("ToDo").permissions if row.get(ptype)}
	return bool(roles.difference(AUTOMATIC_ROLES) & set(frappe.get_roles(user)))
