"""Loads documents with the user's permission checked."""

from typing import Any

import frappe


def get_permitted(doctype: str, name: str | None, right: str = "read") -> Any:
	"""A document. Raises PermissionError if the user lacks the right, DoesNotExistError if it is missing."""
	doc = frappe.get_doc(doctype, name)
	doc.check_permission(right)
	return doc
