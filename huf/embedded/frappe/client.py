"""Whitelisted functions for documents, as `frappe.client.*`: each one checks the user's permission."""

import copy

import frappe
from frappe import _
from frappe.model.meta import get_permitted_fields
from frappe.model.request_values import document_from_request, field_values, parse_object, query_values


def _check_parent(doctype: str, parent: str | None):
	"""Child rows are read through their parent's permission."""
	if frappe.get_meta(doctype).istable:
		if not parent:
			frappe.throw(_("Parent is required to read child rows"), frappe.PermissionError)
		frappe.has_permission(parent, "read", throw=True)


@frappe.whitelist()
def get_list(
	doctype: str,
	fields=None,
	filters=None,
	group_by: str | None = None,
	order_by: str | None = None,
	limit_start=None,
	limit_page_length=20,
	parent: str | None = None,
	debug: bool = False,
	as_dict: bool = True,
	or_filters=None,
):
	"""Rows the user may read; `fields`, `filters`, `or_filters` may be JSON text."""
	_check_parent(doctype, parent)
	with query_values():
		return frappe.get_list(
			doctype,
			fields=_without_unreadable(doctype, _parse(fields), parent),
			filters=_parse(filters),
			or_filters=_parse(or_filters),
			group_by=group_by,
			order_by=order_by,
			limit_start=frappe.utils.cint(limit_start),
			limit_page_length=frappe.utils.cint(limit_page_length),
			parent_doctype=parent,
			as_list=not as_dict,
		)


def _without_unreadable(doctype: str, fields, parent: str | None):
	"""If none is left, the name is listed."""
	if not isinstance(fields, list):
		return fields
	meta, permitted = frappe.get_meta(doctype), get_permitted_fields(doctype, parent)
	return [each for each in fields if each in permitted or not meta.has_field(each)]


def _parse(value):
	"""JSON text as its value; other text stays text."""
	try:
		return frappe.parse_json(value)
	except ValueError:
		return value


@frappe.whitelist()
def get_count(doctype: str, filters=None, debug=False, cache=False):
	"""How many of the rows the filters find the user may read."""
	return len(get_list(doctype, filters=filters, limit_page_length=0, as_dict=False))


@frappe.whitelist()
def get(doctype: str, name=None, filters=None, parent: str | None = None):
	"""A document by name, or the first one the filters find among those the user may read."""
	_check_parent(doctype, parent)
	if not isinstance(name, str | int | None):
		# Filters instead of a name could be used to guess the values of hidden fields.
		frappe.throw(_("Invalid query: {0}").format("name"), frappe.DataError)
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
def get_value(doctype: str, fieldname, filters=None, as_dict=True, debug=False, parent: str | None = None):
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
	as_dict = bool(frappe.utils.cint(as_dict))
	if frappe.get_meta(doctype).issingle:
		readable = _without_unreadable(doctype, fields, parent)
		values = {field: frappe.db.get_single_value(doctype, field) for field in readable}
		rows = [values if as_dict else list(values.values())]
	else:
		rows = get_list(
			doctype, fields=fields, filters=filters, limit_page_length=1, parent=parent, as_dict=as_dict
		)
	if as_dict:
		return rows[0] if rows else {}
	if not (rows and rows[0]):
		return None
	return rows[0] if len(fields) > 1 else rows[0][0]


@frappe.whitelist()
def get_single_value(doctype: str, field: str):
	return get_value(doctype, field, as_dict=False)


@frappe.whitelist()
def has_permission(doctype: str, docname: str, perm_type: str = "read"):
	return {"has_permission": frappe.has_permission(doctype, perm_type.lower(), docname)}


@frappe.whitelist(methods=["POST", "PUT"])
def set_value(doctype: str, name: str, fieldname: str | dict, value=None):
	"""Set a field, or several ({field: value}, also as JSON text), of a document or of a child row; the
	document is saved.
	"""
	if fieldname in (*frappe.model.default_fields, *frappe.model.child_table_fields):
		frappe.throw(_("Cannot edit standard fields"))
	several = None if value and isinstance(fieldname, str) else _parse(fieldname)
	values = field_values(doctype, several if isinstance(several, dict) else {fieldname: value or ""})
	if frappe.get_meta(doctype).istable:
		document, row = load_row(doctype, name)
		row.update(values)
	else:
		document = frappe.get_doc(doctype, name, for_update=True)
		document.update(values)
	document.save()
	return readable(document).as_dict()


@frappe.whitelist(methods=["POST", "PUT"])
def insert(doc: dict | str):
	"""Insert a document; one with a parent is appended to that, which is saved."""
	return readable(_insert(doc)).as_dict()


def _insert(doc: dict | str):
	document = document_from_request(doc)
	if not (document.get("parenttype") and document.get("parent")):
		return document.insert()
	parent = frappe.get_doc(document.parenttype, document.parent)
	if parent._table_fieldnames.get(document.parentfield) != document.doctype:
		message = _("{0} is not a table of {1} with rows of {2}")
		frappe.throw(message.format(document.parentfield, parent.doctype, document.doctype))
	row = parent.append(document.parentfield, document)
	parent.save()
	return row


@frappe.whitelist(methods=["POST", "PUT"])
def insert_many(docs: list | str):
	"""Insert up to 200 documents; returns their names."""
	docs = parse_object(docs)
	if not isinstance(docs, list) or len(docs) > 200:
		frappe.throw(_("Give a list of at most 200 documents"))
	return [_insert(doc).name for doc in docs]


@frappe.whitelist(methods=["POST", "PUT"])
def save(doc: dict | str):
	document = document_from_request(doc)
	document.save()
	return readable(document).as_dict()


@frappe.whitelist(methods=["POST", "PUT"])
def rename_doc(doctype: str, old_name: str, new_name: str, merge: bool = False):
	frappe.get_meta(doctype)  # raises DoesNotExistError
	return frappe.rename_doc(doctype, old_name, new_name, merge=merge)


@frappe.whitelist(methods=["DELETE", "POST"])
def delete(doctype: str, name: str):
	"""Delete a document, or take a row out of its document, which is saved."""
	if not frappe.get_meta(doctype).istable:
		frappe.delete_doc(doctype, name, ignore_missing=False)
		return
	document, row = load_row(doctype, name)
	document.remove(row)
	document.save()


def load_row(doctype: str, name: str):
	"""A child row and its document, locked: (document, row). Raises DoesNotExistError."""
	found = frappe.db.get_value(doctype, {"name": name}, ["parenttype", "parent", "name"])
	if not found:
		frappe.throw(_("{0} {1} not found").format(doctype, name), frappe.DoesNotExistError)
	document = frappe.get_doc(*found[:2], for_update=True)
	rows = (row for row in document.get_all_children() if (row.doctype, row.name) == (doctype, found[2]))
	if not (row := next(rows, None)):
		raise frappe.DoesNotExistError
	return document, row


@frappe.whitelist(methods=["POST", "PUT"])
def submit(doc: dict | str):
	document = document_from_request(doc)
	document.submit()
	return readable(document).as_dict()


@frappe.whitelist(methods=["POST", "PUT"])
def cancel(doctype: str, name: str):
	frappe.get_meta(doctype)
	document = frappe.get_doc(doctype, name)
	document.cancel()
	return readable(document).as_dict()


def readable(document):
	"""The document without the values above its reader's permission level; empty texts stay, as on Frappe.

	A copy, because callbacks after the commit may need all values.
	"""
	rows = (document, *document.get_all_children())
	is_open = not any(row.meta.get_high_permlevel_fields() for row in rows)
	if is_open or frappe.session.user == "Administrator":
		return document
	visible, levels = copy.copy(document), document.get_permlevel_access("read")
	for fieldname in document._table_fieldnames:
		visible.__dict__[fieldname] = [copy.copy(row) for row in document.get(fieldname) or ()]
	for row in (visible, *visible.get_all_children()):
		for field in row.meta.get_high_permlevel_fields():
			if field.permlevel not in levels and row.get(field.fieldname) != "":
				row.set(field.fieldname, None)
	return visible
