"""Loads documents: with the user's permission checked, or to save them whether they exist or not."""

from typing import Any

import frappe


def get_permitted(doctype: str, name: str | None, right: str = "read") -> Any:
	"""A document. Raises PermissionError if the user lacks the right, DoesNotExistError if it is missing."""
	doc = frappe.get_doc(doctype, name)
	doc.check_permission(right)
	return doc


def get_or_new(doctype: str, name: str | None) -> Any:
	"""The document of this name, or a new one without a name. Checks no permission: saving does."""
	is_known = name and frappe.db.exists(doctype, name)
	return frappe.get_doc(doctype, name) if is_known else frappe.get_doc({"doctype": doctype})
