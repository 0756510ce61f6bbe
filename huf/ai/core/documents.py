"""Loads documents: with the user's permission checked, or to save them whether they exist or not.

Also names Frappe's own modules.
"""

from typing import Any

import frappe

FRAMEWORK_MODULES = {
	"Automation",
	"Contacts",
	"Core",
	"Custom",
	"Desk",
	"Email",
	"Geo",
	"Integrations",
	"Printing",
	"Social",
	"Website",
	"Workflow",
}
"""Frappe's own modules: many of their DocTypes hold scripts, queries, pages or mail templates."""


def get_permitted(doctype: str, name: str | None, right: str = "read") -> Any:
	"""A document. Raises PermissionError if the user lacks the right, DoesNotExistError if it is missing."""
	doc = frappe.get_doc(doctype, name)
	doc.check_permission(right)
	return doc


def get_or_new(doctype: str, name: str | None) -> Any:
	"""The document of this name, or a new one without a name. Checks no permission: saving does."""
	is_known = name and frappe.db.exists(doctype, name)
	return frappe.get_doc(doctype, name) if is_known else frappe.get_doc({"doctype": doctype})
