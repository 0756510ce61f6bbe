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


def refuse_change(doc, method: str | None = None) -> None:
	"""Document event of records that only Huf writes: a share may grant anybody the right to save them."""
	if not doc.is_new():
		frappe.throw(frappe._("Only Huf changes this record."), frappe.PermissionError)


def refuse_row_alone(doc, method: str | None = None) -> None:
	"""Document event of all DocTypes: a row of Huf's tables is saved with its document, which checks it and
	keeps versions.

	Frappe runs the events of a row only if it is saved alone.
	"""
	parent = doc.get("parenttype")
	if parent and frappe.db.get_value("DocType", parent, "module", cache=True) == "Huf":
		message = frappe._("This row is saved only with the {0} {1}. Change that instead.")
		frappe.throw(message.format(frappe._(parent), doc.parent))


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
	is_person = user not in ("Guest", "Administrator") and frappe.get_cached_value("User", user, "enabled")
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


MEMORY = "Agent Memory"
MEMORY_FIELDS = ["scope", "user", "role", "reference_doctype", "reference_name"]
MAX_MEMORY_RECORDS = 500
"""Records whose facts a list shows, those with the newest facts; the agent finds others by their record."""


def memory_condition(user: str | None = None, doctype: str | None = None) -> str:
	user = user or frappe.session.user
	return "" if is_manager(user) else or_null(memory_audience(user))


def memory_audience(user: str) -> str:
	"""SQL: the facts meant for a user, for their roles, or for records that they may read."""
	table, quote = f"`tab{MEMORY}`", frappe.db.escape
	roles = ", ".join(map(quote, frappe.get_roles(user)))
	parts = [
		f"({table}.`scope` = 'User' and {table}.`user` = {quote(user)})",
		f"({table}.`scope` = 'Role' and {table}.`role` in ({roles}))",
	]
	for reference_doctype, names in list_readable_references(user).items():
		parts.append(
			f"({table}.`scope` = 'Record' and {table}.`reference_doctype` = {quote(reference_doctype)} "
			f"and {table}.`reference_name` in ({', '.join(map(quote, names))}))"
		)
	return f"({' or '.join(parts)})"


def list_readable_references(user: str) -> dict[str, list[str]]:
	"""Names by DocType of the records with facts that a user may read."""
	rows = frappe.db.sql(
		f"""select reference_doctype, reference_name from `tab{MEMORY}` where scope = 'Record'
		group by reference_doctype, reference_name order by max(creation) desc limit {MAX_MEMORY_RECORDS}"""
	)
	named: dict[str, list[str]] = {}
	for reference_doctype, name in rows:
		named.setdefault(reference_doctype, []).append(name)
	readable = {doctype: filter_permitted(doctype, names, "read", user) for doctype, names in named.items()}
	return {doctype: names for doctype, names in readable.items() if names}


def has_memory_permission(doc, ptype: str | None = None, user: str | None = None) -> bool:
	"""Checks the stored document: a user must not get access to a fact by changing its audience."""
	user = user or frappe.session.user
	stored = None if doc.is_new() else frappe.db.get_value(MEMORY, doc.name, MEMORY_FIELDS, as_dict=True)
	# The reasons that Frappe collects for a refusal would name the record that the fact is about.
	reasons, frappe.flags.has_permission_check_logs = frappe.flags.has_permission_check_logs, None
	try:
		return may_use_memory(stored or doc, ptype or "read", user)
	finally:
		frappe.flags.has_permission_check_logs = reasons


def may_use_memory(row, ptype: str, user: str) -> bool:
	if is_manager(user):
		return True
	if row.scope == "Role":
		return row.role in frappe.get_roles(user)
	if row.scope == "Record":
		right = "write" if ptype in ("write", "create", "delete") else "read"
		return bool(filter_permitted(row.reference_doctype, [row.reference_name], right, user))
	return (row.user or user) == user


def filter_permitted(doctype: str, names: list[str], right: str, user: str) -> list[str]:
	"""Names of existing documents on which a user has a right: by each document's own rules, and for the
	session user by those of lists.
	"""
	if doctype == MEMORY or not frappe.db.exists("DocType", doctype):
		return []
	meta = frappe.get_meta(doctype)
	if meta.issingle or meta.istable or not frappe.has_permission(doctype, "read", user=user):
		return []
	read = frappe.get_list if user == frappe.session.user else frappe.get_all
	listed = read(
		doctype, filters={"name": ["in", names]}, pluck="name", order_by="name asc", limit=len(names)
	)
	return [str(name) for name in listed if frappe.has_permission(doctype, right, doc=name, user=user)]
