"""Permission-checked replacements of Frappe endpoints that look documents up by filters.

In Frappe 15, `frappe.client.get_count` counts documents of all users, and a refusal of `frappe.client.get`
reveals that a document of another user matches. Both allow reading texts letter by letter. `hooks.py`
overrides them with these functions, which are stricter for DocTypes of Huf and its packs only.
"""

from typing import Any

import frappe
import frappe.client

from huf.ai.core.errors import UsageError
from huf.ai.core.request_values import read_json


@frappe.whitelist()
def get_count(doctype: str, filters: Any = None, debug: Any = False, cache: Any = False) -> int:
	"""The number of documents that match the filters; for Huf's DocTypes, of those that the user may read."""
	check_filters(filters)
	if is_stricter(doctype):
		return len(find_names(doctype, filters))
	return frappe.client.get_count(doctype, filters, debug, cache)


@frappe.whitelist()
def get(doctype: str, name: Any = None, filters: Any = None, parent: str | None = None) -> dict:
	"""A document by name, or the first match of the filters; for Huf's DocTypes, the first that the user may
	read.
	"""
	check_filters(filters)
	if not name and filters is not None and is_stricter(doctype):
		found = find_names(doctype, filters, parent, limit=1)
		if not found:
			frappe.throw(frappe._("{0} {1} not found").format(doctype, filters), frappe.DoesNotExistError)
		name = found[0]
	return frappe.client.get(doctype, name, filters, parent)


def check_filters(filters: Any) -> None:
	"""Raises ValidationError for filters that make Frappe fail."""
	try:
		is_known = isinstance(read_json(filters, "filters"), dict | list | str | None)
	except UsageError:
		is_known = False
	if not is_known:
		frappe.throw(frappe._("Filters are an object or a list, as JSON."))


def is_stricter(doctype: str) -> bool:
	return frappe.db.get_value("DocType", doctype, "module", cache=True) == "Huf"


def find_names(doctype: str, filters: Any, parent: str | None = None, limit: int = 0) -> list:
	"""Names of documents that the user may read."""
	rows = frappe.client.get_list(
		doctype,
		["name"],
		frappe.parse_json(filters),
		order_by="name asc",
		limit_page_length=limit,
		parent=parent,
	)
	return [row["name"] for row in rows]
