"""Permissions of cases: only a case's lawyer, team, owner, the users it is shared with and the role ADMIN see
it.

Documents of a case are visible with the case; notes and alerts without a case to their owner. These are
Frappe's hooks for lists and documents, which only narrow what the DocTypes' roles allow.
"""

import frappe

CASE, ADMIN = "Helena Akte", "ADMIN"


def sees_all(user: str) -> bool:
	return user == "Administrator" or ADMIN in frappe.get_roles(user)


def case_condition(user: str) -> str:
	"""SQL condition for the cases that a user may see."""
	me = frappe.db.escape(user)
	return f"""(`tabHelena Akte`.`anwalt` = {me} or `tabHelena Akte`.`owner` = {me}
		or `tabHelena Akte`.`name` in (select `parent` from `tabHelena Teammitglied`
			where `parenttype` = 'Helena Akte' and `benutzer` = {me})
		or `tabHelena Akte`.`name` in (select `share_name` from `tabDocShare`
			where `share_doctype` = 'Helena Akte' and `read` = 1 and (`user` = {me} or `everyone` = 1)))"""


def list_condition(user: str | None = None, doctype: str | None = None) -> str:
	"""Hook `permission_query_conditions`: an SQL condition, "" for users who may see everything."""
	user = user or frappe.session.user
	if sees_all(user):
		return ""
	if doctype == CASE:
		return case_condition(user)
	own = f"coalesce(`tab{doctype}`.`akte`, '') = '' and `tab{doctype}`.`owner` = {frappe.db.escape(user)}"
	cases = f"select `tabHelena Akte`.`name` from `tabHelena Akte` where {case_condition(user)}"
	return f"(`tab{doctype}`.`akte` in ({cases}) or ({own}))"


def has_permission(doc, ptype: str | None = None, user: str | None = None) -> bool:
	user = user or frappe.session.user
	if sees_all(user):
		return True
	if doc.doctype == CASE:
		return doc.is_new() or sees_case(doc.name, user)
	# The former case counts too: nobody may move a document out of a case that they may not see.
	stored = None if doc.is_new() else frappe.db.get_value(doc.doctype, doc.name, "akte")
	cases = {case for case in (doc.akte, stored) if case}
	return all(sees_case(case, user) for case in cases) if cases else doc.is_new() or doc.owner == user


def sees_case(name: str, user: str) -> bool:
	found = frappe.db.sql(
		f"select `name` from `tabHelena Akte` where `name` = %s and {case_condition(user)}",
		(name,),
	)
	return bool(found)
