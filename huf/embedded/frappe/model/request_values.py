"""Filters the values that a request may set on a document: known fields and child rows only."""

import json
import sqlite3
from contextlib import contextmanager

import frappe
from frappe.database.faults import describe_fault
from frappe.model.controllers import get_controller


def field_values(doctype: str, values: dict) -> dict:
	"""The known fields among `values`.

	A controller may name further keys in `request_keys`.  Raises ValidationError if a table is not a list of
	rows.
	"""
	meta = frappe.get_meta(doctype)
	tables = {field.fieldname: field.options for field in meta.get_table_fields()}
	known = {*meta.valid_columns, "__newname", *getattr(get_controller(doctype), "request_keys", ())}
	taken = {key: value for key, value in values.items() if key in known}
	for key, value in taken.items():
		if isinstance(value, dict | list) and not takes_objects(meta, key):
			# Not filters either, with which the fields of other documents could be guessed.
			frappe.throw(frappe._("{0} must be text").format(frappe.bold(key)), frappe.DataError)
	for fieldname in tables.keys() & values.keys():
		taken[fieldname] = table_rows(tables[fieldname], fieldname, values[fieldname])
	return taken


def takes_objects(meta, fieldname: str) -> bool:
	field = meta.get_field(fieldname)
	return bool(field and field.fieldtype == "JSON")


def table_rows(child_doctype: str, fieldname: str, rows) -> list[dict]:
	rows = rows or []
	if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
		frappe.throw(frappe._("{0} must be a list of rows").format(frappe.bold(fieldname)))
	return [field_values(child_doctype, row) for row in rows]


def parse_object(value):
	"""The value of JSON text.  Raises ValidationError for broken JSON and unpaired surrogates."""
	try:
		parsed = frappe.parse_json(value)
		if isinstance(value, str) and "\\u" in value:
			json.dumps(parsed, ensure_ascii=False).encode()
		return parsed
	except ValueError as error:
		frappe.throw(frappe._("Invalid JSON: {0}").format(error))


def document_from_request(doc):
	"""An unsaved document from a dict or its JSON text. Raises ValidationError for anything else."""
	values = parse_object(doc)
	if not (isinstance(values, dict) and isinstance(values.get("doctype"), str)):
		frappe.throw(frappe._("A document needs a doctype"))
	return frappe.get_doc({**field_values(values["doctype"], values), "doctype": values["doctype"]})


@contextmanager
def query_values():
	"""Raises DataError (417) for fields and filters that make invalid queries.

	Faults of the database are re-raised. An error without an SQLite code is about a value, whatever its text
	says.
	"""
	try:
		yield
	except (TypeError, ValueError, KeyError, OverflowError, sqlite3.Error) as error:
		if describe_fault(error) and hasattr(error, "sqlite_errorcode"):
			raise
		if frappe.db.is_missing_column(error):
			frappe.throw(frappe._("Field not permitted in query"), frappe.DataError)
		frappe.throw(frappe._("Invalid query: {0}").format(error), frappe.DataError)
