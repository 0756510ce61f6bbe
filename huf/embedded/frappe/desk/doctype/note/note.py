"""A note, for its writer or for everyone."""

import frappe
from frappe.model.document import Document


class Note(Document):
	pass


def get_permission_query_conditions(user):
	return f"(`tabNote`.owner = {frappe.db.escape(user or frappe.session.user)} or `tabNote`.public = 1)"


def has_permission(doc, user=None):
	return bool(doc.public) or doc.owner == (user or frappe.session.user)
