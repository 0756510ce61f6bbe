"""Deletes documents, unless links forbid it."""

import frappe
from frappe.model.docstatus import DocStatus

ATTACHED = {
	"Comment": ("reference_doctype", "reference_name"),
	"DocShare": ("share_doctype", "share_name"),
	"ToDo": ("reference_type", "reference_name"),
}
"""DocTypes whose rows are deleted with the document they belong to: their fields for its DocType and name."""


def delete_doc(
	doctype=None,
	name=None,
	force=0,
	ignore_doctypes=None,
	for_reload=False,
	ignore_permissions=False,
	flags=None,
	ignore_on_trash=False,
	ignore_missing=True,
	delete_permanently=False,
):
	"""Delete one document or a list of names, with child rows, secrets, files and shares.

	Raises LinkExistsError if another document links to it and not `force`; False if it does not exist.
	"""
	if not doctype:
		doctype, name = frappe.form_dict.get("dt"), frappe.form_dict.get("dn")
	for one in name if isinstance(name, (list, tuple)) else [name]:
		if not frappe.db.exists(doctype, one):
			if not ignore_missing:
				raise frappe.DoesNotExistError
			return False
		document = frappe.get_doc(doctype, one, for_update=True)
		document.flags.update(flags or {})
		if ignore_permissions:
			document.flags.ignore_permissions = True
		check_deletable(document)
		if not ignore_on_trash:
			document.run_method("on_trash")
			document.flags.in_delete = True
			document.run_method("on_change")
		if not force:
			check_links(document)
		delete_rows(document)
		document.run_method("after_delete")
		delete_what_belongs_to(document)
		record_deletion(document)
		document.clear_cache()


def check_deletable(document):
	if document.doctype == "DocType" and not document.custom and not frappe.conf.developer_mode:
		frappe.throw(frappe._("Standard DocType can not be deleted."))
	if frappe.session.user != "Administrator" and not document.has_permission("delete"):
		message = frappe._("User not allowed to delete {0}: {1}").format(document.doctype, document.name)
		frappe.msgprint(message, raise_exception=frappe.PermissionError)
	if document.meta.is_submittable and document.docstatus.is_submitted():
		message = frappe._("{0} {1}: Submitted Record cannot be deleted. You must {2} Cancel {3} it first.")
		message = message.format(frappe._(document.doctype), document.name, "<b>", "</b>")
		frappe.msgprint(message, raise_exception=True)


def delete_rows(document):
	from frappe.model.naming import revert_series_if_last
	from frappe.utils.password import delete_all_passwords_for

	doctype, name = document.doctype, document.name
	rule = document.meta.autoname or ""
	if rule.startswith("naming_series:") and document.get("naming_series"):
		revert_series_if_last(document.naming_series, name, document)
	elif "#" in rule and ":" not in rule:
		revert_series_if_last(rule, name, document)
	delete_all_passwords_for(doctype, name)
	if document.meta.issingle:
		frappe.db.execute("DELETE FROM `tabSingles` WHERE doctype = ?", (doctype,))
	else:
		frappe.db.execute(f"DELETE FROM `tab{doctype}` WHERE name = ?", (name,))
	for child_doctype in set(document._table_fieldnames.values()):
		frappe.db.execute(
			f"DELETE FROM `tab{child_doctype}` WHERE parent = ? AND parenttype = ?", (name, doctype)
		)


def record_deletion(document):
	"""Record who deleted a document of a DocType whose changes are tracked. Values are omitted, because
	nothing restores them.
	"""
	if document.meta.track_changes:
		values = {"deleted_doctype": document.doctype, "deleted_name": document.name}
		frappe.get_doc({"doctype": "Deleted Document", **values}).insert(ignore_permissions=True)


def delete_what_belongs_to(document):
	if document.doctype in (*ATTACHED, "File", "Version", "Error Log"):
		return
	for doctype, (type_field, name_field) in ATTACHED.items():
		frappe.db.delete(doctype, {type_field: document.doctype, name_field: document.name})
	attached = {"attached_to_doctype": document.doctype, "attached_to_name": document.name}
	for name in frappe.get_all("File", filters=attached, pluck="name"):
		frappe.delete_doc("File", name, ignore_permissions=True)


# --- links to a document ---


def check_links(document, method="Delete"):
	"""Raises LinkExistsError if a document links to this one; for "Cancel" only submitted ones count."""
	ignored = set(frappe.get_hooks("ignore_links_on_delete") if method == "Delete" else ())
	ignored |= set(document.get("ignore_linked_doctypes") or ())
	try:
		for link in links_to(document.doctype):
			if link.parent not in ignored and not (method == "Cancel" and link.fieldname == "amended_from"):
				check_link(document, link, method, ignored)
	except frappe.LinkExistsError:
		if method == "Delete" and (document.meta.has_field("enabled") or document.meta.has_field("disabled")):
			message = frappe._("You can disable this {0} instead of deleting it.").format(document.doctype)
			frappe.throw(message, frappe.LinkExistsError)
		raise


def check_link(document, link, method, ignored):
	meta = frappe.get_meta(link.parent)
	if meta.issingle:
		values = frappe.db.get_singles_dict(link.parent)
		is_other_type = link.type_field and values.get(link.type_field) != document.doctype
		if values.get(link.fieldname) == document.name and not is_other_type:
			refuse(document, link.parent, link.parent)
		return
	filters = {link.fieldname: document.name}
	if link.type_field:
		filters[link.type_field] = document.doctype
	fields = ["name", "docstatus", *(["parent", "parenttype"] if meta.istable else [])]
	for row in frappe.db.get_values(link.parent, filters, fields, as_dict=True, order_by=None):
		doctype, name = (row.parenttype, row.parent) if meta.istable else (link.parent, row.name)
		if doctype in ignored or (doctype == document.doctype and name == document.name):
			continue
		if method == "Delete" or row.docstatus == DocStatus.submitted():
			refuse(document, doctype, name)


def refuse(document, doctype, name):
	from frappe.utils.data import get_link_to_form

	row = frappe._("{0} {1}").format(
		frappe._(doctype), get_link_to_form(doctype, name) if doctype != name else ""
	)
	own = get_link_to_form(document.doctype, document.name)
	message = frappe._("Cannot delete or cancel because {0} {1} is linked with {2} {3}")
	message = message.format(frappe._(document.doctype), own, row, "")
	frappe.throw(message, frappe.LinkExistsError)


def links_to(doctype: str) -> list:
	"""Fields that may contain a name of this DocType: parent, fieldname, and type_field for Dynamic Links."""
	by_target = frappe.local.db.versions.cached("DocType", ("links",), all_links)
	return [*by_target.get(doctype, ()), *by_target.get(None, ())]


def all_links() -> dict:
	"""{DocType: its links}; None stands for Dynamic Links, which may point anywhere."""
	fields = frappe.db.sql(
		"""SELECT f.parent, f.fieldname, f.fieldtype, f.options FROM `tabDocField` f JOIN `tabDocType` d
		ON d.name = f.parent WHERE f.fieldtype IN ('Link', 'Dynamic Link') AND ifnull(d.is_virtual, 0) = 0
		AND ifnull(f.is_virtual, 0) = 0 ORDER BY f.parent, f.idx""",
		as_dict=True,
	)
	by_target = {}
	for field in fields:
		is_dynamic = field.fieldtype == "Dynamic Link"
		field.type_field = field.options if is_dynamic else None
		by_target.setdefault(None if is_dynamic else field.options, []).append(field)
	return by_target
