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
	"""Conditions that together are equivalent on the site's database. Raises ToolError if none are."""
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
	"""Frappe stores 0 for an empty number, so `is set` compares with 0 and empty list items are dropped."""
	if operator == "is":
		return [[field, "!=" if value == "set" else "=", 0]]
	if operator not in ("in", "not in"):
		return [[field, operator, to_number(value) if isinstance(value, str) else value]]
	numbers = [to_number(each) for each in value if each not in EMPTY]
	if operator == "not in":
		return [[field, "!=", each] for each in numbers]
	return [[field, "in", numbers]] if numbers else [NO_ROW]


def to_number(value: Any) -> int | float:
	"""An int where possible: Postgres refuses to compare an integer column with a decimal literal."""
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
		raise ToolError(f"{field}: use a separate filter for empty values.")
	return [[field, "in", times]] if times else compare_with_empty(field, fieldtype, "=")


def compare_with_empty(field: str, fieldtype: str, operator: str) -> list[list]:
	"""Frappe on Postgres replaces an empty string by an early date, but has no such value for a Time."""
	if frappe.db.db_type != "postgres":
		return [[field, "is", "set" if operator == "!=" else "not set"]]
	if field in STANDARD_FIELDTYPES:
		return [] if operator == "!=" else [NO_ROW]
	if fieldtype == "Time":
		raise ToolError(f"{field}: empty times cannot be filtered on this database. Read the rows instead.")
	return [[field, operator, ""]]
