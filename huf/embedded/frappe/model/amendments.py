"""Amendments of cancelled documents."""

import frappe


def validate_amended_from(doc):
	"""Raises ValidationError unless the amended document is cancelled."""
	if frappe.db.get_value(doc.doctype, doc.amended_from, "docstatus") != 2:
		message = frappe._("{0} cannot be amended because it is not cancelled. Please cancel it first.")
		frappe.throw(message.format(doc.amended_from), title=frappe._("Amendment Not Allowed"))


def copy_attachments_from_amended_from(doc):
	for file in frappe.get_all(
		"File",
		filters={"attached_to_doctype": doc.doctype, "attached_to_name": doc.amended_from},
		fields=["file_url", "file_name", "is_private"],
		order_by="creation asc",
	):
		values = {
			"attached_to_doctype": doc.doctype,
			"attached_to_name": doc.name,
			"folder": "Home/Attachments",
		}
		frappe.get_doc({"doctype": "File", **file, **values}).insert()
