"""Who sees what runs leave behind: the owner and Huf Managers, in lists and one by one."""

import frappe


def is_manager(user: str) -> bool:
	return user == "Administrator" or "Huf Manager" in frappe.get_roles(user)


def list_condition(user: str | None = None, doctype: str | None = None) -> str:
	"""SQL for `permission_query_conditions`; nothing for managers."""
	user = user or frappe.session.user
	return "" if is_manager(user) else f"`tab{doctype}`.`owner` = {frappe.db.escape(user)}"


def has_permission(doc, ptype: str | None = None, user: str | None = None) -> bool:
	user = user or frappe.session.user
	return is_manager(user) or doc.owner == user
