"""Documents shared with one user or with everyone (DocShare)."""

import frappe
from frappe.utils.data import cint


def add(doctype, name, user=None, read=1, write=0, submit=0, share=0, everyone=0, notify=0):
	"""Share a document; the caller needs the right to share it."""
	return add_docshare(doctype, name, user, read, write, submit, share, everyone)


def add_docshare(
	doctype, name, user=None, read=1, write=0, submit=0, share=0, everyone=0, flags=None, notify=0
):
	"""Like `add`; `flags.ignore_share_permission` skips the check of the right to share."""
	user = user or frappe.session.user
	if not (flags or {}).get("ignore_share_permission"):
		check_share_permission(doctype, name)
	existing = share_name_of(doctype, name, user, everyone)
	document = frappe.get_doc("DocShare", existing) if existing else frappe.new_doc("DocShare")
	if not existing:
		document.update(dict(user=user, share_doctype=doctype, share_name=name, everyone=cint(everyone)))
	document.flags.update(flags or {})
	document.update(dict(read=1, write=cint(write), submit=cint(submit), share=cint(share)))
	return document.save(ignore_permissions=True)


def remove(doctype, name, user, flags=None):
	if existing := share_name_of(doctype, name, user):
		frappe.delete_doc("DocShare", existing, flags=flags, ignore_permissions=True)


def get_shared(doctype, user=None, rights=None, *, filters=None, limit=None) -> list[str]:
	"""Names of documents shared with a user, with all of these rights."""
	user = user or frappe.session.user
	conditions = [[right, "=", 1] for right in rights or ["read"]]
	conditions += [["share_doctype", "=", doctype], *(filters or [])]
	alternatives = [["user", "=", user], *([["everyone", "=", 1]] if user != "Guest" else [])]
	return frappe.get_all(
		"DocShare",
		filters=conditions,
		or_filters=alternatives,
		pluck="share_name",
		order_by=None,
		limit=limit,
	)


def share_name_of(doctype, name, user, everyone=0) -> str | None:
	filters = dict(share_name=name, share_doctype=doctype)
	filters.update(dict(everyone=1) if cint(everyone) else dict(user=user))
	return frappe.db.get_value("DocShare", filters)


def check_share_permission(doctype, name):
	if not frappe.has_permission(doctype, "share", doc=name):
		frappe.throw(
			frappe._("No permission to {0} {1} {2}").format("share", doctype, name), frappe.PermissionError
		)
