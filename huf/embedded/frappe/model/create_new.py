"""New documents and their default values."""

from collections.abc import Iterator

import frappe
from frappe.model import no_value_fields
from frappe.permissions import get_allowed_docs_for_doctype, get_user_permissions
from frappe.types import _dict
from frappe.utils.data import cint, flt, now_datetime, nowdate, nowtime

CASTS = {"Check": cint, "Int": cint, "Float": flt, "Currency": flt, "Percent": flt}


def get_new_doc(doctype: str, parent_doc=None, parentfield=None, as_dict=False):
	"""A document, or its values, that is not in the database yet."""
	values = default_values(doctype, parent_doc)
	values.update(doctype=doctype, owner=frappe.session.user, docstatus=0, __islocal=1)
	if not frappe.get_meta(doctype).issingle:
		values["__unsaved"] = 1
	if parent_doc:
		values.update(parent=parent_doc.name, parenttype=parent_doc.doctype)
	if parentfield:
		values["parentfield"] = parentfield
	return values if as_dict else frappe.get_doc(values)


def default_values(doctype: str, parent_doc=None) -> _dict:
	static, dynamic = frappe.local.db.versions.cached(
		"DocType", ("defaults", doctype), lambda: split_defaults(doctype)
	)
	values = _dict(static)
	for field in dynamic:
		values[field.fieldname] = dynamic_value(field, parent_doc)
	for fieldname, allowed, default in permitted_links(doctype):
		if default:
			values[fieldname] = default
		elif allowed and values.get(fieldname) not in allowed:
			values.pop(fieldname, None)
	return values


def permitted_links(doctype: str) -> Iterator[tuple[str, list[str], str | None]]:
	"""(field, names, default) of links restricted by User Permissions. The only name, or the one marked as
	default, is the default.
	"""
	by_doctype = get_user_permissions()
	for field in frappe.get_meta(doctype).get_link_fields() if by_doctype else ():
		found = by_doctype.get(field.options, ())
		if found and field.options != "User" and not field.ignore_user_permissions:
			allowed = get_allowed_docs_for_doctype(found, doctype)
			defaults = [
				each.doc for each in found if each.doc in allowed and (each.is_default or len(found) == 1)
			]
			yield field.fieldname, allowed, defaults[-1] if defaults else None


def split_defaults(doctype: str) -> tuple[dict, list]:
	"""(constant default values, fields whose default depends on time, user or parent)."""
	meta, static, dynamic = frappe.get_meta(doctype), {}, []
	for field in meta.fields:
		default = field.default
		if field.fieldtype in no_value_fields:
			continue
		if field.fieldtype == "Time" or is_dynamic(field):
			dynamic.append(field)
		elif field.fieldtype == "Check":
			static[field.fieldname] = cint(default)
		elif default:
			if field.fieldname != meta.title_field:
				static[field.fieldname] = CASTS.get(field.fieldtype, lambda value: value)(default)
		elif field.fieldtype == "Select" and field.options and field.fieldname != meta.title_field:
			static[field.fieldname] = field.options.split("\n", 1)[0]
	return static, dynamic


def is_dynamic(field) -> bool:
	default = str(field.default or "")
	return (
		default in ("__user", "Today")
		or default.startswith(":")
		or (field.fieldtype == "Datetime" and default.lower() == "now")
	)


def dynamic_value(field, parent_doc):
	default = str(field.default or "")
	if default == "__user":
		return frappe.session.user
	if default == "Today":
		return nowdate()
	if field.fieldtype == "Time":
		return nowtime()
	if field.fieldtype == "Datetime":
		return now_datetime()
	linked = parent_doc.get(frappe.scrub(default[1:])) if parent_doc else None
	return frappe.db.get_value(default[1:], linked, field.fieldname) if linked else None
