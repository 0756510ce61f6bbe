"""Renames a document in its table and in all references."""

import frappe
from frappe.model.delete_doc import links_to
from frappe.model.naming import validate_name

ALSO_NAMED = (
	("File", "attached_to_doctype", "attached_to_name"),
	("Version", "ref_doctype", "docname"),
	("Comment", "reference_doctype", "reference_name"),
	("DocShare", "share_doctype", "share_name"),
)

MAX_NAME_CHARS = 140


def rename_doc(
	doctype,
	old,
	new,
	force=False,
	merge=False,
	ignore_permissions=False,
	ignore_if_exists=False,
	show_alert=True,
	rebuild_search=True,
) -> str:
	"""Returns the new name. Raises ValidationError if the user may not write the document, or if its DocType
	does not allow renaming.
	"""
	if not (old and new):
		raise TypeError("rename_doc needs the old name and a new one")
	document = frappe.get_doc(doctype, old)
	if merge:
		frappe.throw("rename_doc(merge=True) is not part of embedded mode: see huf/embedded/README.md")
	old = document.name
	new = new.strip()
	if old == new:
		frappe.throw(frappe._("Please select a new name to rename"))
	document.flags.ignore_permissions = ignore_permissions
	replaced = document.run_method("before_rename", old, new, merge)
	new = (replaced.get("new", new) if isinstance(replaced, dict) else replaced) or new
	if frappe.db.exists(doctype, new) and new.lower() != old.lower():
		if ignore_if_exists:
			return old
		frappe.throw(frappe._("Another {0} with name {1} exists, select another name").format(doctype, new))
	if not (ignore_permissions or document.has_permission("write")):
		frappe.throw(frappe._("You need write permission to rename"))
	if not (force or ignore_permissions) and not document.meta.allow_rename:
		frappe.throw(frappe._("{0} not allowed to be renamed").format(frappe._(doctype)))
	new = validate_name(doctype, new)
	if len(new) > MAX_NAME_CHARS:
		raise frappe.DataError(f"A name has at most {MAX_NAME_CHARS} characters")
	rename_row(document, old, new)
	rename_links(doctype, old, new)
	document.clear_cache()
	renamed = frappe.get_doc(doctype, new)
	renamed.run_method("after_rename", old, new, merge)
	if show_alert:
		message = frappe._("Document renamed from {0} to {1}").format(frappe.bold(old), frappe.bold(new))
		frappe.msgprint(message, alert=True, indicator="green")
	return new


def rename_row(document, old: str, new: str):
	doctype, rule = document.doctype, document.meta.autoname or ""
	frappe.db.execute(f"UPDATE `tab{doctype}` SET name = ? WHERE name = ?", (new, old))
	if rule.startswith("field:"):
		frappe.db.set_value(doctype, new, rule[6:], new, update_modified=False)
	for child_doctype in set(document._table_fieldnames.values()):
		frappe.db.execute(
			f"UPDATE `tab{child_doctype}` SET parent = ? WHERE parent = ? AND parenttype = ?",
			(new, old, doctype),
		)
	frappe.db.execute("UPDATE `__Auth` SET name = ? WHERE doctype = ? AND name = ?", (new, doctype, old))
	for other, type_field, name_field in ALSO_NAMED:
		frappe.db.execute(
			f"UPDATE `tab{other}` SET `{name_field}` = ? WHERE `{type_field}` = ? AND `{name_field}` = ?",
			(new, doctype, old),
		)


def rename_links(doctype: str, old: str, new: str):
	for link in links_to(doctype):
		filters = {link.fieldname: old, **({link.type_field: doctype} if link.type_field else {})}
		meta = frappe.get_meta(link.parent)
		if meta.istable:
			# Cached documents contain their rows.
			rows = frappe.get_all(
				link.parent, filters, ["parenttype"], distinct=True, order_by="parenttype asc"
			)
			for row in rows:
				frappe.local.db.versions.changed(row.parenttype)
		if meta.issingle:
			values = frappe.db.get_singles_dict(link.parent)
			if all(values.get(key) == value for key, value in filters.items()):
				frappe.db.set_single_value(link.parent, link.fieldname, new, update_modified=False)
		else:
			frappe.db.set_value(link.parent, filters, link.fieldname, new, update_modified=False)
