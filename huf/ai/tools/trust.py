"""Lets a person trust the content of a record."""

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.storage.untrusted_records import clear_record, is_outsider

NOT_FOR_OUTSIDERS = "Portal users cannot trust a record. Ask a user of the site to look at it."


def trust_record(doctype: str, name: str) -> bool:
	"""Trust a record from now on; False if it already was. Commits.

	The Agent Untrusted Record keeps who did it. Raises PermissionError for users who may not write it, and
	for guests and portal users, who would vouch for themselves.
	"""
	if is_outsider(frappe.session.user):
		raise frappe.PermissionError(NOT_FOR_OUTSIDERS)
	frappe.get_meta(doctype)  # get_doc raises ImportError for a DocType that is gone
	get_permitted(doctype, name, "write")
	is_cleared = clear_record(doctype, name, frappe.session.user)
	frappe.db.commit()
	return is_cleared
