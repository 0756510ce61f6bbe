"""`frappe.has_permission`, `frappe.get_roles` and `frappe.only_for`."""

import frappe
from frappe import permissions


def get_roles(username: str | None = None) -> list[str]:
	"""Roles of a user, by default the session user."""
	return permissions.get_roles(username) if getattr(frappe.local, "session", None) else ["Guest"]


def has_permission(
	doctype=None,
	ptype="read",
	doc=None,
	user=None,
	throw=False,
	*,
	parent_doctype=None,
	debug=False,
	verbose=False,
) -> bool:
	"""Whether the user may do this with the DocType or document; PermissionError instead of False if
	`throw`.
	"""
	if not doctype and doc:
		doctype = doc.doctype
	is_allowed = permissions.has_permission(
		doctype, ptype, doc=doc, user=user, raise_exception=throw, parent_doctype=parent_doctype
	)
	if throw and not is_allowed:
		label = frappe._(doctype)
		if doc:
			label += f" {doc if isinstance(doc, str) else doc.name}"
		frappe.flags.error_message = frappe._("No permission for {0}").format(label)
		raise frappe.PermissionError
	return is_allowed


def only_for(roles, message=False):
	"""Raises PermissionError unless the user has one of the roles; Administrator has all."""
	if frappe.session.user == "Administrator":
		return
	roles = (roles,) if isinstance(roles, str) else roles
	if set(roles).isdisjoint(get_roles()):
		if not message:
			raise frappe.PermissionError
		text = frappe._("This action is only allowed for {}").format(frappe.bold(", ".join(roles)))
		frappe.throw(text, frappe.PermissionError, frappe._("Not Permitted"))
