"""Link search: the suggestions of a Link field."""

import re

import frappe
from frappe.model.request_values import query_values
from frappe.utils import cint, cstr

SEARCHABLE = frozenset(
	("Data", "Text", "Small Text", "Long Text", "Link", "Select", "Read Only", "Text Editor")
)


@frappe.whitelist()
def search_link(
	doctype: str,
	txt: str,
	filters: str | dict | list | None = None,
	page_length: int = 10,
	searchfield: str | None = None,
) -> list[dict]:
	"""[{"value": name, "description": other search fields, "label": title if links show it}]"""
	rows = search_widget(doctype, txt.strip(), searchfield, page_length, filters)
	meta = frappe.get_meta(doctype)
	return [_suggestion(list(row), bool(meta.show_title_field_in_link and meta.title_field)) for row in rows]


def _suggestion(row: list, has_title: bool) -> dict:
	name, *rest = row
	label = rest[0] if has_title and rest else None
	parts = dict.fromkeys(
		cstr(part) for part in ([name, *rest[1:]] if has_title else rest) if part and part != label
	)
	suggestion = {"value": name, "description": ", ".join(parts)}
	return {**suggestion, "label": label} if label else suggestion


def search_widget(doctype: str, txt: str, searchfield: str | None, page_length: int, filters) -> list:
	"""Rows [name, title, search fields ...] the user may read whose name, title or search fields contain
	`txt`; of DocTypes all of them.

	Names that begin with `txt` come first.
	"""
	with query_values():
		return _search(doctype, txt, searchfield, page_length, frappe.parse_json(filters))


def _search(doctype: str, txt: str, searchfield: str | None, page_length: int, filters) -> list:
	if searchfield and not re.fullmatch(r"\w+", searchfield):
		frappe.throw(frappe._("Invalid Search Field {0}").format(searchfield), frappe.DataError)
	meta = frappe.get_meta(doctype)
	rows = frappe.get_list(
		doctype,
		filters=[*_as_list(doctype, filters), *_only_active(meta)],
		or_filters=_contains(meta, txt) if txt else None,
		fields=_fields(meta, searchfield),
		limit_page_length=cint(page_length),
		order_by=f"idx desc, {meta.sort_field or 'modified'} {meta.sort_order or 'desc'}",
		as_list=True,
		# Users who set up agents and triggers choose one, and may not be System Managers.
		ignore_permissions=doctype == "DocType",
	)
	return sorted(
		rows, key=lambda row: (not cstr(row[0]).casefold().startswith(txt.casefold()), cstr(row[0]))
	)


def _as_list(doctype: str, filters) -> list:
	"""Filters as [doctype, field, operator, value]; a dict's values may be [operator, value]."""
	if not isinstance(filters, dict):
		return list(filters or [])
	pairs = [
		(key, value if isinstance(value, (list, tuple)) else ("=", value)) for key, value in filters.items()
	]
	return [[doctype, key, *value] for key, value in pairs]


def _only_active(meta) -> list:
	flags = {"enabled": ("=", 1), "disabled": ("!=", 1)}
	checks = {field.fieldname for field in meta.fields if field.fieldtype == "Check"}
	return [[meta.name, field, *test] for field, test in flags.items() if field in checks]


def _contains(meta, txt: str) -> list:
	fields = [name for name in _fields(meta) if name == "name" or _is_searchable(meta, name)]
	return [[meta.name, field, "like", f"%{txt}%"] for field in fields]


def _is_searchable(meta, fieldname: str) -> bool:
	field = meta.get_field(fieldname)
	return bool(field) and field.fieldtype in SEARCHABLE


def _fields(meta, searchfield: str | None = None) -> list[str]:
	names = ("name", meta.title_field, searchfield, *meta.get_search_fields())
	return list(dict.fromkeys(filter(None, names)))
