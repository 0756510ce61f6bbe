"""Whitelisted functions for documents, as `frappe.client.*`: each one checks the user's permission."""

import frappe
from frappe import _
from frappe.model.request_values import document_from_request, query_values


def _check_parent(doctype: str, parent: str | None):
	"""Child rows are read through their parent's permission."""
	if frappe.get_meta(doctype).istable:
		if not parent:
			frappe.throw(_("Parent is required to read child rows"), frappe.PermissionError)
		frappe.has_permission(parent, "read", throw=True)


@frappe.whitelist()
def get_list(
	doctype,
	fields=None,
	filters=None,
	group_by=None,
	order_by=None,
	limit_start=None,
	limit_page_length=20,
	parent=None,
	debug: bool = False,
	as_dict: bool = True,
	or_filters=None,
):
	"""Rows the user may read; `fields`, `filters`, `or_filters` may be JSON text."""
	_check_parent(doctype, parent)
	with query_values():
		return frappe.get_list(
			doctype,
			fields=_parse(fields),
			filters=_parse(filters),
			or_filters=_parse(or_filters),
			group_by=group_by,
			order_by=order_by,
			limit_start=frappe.utils.cint(limit_start),
			limit_page_length=frappe.utils.cint(limit_page_length),
			parent_doctype=parent,
			as_list=not as_dict,
		)


def _parse(value):
	"""JSON text as its value; other text stays text."""
	try:
		return frappe.parse_json(value)
	except ValueError:
		return value


@frappe.whitelist()
def get_count(doctype, filters=None, debug=False, cache=False):
	"""How many of the rows the filters find the user may read."""
	return len(get_list(doctype, filters=filters, limit_page_length=0, as_dict=False))


@frappe.whitelist()
def get(doctype, name=None, filters=None, parent=None):
	"""A document by name, or the first one the filters find among those the user may read."""
	_check_parent(doctype, parent)
	if name or frappe.get_meta(doctype).issingle:
		doc = frappe.get_doc(doctype, name or doctype)
		doc.check_permission("read")
	else:
		doc = _find(doctype, _parse(filters), parent)
	doc.apply_fieldlevel_read_permissions()
	return doc.as_dict()


def _find(doctype: str, filters, parent: str | None):
	"""The answer is the same whether no document fits or the user may not read the one that does."""
	with query_values():
		names = frappe.get_list(
			doctype, filters=filters, pluck="name", limit_page_length=1, parent_doctype=parent
		)
	doc = frappe.get_doc(doctype, names[0]) if names else None
	if not (doc and doc.has_permission("read")):
		message = _("{0} {1} not found").format(_(doctype), filters)
		frappe.clear_messages()
		frappe.throw(message, frappe.DoesNotExistError)
	return doc


@frappe.whitelist()
def get_value(doctype, fieldname, filters=None, as_dict=True, debug=False, parent=None):
	"""One field, or several (a JSON list), of the first row the filters (or a name) find; {} if there is
	none.
	"""
	_check_parent(doctype, parent)
	if not frappe.has_permission(doctype, "read", parent_doctype=parent):
		frappe.throw(_("No permission for {0}").format(_(doctype)), frappe.PermissionError)
	fields, filters = _parse(fieldname), _parse(filters)
	fields = [fields] if isinstance(fields, str) else fields
	filters = {"name": filters} if isinstance(filters, (str, int)) else filters
	if not (isinstance(fields, list) and fields and all(isinstance(field, str) for field in fields)):
		frappe.throw(_("Invalid query: {0}").format("fieldname"), frappe.DataError)
	if frappe.get_meta(doctype).issingle:
		rows = [{field: frappe.db.get_single_value(doctype, field) for field in fields}]
	else:
		rows = get_list(doctype, fields=fields, filters=filters, limit_page_length=1, parent=parent)
	if frappe.utils.cint(as_dict):
		return rows[0] if rows else {}
	values = [rows[0][field] for field in fields] if rows else [None]
	return values if len(values) > 1 else values[0]


@frappe.whitelist(methods=["POST", "PUT"])
def insert(doc: dict | str):
	"""Insert a document; one with a parent is appended to that, which is saved."""
	document = document_from_request(doc)
	if not (document.get("parenttype") and document.get("parent")):
		return document.insert().as_dict()
	parent = frappe.get_doc(document.parenttype, document.parent)
	row = parent.append(document.parentfield, document)
	parent.save()
	return row.as_dict()


@frappe.whitelist(methods=["POST", "PUT"])
def submit(doc: dict | str):
	document = document_from_request(doc)
	document.submit()
	return document.as_dict()


@frappe.whitelist(methods=["POST", "PUT"])
def cancel(doctype: str, name: str):
	frappe.get_meta(doctype)
	document = frappe.get_doc(doctype, name)
	document.cancel()
	return document.as_dict()
