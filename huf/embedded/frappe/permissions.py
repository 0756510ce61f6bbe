"""Permission checks by roles, ownership, User Permissions, hooks and shares, in Frappe's order.

`get_all`, `get_doc` and `frappe.db` do not check permissions.
"""

import frappe
from frappe.types import _dict

rights = (
	"select",
	"read",
	"write",
	"create",
	"delete",
	"submit",
	"cancel",
	"amend",
	"print",
	"email",
	"report",
	"import",
	"export",
	"share",
)
SHAREABLE = {
	"read": "read",
	"write": "write",
	"share": "share",
	"submit": "submit",
	"email": "read",
	"print": "read",
}
"""Fields of a share that grant a right, by right."""

AUTOMATIC_ROLES = ("Guest", "All", "Desk User", "Administrator")


def has_permission(
	doctype, ptype="read", doc=None, user=None, raise_exception=True, *, parent_doctype=None, debug=False
) -> bool:
	"""Whether a user may do this. Never raises: `raise_exception` means to show the reasons for a refusal."""
	user = user or frappe.session.user
	if user == "Administrator":
		return True
	if not doc and hasattr(doctype, "doctype"):
		doc, doctype = doctype, doctype.doctype
	if raise_exception:
		frappe.flags.has_permission_check_logs = []
	is_allowed = decide(doctype, ptype, doc, user, parent_doctype)
	if raise_exception:
		reasons = frappe.flags.pop("has_permission_check_logs", None) or []
		if not is_allowed and user == frappe.session.user:
			frappe.msgprint("<br>".join(reasons))
	return is_allowed


def decide(doctype: str, ptype: str, doc, user: str, parent_doctype: str | None) -> bool:
	meta = frappe.get_meta(doctype)
	if meta.istable:
		return has_child_permission(doctype, ptype, doc, user, parent_doctype)
	if isinstance(doc, (str, int)):
		doc = frappe.get_doc(doctype, str(doc))
	is_allowed = has_doc_permission(doc, ptype, user) if doc else has_doctype_permission(meta, ptype, user)
	return bool(is_allowed or is_shared(doctype, ptype, doc, user))


def has_doctype_permission(meta, ptype: str, user: str) -> bool:
	if (ptype == "submit" and not meta.is_submittable) or (ptype == "import" and not meta.allow_import):
		log(frappe._("Document Type is not {0}").format("submittable" if ptype == "submit" else "importable"))
		return False
	is_allowed = get_role_permissions(meta, user=user).get(ptype)
	if not is_allowed:
		message = frappe._("User {0} does not have doctype access via role permission for document {1}")
		log(message.format(frappe.bold(user), frappe.bold(frappe._(meta.name))))
	return bool(is_allowed)


def has_doc_permission(doc, ptype: str, user: str) -> bool:
	is_allowed = get_doc_permissions(doc, user=user, ptype=ptype).get(ptype)
	if not is_allowed:
		may_know = has_doctype_permission(frappe.get_meta(doc.doctype), "read", user)
		about = f": {frappe._(doc.doctype)} - {doc.name}" if may_know else ""
		log(frappe._("User {0} does not have access to this document").format(frappe.bold(user)) + about)
	return bool(is_allowed)


def is_shared(doctype: str, ptype: str, doc, user: str) -> bool:
	from frappe.share import get_shared

	if ptype not in SHAREABLE or (doc and not doc.name):
		return False
	filters = [["share_name", "=", doc.name]] if doc else None
	return bool(get_shared(doctype, user, rights=[SHAREABLE[ptype]], filters=filters, limit=1))


def has_child_permission(child_doctype, ptype, child, user, parent_doctype) -> bool:
	"""A child row has the permissions of its parent."""
	if isinstance(child, str):
		child = frappe.db.get_value(
			child_doctype, child, ["parent", "parenttype", "parentfield"], as_dict=True
		)
	parent_doctype = child.parenttype if child else parent_doctype
	if not parent_doctype:
		log(frappe._("Please specify a valid parent DocType for {0}").format(frappe.bold(child_doctype)))
		return False
	parent_meta = frappe.get_meta(parent_doctype)
	fields = [field for field in parent_meta.get_table_fields() if field.options == child_doctype]
	if parent_meta.istable or not fields:
		message = frappe._("{0} is not a valid parent DocType for {1}")
		log(message.format(frappe.bold(parent_doctype), frappe.bold(child_doctype)))
		return False
	if child:
		fields = [field for field in fields if field.fieldname == child.parentfield]
		if not fields:
			return False
		if ptype in ("create", "delete") and is_submitted(parent_doctype, child):
			log(frappe._("Cannot edit submitted or cancelled document"))
			return False
		# A row more is a change of its document.
		ptype = "write" if ptype == "create" and child.parent else ptype
	level = min((field.permlevel for field in fields), default=0)
	if level and level not in parent_meta.get_permlevel_access(ptype, user=user):
		log(frappe._("Insufficient Permission Level for {0}").format(frappe.bold(parent_doctype)))
		return False
	parent = child.parent if child else None
	return decide(parent_doctype, ptype, parent, user, None)


def is_submitted(parent_doctype: str, child) -> bool:
	"""Whether the parent of a child row is submitted or cancelled."""
	if not child.parent or not frappe.get_meta(parent_doctype).is_submittable:
		return False
	return bool(frappe.db.get_value(parent_doctype, child.parent, "docstatus"))


# --- rules ---


def get_doc_permissions(doc, user: str | None = None, ptype: str | None = None) -> dict:
	"""Rights to one document as {right: 0 or 1}."""
	user = user or frappe.session.user
	if user == "Administrator":
		return allow_everything()
	if not has_controller_permissions(doc, ptype, user=user):
		log(frappe._("Not allowed via controller permission check"))
		return {ptype: 0}
	is_owner = (doc.get("owner") or "").lower() == user.lower()
	allowed = _dict(get_role_permissions(doc.meta, user=user, is_owner=is_owner))
	if not doc.meta.is_submittable:
		allowed["submit"] = 0
	if not doc.meta.allow_import:
		allowed["import"] = 0
	if allowed.has_if_owner_enabled:
		allowed.update(allowed.if_owner)
	if not has_user_permission(doc, user):
		allowed = _dict(allowed.if_owner or {}, create=0) if is_owner else _dict()
	return allowed


def get_role_permissions(doctype_meta, user: str | None = None, is_owner: bool | None = None) -> _dict:
	"""Rights by role as {right: 0 or 1}; `if_owner` holds those that only the owner has."""
	meta = frappe.get_meta(doctype_meta) if isinstance(doctype_meta, str) else doctype_meta
	user = user or frappe.session.user
	if user == "Administrator":
		return _dict(allow_everything())
	versions = frappe.local.db.versions
	key = meta.name, user, bool(is_owner), versions.version("DocType"), versions.version("User")
	if versions.is_changing("DocType", "User") or key not in frappe.local.role_permissions:
		frappe.local.role_permissions[key] = evaluate_rules(meta, user, bool(is_owner))
	return frappe.local.role_permissions[key]


def evaluate_rules(meta, user: str, is_owner: bool) -> _dict:
	roles = set(get_roles(user))
	rules = [rule for rule in meta.permissions if rule.role in roles and rule.permlevel == 0]
	with_owner = any(rule.if_owner for rule in rules)
	evaluated = _dict(has_if_owner_enabled=with_owner, if_owner={})
	for right in rights:
		granting = [rule for rule in rules if rule.get(right)]
		evaluated[right] = int(bool(granting))
		if granting and right != "create" and all(rule.if_owner for rule in granting):
			evaluated.if_owner[right] = int(is_owner)
			evaluated[right] = int(right in ("select", "read"))  # lists are narrowed to own rows later
	return evaluated


def requires_owner_constraint(role_permissions) -> bool:
	"""Whether lists must be narrowed to the user's own rows."""
	owned = role_permissions.get("if_owner")
	if not owned:
		return False
	return not any(role_permissions.get(right) and right not in owned for right in ("select", "read"))


def only_has_select_perm(doctype: str, user: str | None = None) -> bool:
	if frappe.get_meta(doctype).istable:
		return False
	allowed = get_role_permissions(doctype, user=user)
	return bool(allowed.get("select") and not allowed.get("read"))


def has_controller_permissions(doc, ptype: str | None, user: str | None = None) -> bool:
	"""The result of the has_permission hooks, of which the last answer decides. They can only refuse."""
	hooks = frappe.get_hooks("has_permission", {})
	for method in reversed([*hooks.get(doc.doctype, ()), *hooks.get("*", ())]):
		answer = frappe.apps.call(
			frappe.get_attr(method), doc=doc, ptype=ptype, user=user or frappe.session.user
		)
		if answer is not None:
			return bool(answer)
	return True


def allow_everything() -> dict:
	return dict.fromkeys(rights, 1)


def log(message: str):
	if (messages := frappe.flags.get("has_permission_check_logs")) is not None:
		messages.append(message)


# --- roles ---


def get_roles(user: str | None = None, with_standard: bool = True) -> list[str]:
	user = user or frappe.session.user
	if not user or user == "Guest":
		return ["Guest"]
	doctype = "Role" if user == "Administrator" else "User"
	roles = frappe.local.db.versions.cached(doctype, ("roles", user), lambda: read_roles(user))
	return [role for role in roles if with_standard or role not in AUTOMATIC_ROLES]


def read_roles(user: str) -> list[str]:
	if user == "Administrator":
		return frappe.db.sql("SELECT name FROM tabRole", pluck=True)
	given = frappe.db.sql(
		"SELECT role FROM `tabHas Role` WHERE parenttype = 'User' AND parent = %s", (user,), pluck=True
	)
	roles = [role for role in given if role not in AUTOMATIC_ROLES]
	is_system_user = frappe.db.get_value("User", user, "user_type") == "System User"
	return [*roles, "All", "Guest", *(["Desk User"] if is_system_user else [])]


# --- User Permissions ---


def get_user_permissions(user: str | None = None) -> dict:
	"""{DocType: [{doc, applicable_for, is_default}]}"""
	user = user or frappe.session.user
	if user in ("Administrator", "Guest"):
		return {}
	return frappe.local.db.versions.cached(
		"User Permission", ("of", user), lambda: read_user_permissions(user)
	)


def read_user_permissions(user: str) -> dict:
	by_doctype = {}
	rows = frappe.db.sql(
		"SELECT allow, for_value AS doc, applicable_for, is_default"
		" FROM `tabUser Permission` WHERE user = %s",
		(user,),
		as_dict=True,
	)
	for row in rows:
		by_doctype.setdefault(row.pop("allow"), []).append(row)
	return by_doctype


def get_allowed_docs_for_doctype(user_permissions, doctype: str) -> list[str]:
	return [one.doc for one in user_permissions if not one.applicable_for or one.applicable_for == doctype]


def has_user_permission(doc, user: str | None = None) -> bool:
	"""Whether User Permissions allow the document and everything it links to; empty links pass."""
	user_permissions = get_user_permissions(user)
	if not user_permissions:
		return True
	allowed = get_allowed_docs_for_doctype(user_permissions.get(doc.doctype, ()), doc.doctype)
	if allowed and str(doc.name) not in allowed:
		log(frappe._("Not allowed for {0}: {1}").format(frappe._(doc.doctype), doc.name))
		return False
	return all(
		links_are_allowed(row, doc.doctype, user_permissions) for row in (doc, *doc.get_all_children())
	)


def links_are_allowed(row, doctype: str, user_permissions: dict) -> bool:
	for field in row.meta.link_fields:
		value = row.get(field.fieldname)
		if not value or field.ignore_user_permissions or field.options not in user_permissions:
			continue
		allowed = get_allowed_docs_for_doctype(user_permissions[field.options], doctype)
		if allowed and str(value) not in allowed:
			message = (
				"You are not allowed to access this {0} record because it is linked to {1} '{2}' in field {3}"
			)
			label = frappe._(field.label or field.fieldname)
			log(frappe._(message).format(frappe._(doctype), frappe._(field.options), value, label))
			return False
	return True


def add_user_permission(
	doctype, name, user, ignore_permissions=False, applicable_for=None, is_default=0, hide_descendants=0
):
	"""Restrict a user to this document, in addition to others of the same DocType."""
	values = dict(user=user, allow=doctype, for_value=name, applicable_for=applicable_for)
	if frappe.db.exists("User Permission", values):
		return
	new = dict(
		values,
		doctype="User Permission",
		is_default=is_default,
		apply_to_all_doctypes=int(not applicable_for),
	)
	frappe.get_doc(new).insert(ignore_permissions=ignore_permissions)
