"""Functions of `frappe` that find, make, copy and cache documents."""

import frappe
from frappe.model.base_document import BaseDocument
from frappe.model.controllers import get_controller
from frappe.model.create_new import get_new_doc
from frappe.model.document import Document
from frappe.types import _dict


def get_doc(*args, **kwargs) -> Document:
	"""A document by DocType and name (or filters), from a dict, or from keywords. A document is returned
	unchanged.
	"""
	if args and isinstance(args[0], BaseDocument):
		return args[0]
	if args and isinstance(args[0], str):
		if len(args) > 1 and args[1] is None:
			frappe.throw(frappe._("{0} {1} not found").format(args[0], None), frappe.DoesNotExistError)
		return get_controller(args[0])(*args, **kwargs)
	values = args[0] if args else kwargs
	if not isinstance(values, dict):
		raise ValueError("First non keyword argument must be a string or dict")
	if "doctype" not in values:
		raise ValueError('"doctype" is a required key')
	return get_controller(values["doctype"])(dict(values))


def new_doc(doctype: str, *, parent_doc=None, parentfield=None, as_dict=False, **kwargs):
	"""A document with its defaults, not saved."""
	document = get_new_doc(doctype, parent_doc, parentfield, as_dict=as_dict)
	return document.update(kwargs)


def get_single(doctype: str) -> Document:
	return get_doc(doctype, doctype)


def get_last_doc(doctype: str, filters=None, order_by="creation desc", *, for_update=False) -> Document:
	names = frappe.get_all(doctype, filters=filters, limit_page_length=1, order_by=order_by, pluck="name")
	if not names:
		raise frappe.DoesNotExistError
	return get_doc(doctype, names[0], for_update=for_update)


def get_cached_doc(doctype: str, name: str | None = None) -> Document:
	"""A document that may come from the cache but is up to date. Do not change it."""
	name = doctype if name is None else name
	if not isinstance(name, str):
		return get_doc(doctype, name)
	values = frappe.local.db.versions.cached(doctype, name, lambda: get_doc(doctype, name).__getstate__())
	known = frappe.local.document_cache.get((doctype, name))
	if known is None or known[0] is not values:
		known = frappe.local.document_cache[doctype, name] = values, restored(doctype, values)
	return known[1]


def restored(doctype: str, values: dict) -> Document:
	"""A new document object with the cached values."""
	document = object.__new__(get_controller(doctype))
	document.__dict__.update(values, flags=_dict())
	for fieldname in document._table_fieldnames:
		rows = [restored(row.doctype, row.__getstate__()) for row in values.get(fieldname) or ()]
		document.__dict__[fieldname] = rows
	return document


def get_cached_value(doctype: str, name: str, fieldname="name", as_dict=False):
	"""Like `db.get_value` for one document, from the cache; None if it does not exist."""
	try:
		document = get_cached_doc(doctype, name)
	except frappe.DoesNotExistError:
		frappe.clear_last_message()
		return None
	if isinstance(fieldname, str):
		if as_dict:
			frappe.throw("Cannot make dict for single fieldname")
		return document.get(fieldname)
	values = [document.get(field) for field in fieldname]
	return _dict(zip(fieldname, values, strict=False)) if as_dict else values


def clear_document_cache(doctype: str, name: str | None = None):
	"""Invalidate cached documents of the DocType, in other processes after the commit."""
	frappe.local.db.versions.changed(doctype)
	known = frappe.local.document_cache
	for key in [key for key in known if key[0] == doctype]:
		del known[key]


def copy_doc(doc: Document, ignore_no_copy: bool = True) -> Document:
	"""A new document with the same values; fields marked no_copy are emptied unless `ignore_no_copy`."""
	values = doc.as_dict() if isinstance(doc, BaseDocument) else _dict(doc)
	copied = get_doc(without_identity(values))
	for row in (copied, *copied.get_all_children()):
		row.__dict__.update({"__islocal": 1, **dict.fromkeys(("name", "owner"))})
		for field in row.meta.fields if not ignore_no_copy else ():
			if field.no_copy:
				row.set(field.fieldname, None)
	return copied


def without_identity(values: dict) -> dict:
	left_out = {
		"name",
		"creation",
		"modified",
		"modified_by",
		"owner",
		"docstatus",
		"amended_from",
		"__unsaved",
	}
	return {
		key: [without_identity(row) for row in value] if isinstance(value, list) else value
		for key, value in values.items()
		if key not in left_out
	}
