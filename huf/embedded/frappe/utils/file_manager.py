"""Files attached to documents.  Contents lie below the site's public/files and private/files."""

import frappe


def save_file(fname, content, dt, dn, folder=None, decode=False, is_private=0, df=None):
	"""A File document, attached to a document (`dt`, `dn`), to one of its fields if `df` is given."""
	return frappe.get_doc(
		dict(
			doctype="File",
			file_name=fname,
			attached_to_doctype=dt,
			attached_to_name=dn,
			attached_to_field=df,
			folder=folder,
			is_private=is_private,
			content=content,
			decode=decode,
		)
	).insert(ignore_permissions=True)


def remove_all(dt, dn, from_delete=False, delete_permanently=False):
	"""Delete the files attached to a document."""
	for name in frappe.get_all(
		"File", filters={"attached_to_doctype": dt, "attached_to_name": dn}, pluck="name"
	):
		frappe.delete_doc("File", name, ignore_permissions=from_delete)
