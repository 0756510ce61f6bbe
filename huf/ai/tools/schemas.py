"""Builds JSON schemas of the fields of DocTypes."""

from typing import Any

import frappe

FIELD_TYPES = {
	"Int": "integer",
	"Long Int": "integer",
	"Check": "integer",
	"Rating": "number",
	"Duration": "number",
	"Float": "number",
	"Currency": "number",
	"Percent": "number",
}
TABLE_TYPES = ("Table", "Table MultiSelect")
FIELDTYPES_NOT_OFFERED = {
	"Section Break",
	"Column Break",
	"Tab Break",
	"HTML",
	"Button",
	"Heading",
	"Fold",
	"Image",
	"Password",
}
"""Field types that an agent neither reads nor writes: layout and passwords."""
MAX_FIELD_NAMES, MAX_ROW_FIELD_NAMES = 60, 30


def text_schema(description: str) -> dict:
	return {"type": "string", "description": description}


def texts_schema(description: str) -> dict:
	return {"type": "array", "items": {"type": "string"}, "description": description}


def limit_schema(maximum: int, description: str) -> dict:
	return {"type": "integer", "minimum": 1, "maximum": maximum, "description": description}


def closed_object(properties: dict, required: list[str], description: str | None = None) -> dict:
	"""An object schema that accepts only these properties."""
	schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
	return {**schema, "description": description} if description else schema


ROW_NAME = {
	"name": text_schema(
		"Name of a stored row, which keeps the fields that are left out; none for a new row. "
		"An update removes stored rows that are not given."
	)
}


def is_named_by_user(doctype: str) -> bool:
	"""Whether the creator of a document chooses its name."""
	return (frappe.get_meta(doctype).autoname or "").lower() == "prompt"


def list_form_fields(doctype: str) -> list:
	"""Fields that a person can fill in on the form."""
	return [
		df
		for df in frappe.get_meta(doctype).fields
		if df.fieldtype not in FIELDTYPES_NOT_OFFERED and not df.read_only and not df.hidden
	]


def list_required(doctype: str, parent: str) -> list[str]:
	"""The mandatory fields of a new document, or row of a `parent`, that its caller must fill in.

	Leaves out fields that have a default (of the field, the user or the site) or are fetched from a linked
	document. Of a submittable document only tables are required: its code may fill in the rest, such as the
	accounts and exchange rates of an invoice. If a value is still missing, the insert fails and names it.
	"""
	new = frappe.new_doc(doctype)
	is_computed = frappe.get_meta(parent).is_submittable
	return [
		df.fieldname
		for df in list_form_fields(doctype)
		if df.reqd
		and not df.default
		and not df.fetch_from
		and not new.get(df.fieldname)
		and not (is_computed and df.fieldtype not in TABLE_TYPES)
	]


def join_field_names(tool) -> str:
	"""The fields that a list can have: no tables, which are read with their document. Those of the list view
	first, because a DocType may have more than a model should read.
	"""
	meta = frappe.get_meta(tool.reference_doctype)
	fields = [df for df in meta.fields if df.fieldtype not in (*FIELDTYPES_NOT_OFFERED, *TABLE_TYPES)]
	fields.sort(key=lambda df: not (df.in_list_view or df.in_standard_filter))
	return ", ".join(
		["name", *(df.fieldname for df in fields[:MAX_FIELD_NAMES]), "owner", "creation", "modified"]
	)


def join_row_fields(tool) -> str:
	"""The fields of table rows that filters and totals can have, as `items.qty`: those that a form shows."""
	names = [
		f"{table.fieldname}.{df.fieldname}"
		for table in frappe.get_meta(tool.reference_doctype).get_table_fields()
		for df in frappe.get_meta(table.options).fields
		if df.in_list_view and df.fieldtype not in FIELDTYPES_NOT_OFFERED
	]
	return ", ".join(names[:MAX_ROW_FIELD_NAMES])


def field_schema(df, is_stored: bool = False) -> dict:
	"""JSON schema of one field of a DocType, whose document `is_stored` or new."""
	label = df.label or df.fieldname
	if df.fieldtype in TABLE_TYPES:
		children = list_form_fields(df.options)
		required = [] if is_stored else list_required(df.options, df.parent)
		properties = {child.fieldname: field_schema(child) for child in children} | ROW_NAME
		items = closed_object(properties, required)
		return {"type": "array", "items": items, "description": label}
	schema: dict[str, Any] = {
		"type": FIELD_TYPES.get(df.fieldtype, "string"),
		"description": describe_docfield(df, label),
	}
	if df.fieldtype == "Select" and df.options:
		schema["enum"] = df.options.split("\n")
	if df.fieldtype == "Check":
		schema["enum"] = [0, 1]
	if df.fieldtype == "Rating":
		schema |= {"minimum": 0, "maximum": 1}
	return schema


def describe_docfield(df, label: str) -> str:
	about = {
		"Date": "a date, YYYY-MM-DD",
		"Datetime": "a time, YYYY-MM-DD HH:MM:SS",
		"Time": "a time of day, HH:MM:SS",
		"Link": f"name of a {df.options}",
		"JSON": "JSON text",
		"Dynamic Link": f"name of a document of the DocType in {df.options}",
		"Duration": "in seconds",
		"Percent": "in percent",
		"Rating": "0 to 1, which is all stars",
	}.get(df.fieldtype)
	return f"{label}: {about}" if about else label
