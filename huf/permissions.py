"""Permission hooks: runs and conversations are visible to their owner and Huf Managers, drafts also to their
approver, mail also to the user it is assigned to.

A Knowledge Source or MCP Server that names roles can be used only by these. Every has_permission hook returns
True or False: Frappe 16 takes None for a refusal.
"""

import frappe
from frappe.share import get_shared


def is_manager(user: str) -> bool:
	return user == "Administrator" or "Huf Manager" in frappe.get_roles(user)


def list_condition(user: str | None = None, doctype: str | None = None) -> str:
	"""SQL for `permission_query_conditions`; empty for managers."""
	user = user or frappe.session.user
	if is_manager(user):
		return ""
	own = f"`tab{doctype}`.`owner` = {frappe.db.escape(user)}"
	# Frappe adds shared documents only for roles with "Only If Creator" and for User Permissions.
	if shared := get_shared(doctype, user):
		own += f" or `tab{doctype}`.`name` in ({', '.join(map(frappe.db.escape, shared))})"
	return or_null(own)


def or_null(condition: str) -> str:
	"""A condition that is null, not 0, for rows that the user may not read.

	Frappe 15 drops the upper bound of a "between" filter on a text field, and the condition after it takes
	that place: `between 0.0 and (...)` is true for texts where the condition is 0.
	"""
	return f"({condition} or null)"


def has_permission(doc, ptype: str | None = None, user: str | None = None) -> bool:
	user = user or frappe.session.user
	return is_manager(user) or doc.owner == user


def draft_condition(user: str | None = None, doctype: str | None = None) -> str:
	own = list_condition(user := user or frappe.session.user, "Agent Draft")
	return own and f"({own} or `tabAgent Draft`.`approver` = {frappe.db.escape(user)})"


def has_draft_permission(doc, ptype: str | None = None, user: str | None = None) -> bool:
	user = user or frappe.session.user
	return has_permission(doc, ptype, user) or (doc.approver == user and ptype != "delete")


def mail_condition(user: str | None = None, doctype: str | None = None) -> str:
	own = list_condition(user := user or frappe.session.user, "Agent Mail")
	return own and f"({own} or `tabAgent Mail`.`assigned_to` = {frappe.db.escape(user)})"


def has_mail_permission(doc, ptype: str | None = None, user: str | None = None) -> bool:
	user = user or frappe.session.user
	return has_permission(doc, ptype, user) or (doc.assigned_to == user and ptype != "delete")


def may_answer(user: str) -> bool:
	"""Whether a user can be an approver: an enabled user who may read drafts."""
	is_person = user not in ("Guest", "Administrator") and frappe.db.get_value("User", user, "enabled")
	return bool(is_person and frappe.has_permission("Agent Draft", "read", user=user))


def role_condition(user: str | None = None, doctype: str | None = None) -> str:
	if is_manager(user := user or frappe.session.user):
		return ""
	named_roles = f"""select 1 from `tabHas Role` r
		where r.parenttype = {frappe.db.escape(doctype)} and r.parent = `tab{doctype}`.name"""
	user_roles = ", ".join(map(frappe.db.escape, frappe.get_roles(user)))
	return or_null(f"not exists ({named_roles}) or exists ({named_roles} and r.role in ({user_roles}))")


def has_named_role(doc, ptype: str | None = None, user: str | None = None) -> bool:
	user = user or frappe.session.user
	return (
		is_manager(user)
		or not doc.roles
		or bool({row.role for row in doc.roles} & set(frappe.get_roles(user)))
	)
