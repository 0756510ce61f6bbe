"""Lists the secrets that a person still has to enter on this site for the records of a pack. Read-only."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import frappe

from huf.ai.packs.entry_checks import list_secret_fields

NEEDED_IF: dict[tuple[str, str], Mapping[str, Any]] = {
	("AI Provider", "api_key"): {"is_local": 0, "api_base": ""},
	("Agent Trigger", "webhook_secret"): {"trigger_type": "Webhook"},
	("Agent Mailbox", "imap_password"): {"auth_method": "Password"},
	("Agent Mailbox", "smtp_password"): {"auth_method": "Password"},
	("MCP Server Connection", "bearer_token"): {"auth": "Bearer"},
	("MCP Server Connection", "client_secret"): {"auth": "OAuth", "grant": "Client Credentials"},
	("MCP Server Connection", "headers"): {"auth": "Headers"},
}
"""Values of a record with which a secret, or a table with secrets, is needed; others always are."""


def list_missing_secrets(rows: Iterable) -> Iterator[str]:
	"""A line for each, of the rows of an Agent Pack that the pack has created."""
	for row in rows:
		doctype, name = row.record_doctype, row.record_name
		if row.made and frappe.db.exists("DocType", doctype) and may_need_secrets(doctype):
			if frappe.db.exists(doctype, name):
				yield from (f"{doctype} {name}: {what}" for what in list_empty(frappe.get_doc(doctype, name)))


def may_need_secrets(doctype: str) -> bool:
	"""Not of sample records: nothing works less without theirs."""
	meta = frappe.get_meta(doctype)
	tables = (df.options for df in meta.get_table_fields())
	return bool(
		(meta.issingle or not meta.custom) and any(map(list_secret_fields, (doctype, *filter(None, tables))))
	)


def list_empty(doc) -> Iterator[str]:
	for field in sorted(list_secret_fields(doc.doctype)):
		if is_needed(doc, field) and not doc.get(field):
			yield field
	for table in doc.meta.get_table_fields():
		secrets = list_secret_fields(table.options)
		for row in doc.get(table.fieldname) if secrets and is_needed(doc, table.fieldname) else ():
			title = row.get(row.meta.fields[0].fieldname)
			yield from (f"{field} of {title} in {table.fieldname}" for field in secrets if not row.get(field))


def is_needed(doc, field: str) -> bool:
	wanted = NEEDED_IF.get((doc.doctype, field), {})
	return all((doc.get(key) or "") == (value or "") for key, value in wanted.items())
