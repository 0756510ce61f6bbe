"""Keeps a stored secret from being sent to an address that its owner did not choose."""

from collections.abc import Iterable
from typing import Any

import frappe
from frappe import _
from frappe.utils.password import delete_all_passwords_for


def require_secret_again(doc: Any, address_field: str, *secret_fields: str) -> None:
	"""Refuse a document whose address changed while a stored secret stays.

	Users who may write a document cannot read its secrets, but could otherwise have them sent to their own
	server.
	"""
	before = doc.get_doc_before_save()
	if not before or (before.get(address_field) or "") == (doc.get(address_field) or ""):
		return
	for field in secret_fields:
		if keeps_secret(doc, field):
			refuse_address(doc, address_field, _(doc.meta.get_label(field)))


def require_row_secrets(doc: Any, table: str, secret_field: str) -> None:
	"""Refuse a row whose secret is to stay although this document has none stored for it.

	A request may give the row the name of another document's row, whose secret would then be sent to this
	document's address.
	"""
	before = doc.get_doc_before_save()
	own = {row.name for row in before.get(table)} if before else set()
	for row in doc.get(table):
		if keeps_secret(row, secret_field) and row.name not in own:
			label = _(row.meta.get_label(secret_field))
			frappe.throw(_("Enter {0} in row {1}: no secret is stored for it.").format(label, row.idx))


def delete_removed_secrets(doc: Any, table: str) -> None:
	"""Delete the secrets of rows that a saved document no longer has, which Frappe leaves."""
	before = doc.get_doc_before_save()
	kept = {row.name for row in doc.get(table)}
	delete_row_secrets([row for row in (before.get(table) if before else ()) if row.name not in kept])


def delete_row_secrets(rows: Iterable[Any]) -> None:
	for row in rows:
		delete_all_passwords_for(row.doctype, row.name)


def refuse_address(doc: Any, address_field: str, secret: str) -> None:
	address = _(doc.meta.get_label(address_field))
	frappe.throw(_("{0} has changed. Enter {1} again, because it is sent there.").format(address, secret))


def keeps_secret(doc: Any, field: str) -> bool:
	"""Whether the stored value of a password field stays: Frappe shows it as asterisks, and removes it if the
	field is empty.
	"""
	value = doc.get(field) or ""
	return bool(value) and not value.strip("*")
