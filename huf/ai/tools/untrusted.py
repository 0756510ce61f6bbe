"""Lets a person trust the content of a record."""

import frappe

from huf.ai.storage.untrusted_records import clear_record


def trust_record(doctype: str, name: str) -> bool:
	"""Trust a record from now on; False if it already was. Commits.

	The Agent Untrusted Record keeps who did it. Raises PermissionError for users who may not write it.
	"""
	frappe.get_doc(doctype, name).check_permission("write")
	is_cleared = clear_record(doctype, name, frappe.session.user)
	frappe.db.commit()
	return is_cleared
