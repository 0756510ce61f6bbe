"""Converts filters to SQL with `?` parameters.

Rows whose column is NULL take part as in Frappe's lists, where NULL counts as the type's empty value: the SQL
says `(column op ? OR column IS NULL)`, which, unlike ifnull(), keeps the column's type, collation and index.
"""

import datetime
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass

import frappe
from frappe.database.schema import COLUMN_TYPES, DECIMAL, INTEGER, get_table_name, to_field
from frappe.utils.data import cstr, flt

OPERATORS = ("=", "!=", ">", "<", ">=", "<=", "like", "not like", "in", "not in", "is", "between")
COMPARISONS = {
	"=": operator.eq,
	"!=": operator.ne,
	">": operator.gt,
	"<": operator.lt,
	">=": operator.ge,
	"<=": operator.le,
}
NEVER_NULL = {"name", "creation", "modified"}
STANDARD_TYPES = {"creation": "Datetime", "modified": "Datetime", "docstatus": "Int", "idx": "Int"}
COLUMN = re.compile(r"\w[\w .\-]*", re.ASCII)


@dataclass(frozen=True)
class Filter:
	doctype: str
	field: str
	operator: str
	value: object


def parse(doctype: str, filters) -> list[Filter]:
	"""Parse filters: a dict, or a list of [field, value], [field, op, value], [doctype, field, op, value] and
	dicts.

	Raises TypeError for a filter that is not a list, ValidationError for an unknown operator.
	"""
	if not filters:
		return []
	if isinstance(filters, dict):
		return [of_item(doctype, key, value) for key, value in filters.items()]
	if not isinstance(filters, (list, tuple)):
		raise TypeError(f"Filters must be a dict or a list of lists, not {filters!r}")
	return [one for entry in filters for one in of_entry(doctype, entry)]


def of_item(doctype, key, value) -> Filter:
	if isinstance(value, (list, tuple)):
		if len(value) != 2 or not isinstance(value[0], str):
			raise frappe.ValidationError(
				f"The filter of {key} must be a value or [operator, value], not {value!r}"
			)
		return checked(doctype, key, *value)
	return checked(doctype, key, "=", value)


def of_entry(doctype, entry):
	if isinstance(entry, dict):
		return parse(doctype, entry)
	if not isinstance(entry, (list, tuple)):
		raise TypeError(f"Filters must be a dict or a list of lists; {entry!r} stands alone in the list")
	entry = list(entry)
	if len(entry) == 5:
		entry.pop()
	if len(entry) == 2:
		return [of_item(doctype, *entry)]
	if len(entry) == 3:
		return [checked(doctype, *entry)]
	if len(entry) != 4:
		raise frappe.ValidationError(f"A filter has 2 to 4 parts: {entry!r}")
	return [checked(*entry)]


def checked(doctype, field, op, value) -> Filter:
	op = cstr(op).strip().lower()
	if op not in OPERATORS:
		frappe.throw(frappe._("Operator must be one of {0}").format(", ".join(OPERATORS)))
	if not COLUMN.fullmatch(cstr(field)):
		frappe.throw(frappe._("Invalid filter: {0}").format(field), frappe.DataError)
	return Filter(doctype, field, op, value)


def field_type(doctype: str, fieldname: str) -> str | None:
	return field_types(doctype, [fieldname])[0]


def field_types(doctype: str, fieldnames: Sequence[str]) -> list[str | None]:
	"""The type of each field, for one look at the DocType."""
	standard = [STANDARD_TYPES.get(name) for name in fieldnames]
	if None not in standard or doctype.startswith("__") or doctype in ("Singles", "Series"):
		return standard
	found = frappe.get_meta(doctype).types
	return [kind or found.get(name) for kind, name in zip(standard, fieldnames, strict=True)]


def condition(
	one: Filter, *, count_nulls: bool, column: str | None = None, is_joined: bool = False
) -> tuple[str, list]:
	"""SQL and its parameters.  `count_nulls`: treat NULL as the type's empty value, as lists do.

	`is_joined`: the row may be missing in the joined table, which lists consider for fields that are in no
	DocType.
	"""
	fieldtype = field_type(one.doctype, one.field)
	column = column or f"`{get_table_name(one.doctype)}`.`{one.field}`"
	is_number = COLUMN_TYPES.get(fieldtype, "").startswith((INTEGER, DECIMAL)) or fieldtype == "Int"
	nullable = (
		count_nulls
		and one.field not in NEVER_NULL
		and (not is_number or (is_joined and one.field in STANDARD_TYPES))
	)
	if one.operator == "is":
		return is_set(column, one.value, is_number)
	if one.operator == "between":
		return between(column, one.value, fieldtype)
	if one.operator in ("in", "not in"):
		return membership(column, one, fieldtype, nullable, count_nulls)
	if one.value is None:
		if count_nulls:
			frappe.throw(
				f"{one.field}: None is no value to compare with. Use ['is', 'not set'] or ['is', 'set']."
			)
		return f"{column} IS {'NOT ' if one.operator == '!=' else ''}NULL", []
	value = compared(one.value, fieldtype, one.field, is_number)
	if one.operator in ("like", "not like"):
		# The empty text that NULL stands for is like "" and like "%"; of days Frappe makes another value.
		is_unlike_empty = one.operator == "not like" and (cstr(one.value).strip("%") or fieldtype == "Date")
		nulls = f" OR {column} IS NULL" if nullable and is_unlike_empty else ""
		escape = "" if count_nulls else r" ESCAPE '\'"
		return f"({column} {one.operator.upper()} ?{escape}{nulls})", [cstr(one.value)]
	if nullable and null_matches(one.operator, value, fieldtype):
		return f"({column} {one.operator} ? OR {column} IS NULL)", [value]
	return f"{column} {one.operator} ?", [value]


def is_set(column, value, is_number):
	if value not in ("set", "not set"):
		frappe.throw(f"'is' takes 'set' or 'not set', not {value!r}")
	empty = f"ifnull({column}, {'0' if is_number else repr('')})"
	return f"{empty} {'!=' if value == 'set' else '='} {'0' if is_number else repr('')}", []


def between(column, value, fieldtype):
	if fieldtype not in ("Date", "Datetime"):
		raise frappe.db.ProgrammingError(
			"'between' needs a Date or Datetime field; use '>=' and '<=' for others"
		)
	if not isinstance(value, (list, tuple)) or len(value) != 2:
		frappe.throw(f"'between' takes two dates, not {value!r}")
	start, end = value
	if fieldtype == "Datetime":
		end = end_of_day(end)
	return f"{column} BETWEEN ? AND ?", [to_field(start, fieldtype), to_field(end, fieldtype)]


def end_of_day(value):
	"""A date without a time includes the whole day."""
	is_day = len(value) <= 10 if isinstance(value, str) else not isinstance(value, datetime.datetime)
	return f"{value} 23:59:59.999999" if is_day else value


def membership(column, one: Filter, fieldtype, nullable, is_list):
	"""Lists strip the values and take None as the empty text; counts take them as they are."""
	values = one.value
	if isinstance(values, str):
		values = values.split(",")
	values = list(values or ("",))
	texts = [flt(value) if isinstance(value, bool) else cstr(value) for value in values]
	if is_list:
		texts = [text.strip() if isinstance(text, str) else text for text in texts]
	else:
		texts = [None if value is None else text for value, text in zip(values, texts, strict=True)]
	if fieldtype in ("Date", "Datetime"):
		texts = [to_field(text, fieldtype) if text else text for text in texts]
	marks = ", ".join("?" * len(texts))
	has_empty = "" in texts
	sql = f"{column} {one.operator.upper()} ({marks})"
	if nullable and (has_empty if one.operator == "in" else not has_empty):
		if fieldtype == "Datetime":
			frappe.throw(
				f"{one.field}: Frappe compares moments that may be empty as text, and finds none by "
				f"'{one.operator}'. Use '>=' and '<='."
			)
		sql = f"({sql} OR {column} IS NULL)"
	return sql, texts


def compared(value, fieldtype, fieldname, is_number):
	if is_number:
		return flt(value)
	if fieldtype in ("Date", "Datetime") and value != "":
		return to_field(value, fieldtype, fieldname)
	return to_field(value, None)


def null_matches(op: str, value, fieldtype) -> bool:
	"""Whether the empty value, which NULL stands for, satisfies the comparison."""
	if op == "=" and value:
		return False
	if fieldtype in ("Date", "Datetime"):
		return op in ("<", "<=", "!=")
	if isinstance(value, str):
		return COMPARISONS[op]("", value)
	return COMPARISONS[op](0, value)
