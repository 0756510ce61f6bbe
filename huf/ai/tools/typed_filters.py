"""Filters in a form that finds the same rows with every version of Frappe, on every database.

An empty value in a list means something else in each version. On Postgres, Frappe 15 also compares numbers
and times with an empty text or a pattern, and the query fails. Lists of decimals and times find more there:
elsewhere Frappe 15 compares them as texts.
"""

from typing import Any

import frappe
from frappe.utils import flt

from huf.ai.core.errors import ToolError

NUMBERS = {"Int", "Long Int", "Float", "Currency", "Percent", "Check", "Duration", "Rating"}
TIMES = {"Date", "Datetime", "Time"}
STANDARD_FIELDTYPES = {"creation": "Datetime", "modified": "Datetime", "docstatus": "Int", "idx": "Int"}
EMPTY = (None, "")
NO_ROW = ["name", "=", ""]


def fit_filter(doctype: str, field: str, operator: str, value: Any) -> list[list]:
	"""The conditions that together say the same. Raises ToolError if there are none."""
	is_list = operator in ("in", "not in")
	has_empty = is_list and any(each in EMPTY for each in value)
	if not has_empty and frappe.db.db_type != "postgres":
		return [[field, operator, value]]
	df = frappe.get_meta(doctype).get_field(field)
	fieldtype = df.fieldtype if df else STANDARD_FIELDTYPES.get(field)
	if fieldtype not in NUMBERS | TIMES:
		return [[field, operator, ["" if each is None else each for each in value] if has_empty else value]]
	if operator in ("like", "not like"):
		raise ToolError(f"{operator!r} compares text; {field} is a {fieldtype}. Use =, !=, <, > or between.")
	if fieldtype in NUMBERS:
		return fit_number(field, operator, value)
	return fit_time(field, fieldtype, operator, value)


def fit_number(field: str, operator: str, value: Any) -> list[list]:
	"""Numbers are never empty: no row is in an empty list."""
	if operator == "is":
		return [[field, "!=" if value == "set" else "=", 0]]
	if operator not in ("in", "not in"):
		return [[field, operator, to_number(value) if isinstance(value, str) else value]]
	numbers = [to_number(each) for each in value if each not in EMPTY]
	if operator == "not in":
		return [[field, "!=", each] for each in numbers]
	return [[field, "in", numbers]] if numbers else [NO_ROW]


def to_number(value: Any) -> int | float:
	"""Postgres takes no decimals for a whole number."""
	number = flt(value)
	return int(number) if number.is_integer() else number


def fit_time(field: str, fieldtype: str, operator: str, value: Any) -> list[list]:
	if operator == "is":
		return compare_with_empty(field, fieldtype, "!=" if value == "set" else "=")
	if operator not in ("in", "not in"):
		return [[field, operator, value]]
	times = [each for each in value if each not in EMPTY]
	with_empty = not value or len(times) < len(value)
	if operator == "not in":
		filled = compare_with_empty(field, fieldtype, "!=") if with_empty else []
		return [*([field, "!=", each] for each in times), *filled]
	if times and with_empty:
		raise ToolError(f"{field}: look for empty values with a filter of their own.")
	return [[field, "in", times]] if times else compare_with_empty(field, fieldtype, "=")


def compare_with_empty(field: str, fieldtype: str, operator: str) -> list[list]:
	"""On Postgres, Frappe writes an early date for an empty text, and knows nothing like it for a time of
	day.
	"""
	if frappe.db.db_type != "postgres":
		return [[field, "is", "set" if operator == "!=" else "not set"]]
	if field in STANDARD_FIELDTYPES:
		return [] if operator == "!=" else [NO_ROW]
	if fieldtype == "Time":
		raise ToolError(f"{field}: whether a time of day is empty is no filter here. Read the rows instead.")
	return [[field, operator, ""]]
