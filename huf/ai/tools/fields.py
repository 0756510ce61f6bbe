"""Decides which fields of a DocType a user may read and write. Reads no document.

Errors are for the model: a ToolError names the fields it may use.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.tools.schemas import TABLE_TYPES, is_named_by_user
from huf.ai.tools.typed_filters import NUMBERS

STANDARD_FIELDS = ("name", "owner", "creation", "modified", "modified_by", "docstatus")
READABLE_SYSTEM_FIELDS = (*STANDARD_FIELDS, "idx", "parent", "parenttype", "parentfield")
OMITTED_FIELDS = ("idx", "modified_by", "parent", "parenttype", "parentfield")
STATUS_FIELDS = ("status", "workflow_state")
SECRET_FIELDTYPE = "Password"
SECRET_FIELDS = {"api_key", "api_secret", "reset_password_key"}
"""Credentials that Frappe stores in fields of other types, such as those of a User."""


def is_secret(df) -> bool:
	return df.fieldtype == SECRET_FIELDTYPE or df.fieldname in SECRET_FIELDS


def to_visible_dict(doc) -> dict:
	"""The fields of a document that the user may read, as JSON values; empty fields are left out."""
	allowed = set(list_readable_fields(doc.doctype)) - set(OMITTED_FIELDS)
	if not doc.meta.is_submittable:
		allowed.discard("docstatus")
	levels = doc.meta.get_permlevel_access("read")
	values = {"doctype": doc.doctype}
	for key, value in doc.as_dict(convert_dates_to_str=True).items():
		if key not in allowed or value is None or value == "" or value == []:
			continue
		values[key] = [to_visible_row(row, levels) for row in value] if isinstance(value, list) else value
	return values


def to_visible_row(row: Mapping[str, Any], levels: Sequence[int]) -> dict:
	"""A row of a child table; `levels`: the permission levels that the user has on the document."""
	allowed = set(list_data_fields(row["doctype"], levels)) - set(STANDARD_FIELDS)
	visible = {key: value for key, value in row.items() if key in allowed and value not in (None, "")}
	return visible | {"name": str(row["name"])} if row.get("name") else visible


def list_data_fields(doctype: str, levels: Sequence[int] | None = None) -> list[str]:
	"""All fields of these permission levels (None: of all levels), except secrets."""
	return [
		df.fieldname
		for df in frappe.get_meta(doctype).fields
		if not is_secret(df) and (levels is None or not df.permlevel or df.permlevel in levels)
	]


def list_readable_fields(doctype: str, ptype: str = "read") -> list[str]:
	"""Fields the user may read (or write) by permission level, standard fields first."""
	levels = frappe.get_meta(doctype).get_permlevel_access(ptype)
	return [*READABLE_SYSTEM_FIELDS, *list_data_fields(doctype, levels)]


CLOCK = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?")


def is_moment(text: str) -> bool:
	"""Whether a text is a date and time without a time zone, which a database does not store."""
	return datetime.fromisoformat(text).tzinfo is None


def is_clock_time(text: str) -> bool:
	return bool(CLOCK.fullmatch(text))


VALUE_FORMATS: dict[str, tuple[Callable[[str], Any], str]] = {
	"Date": (datetime.fromisoformat, "YYYY-MM-DD"),
	"Datetime": (is_moment, "YYYY-MM-DD HH:MM:SS"),
	"Time": (is_clock_time, "HH:MM:SS"),
	**dict.fromkeys(NUMBERS, (lambda text: isfinite(float(text)), "1234.5")),
}
"""By field type: (function that returns False or raises ValueError for a wrong text, format to ask for)."""


def may_read_instructions() -> bool:
	"""Whether the session user may read the instructions of agents, a field for managers."""
	return "instructions" in list_readable_fields("Agent")


def list_default_fields(doctype: str, allowed: Sequence[str]) -> list[str]:
	"""The default fields of a list: the title and the fields of the list view."""
	meta = frappe.get_meta(doctype)
	stored = set(meta.get_valid_columns())
	wanted = [meta.title_field, *(df.fieldname for df in meta.fields if df.in_list_view)]
	return [field for field in wanted if field and field in allowed and field in stored]


def list_summary_fields(doctype: str, allowed: Sequence[str]) -> list[str]:
	"""The key fields of a document: title and list view, status, dates."""
	meta = frappe.get_meta(doctype)
	state = ["docstatus"] if meta.is_submittable else []
	more = [
		df.fieldname
		for df in meta.fields
		if df.fieldname in STATUS_FIELDS or df.fieldtype in ("Date", "Datetime")
	]
	fields = [*list_default_fields(doctype, allowed), *state, *(field for field in more if field in allowed)]
	return list(dict.fromkeys(fields))


def check_fields(doctype: str, fields: Iterable[str], allowed: Sequence[str]) -> None:
	"""Raise ToolError for a missing field, and with the same message for one hidden from the user."""
	stored = set(frappe.get_meta(doctype).get_valid_columns())
	unknown = [field for field in fields if field not in allowed or field not in stored]
	if unknown:
		known = ", ".join(field for field in allowed if field in stored)
		raise ToolError(f"{doctype} has no field {', '.join(map(repr, unknown))}. Its fields: {known}.")


def check_writable(doctype: str, values: Mapping[str, Any], new: bool = False) -> None:
	"""Raise ToolError for fields that are missing, and PermissionError for fields that the user may not
	write.

	Frappe resets such fields silently, and an agent must not believe that it changed them.
	"""
	meta = frappe.get_meta(doctype)
	known = set(list_data_fields(doctype))
	if new and is_named_by_user(doctype):
		known.add("name")
	if unknown := [field for field in values if field not in known]:
		raise ToolError(
			f"{doctype} has no field {', '.join(map(repr, unknown))} that can be set. "
			f"Fields: {', '.join(sorted(known))}."
		)
	allowed = set(list_readable_fields(doctype, "write"))
	if forbidden := [field for field in values if field not in allowed]:
		raise frappe.PermissionError(f"You may not write {', '.join(forbidden)} of {doctype}.")
	check_value_formats(meta, values)
	for field, value in values.items():
		df = meta.get_field(field)
		if df and df.fieldtype in TABLE_TYPES and value:
			check_rows_writable(meta, df, value)


def check_rows_writable(meta, table, rows: Any) -> None:
	"""Like `check_writable`, for rows of a child table."""
	if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
		raise ToolError(f"{table.fieldname} takes a list of rows, each an object.")
	levels = meta.get_permlevel_access("write")
	given = set().union(*rows) - {"doctype", *READABLE_SYSTEM_FIELDS}
	if unknown := given - set(list_data_fields(table.options)):
		raise ToolError(
			f"Rows of {table.fieldname} have no field {', '.join(sorted(unknown))} that can be set."
		)
	if forbidden := given - set(list_data_fields(table.options, levels)):
		raise frappe.PermissionError(
			f"You may not write {', '.join(sorted(forbidden))} in rows of {table.fieldname}."
		)
	for row in rows:
		check_value_formats(frappe.get_meta(table.options), row)


def complete_tables(doc, values: Mapping[str, Any]) -> dict:
	"""The values to set on a stored document: rows with the name of a stored row keep what they leave out."""
	tables = (table for table in doc.meta.get_table_fields() if values.get(table.fieldname))
	return {**values, **{each.fieldname: complete_rows(doc, each, values[each.fieldname]) for each in tables}}


def complete_rows(doc, table, rows: Sequence[Mapping[str, Any]]) -> list[dict]:
	"""Raises ToolError for names that are not stored or given twice, and where a value would be lost that the
	user cannot see.
	"""
	stored = {str(row.name): row.as_dict() for row in doc.get(table.fieldname)}
	named = [str(row["name"]) for row in rows if row.get("name")]
	if len(set(named) & stored.keys()) < len(named):
		raise ToolError(
			f"The rows of {table.fieldname} are {', '.join(stored)}. Give each name once; a new row has none."
		)
	visible = list_data_fields(table.options, doc.meta.get_permlevel_access("read"))
	hidden = set(list_data_fields(table.options)).difference(visible)
	removed = [row for name, row in stored.items() if name not in named]
	if len(named) < len(rows) and any(row.get(field) for row in removed for field in hidden):
		raise ToolError(
			f"{table.fieldname} has values that you may not see. Give the names of all rows that stay."
		)
	return [
		{**stored.get(str(row.get("name")), {}), "idx": place, **drop_name(row)}
		for place, row in enumerate(rows, 1)
	]


def rename_rows(doctype: str, values: Mapping[str, Any]) -> dict:
	"""The values for a new document, whose rows get names of their own: an agent may have copied them."""
	tables = {table.fieldname for table in frappe.get_meta(doctype).get_table_fields()}
	return {
		field: [drop_name(row) for row in value] if field in tables and value else value
		for field, value in values.items()
	}


def drop_name(row: Mapping[str, Any]) -> dict:
	return {key: value for key, value in row.items() if key != "name"}


def check_value_formats(meta, values: Mapping[str, Any]) -> None:
	"""Raises ToolError for a text that is no date, time or number.

	Of a date, errors of databases do not help the model; of a number, Frappe would store a part, or 0.
	"""
	for field, value in values.items():
		if df := meta.get_field(field):
			check_text_format(field, df.fieldtype, value)


def check_text_format(field: str, fieldtype: str | None, value: Any) -> None:
	if fieldtype not in VALUE_FORMATS or not isinstance(value, str) or not value:
		return
	fits, form = VALUE_FORMATS[fieldtype]
	try:
		is_right = fits(value)
	except ValueError:
		is_right = False
	if not is_right:
		kind = "number" if fieldtype in NUMBERS else fieldtype.lower()
		raise ToolError(f"{field}: {value!r} is not a {kind}. Write it as {form}.")
