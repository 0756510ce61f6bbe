"""Converts filters to SQL with `?` parameters.

Rows whose column is NULL take part as in Frappe's lists, where NULL counts as the type's empty value: the SQL
says `(column op ? OR column IS NULL)`, which, unlike ifnull(), keeps the column's type, collation and index.
"""

import datetime
import operator
import re
from dataclasses import dataclass, replace

import frappe
from frappe.database.periods import get_period
from frappe.database.schema import (
	COLUMN_TYPES,
	DECIMAL,
	INTEGER,
	STANDARD_TYPES,
	field_type,
	get_table_name,
	to_field,
)
from frappe.utils.data import cstr, flt, get_datetime, getdate, nowdate

PERIODS = ("timespan", "previous", "next")
OPERATORS = ("=", "!=", ">", "<", ">=", "<=", "like", "not like", "in", "not in", "is", "between", *PERIODS)
COMPARISONS = {
	"=": operator.eq,
	"!=": operator.ne,
	">": operator.gt,
	"<": operator.lt,
	">=": operator.ge,
	"<=": operator.le,
}
MOMENTS = ("Date", "Datetime", "Time")
NEVER_NULL = {"name", "creation", "modified"}
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
EMPTY_MOMENT = "0001-01-01 00:00:00.000000"
"""What Frappe's lists take an empty Datetime for."""
COLUMN = re.compile(r"\w[\w .\-]*", re.ASCII)
MAX_PATTERN_CHARS = 300
"""SQLite's matching time grows with the length of the pattern times that of the text."""


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
	if len(entry) == 2:
		return [of_item(doctype, *entry)]
	if len(entry) == 3:
		return [checked(doctype, *entry)]
	if len(entry) < 4:
		raise frappe.ValidationError(f"A filter has 2 to 4 parts: {entry!r}")
	return [checked(*entry[:4])]


def checked(doctype, field, op, value) -> Filter:
	op = cstr(op).strip().lower()
	if op not in OPERATORS:
		frappe.throw(frappe._("Operator must be one of {0}").format(", ".join(OPERATORS)))
	if not COLUMN.fullmatch(cstr(field)):
		frappe.throw(frappe._("Invalid filter: {0}").format(field), frappe.DataError)
	return Filter(doctype, field, op, value)


def condition(
	one: Filter, *, count_nulls: bool, column: str | None = None, is_joined: bool = False
) -> tuple[str, list]:
	"""SQL and its parameters.  `count_nulls`: treat NULL as the type's empty value, as lists do.

	`is_joined`: the row may be missing in the joined table, which lists consider for fields that are in no
	DocType.
	"""
	fieldtype = field_type(one.doctype, one.field)
	column = column or f"`{get_table_name(one.doctype)}`.`{one.field}`"
	if one.operator in PERIODS:
		one = replace(one, operator="between", value=get_period(one.operator, one.value))
	if one.operator == "is":
		return is_set(column, one.value, fieldtype, count_nulls)
	if one.operator == "between":
		return between(column, one.value, fieldtype, count_nulls)
	if one.operator in ("in", "not in"):
		return membership(column, one, fieldtype, count_nulls)
	if one.value is not None:
		return comparison(column, one, fieldtype, count_nulls, is_joined)
	if count_nulls:
		frappe.throw(
			f"{one.field}: None is no value to compare with. Use ['is', 'not set'] or ['is', 'set']."
		)
	return f"{column} IS {'NOT ' if one.operator == '!=' else ''}NULL", []


def comparison(column, one: Filter, fieldtype, is_list: bool, is_joined: bool) -> tuple[str, list]:
	is_number = is_number_type(fieldtype)
	may_be_null = one.field not in NEVER_NULL and (
		not is_number or (is_joined and one.field in STANDARD_TYPES)
	)
	is_nullable = is_list and may_be_null
	value = compared(one, fieldtype, is_number, is_list)
	if one.operator in ("like", "not like"):
		return like(column, one, value, fieldtype, is_nullable, is_list)
	if isinstance(value, (int, float)) and not is_number:
		column = f"CAST({column} AS REAL)"
	is_equal_to_something = one.operator == "=" and one.value
	if is_nullable and null_matches(one.operator, value, fieldtype) and not is_equal_to_something:
		return f"({column} {one.operator} ? OR {column} IS NULL)", [value]
	return f"{column} {one.operator} ?", [value]


def like(column, one: Filter, value: str, fieldtype, is_nullable: bool, is_list: bool) -> tuple[str, list]:
	"""NULL counts as the empty text, which is like "" and like "%".

	Frappe leaves NULL out where "like" has a pattern.
	"""
	if len(value) > MAX_PATTERN_CHARS:
		frappe.throw(f"A pattern has at most {MAX_PATTERN_CHARS} characters", frappe.DataError)
	text, parameter = as_text(column, fieldtype), value
	if not value.isascii():
		# SQLite's LIKE takes Ö and ö for different letters.
		text, parameter = f"lower({text})", value.lower()
	sql = f"{text} {one.operator.upper()} ?" + ("" if is_list else r" ESCAPE '\'")
	is_empty = not value.strip("%") or value == EMPTY_MOMENT
	finds_null = not is_empty if one.operator == "not like" else is_empty and not one.value
	return f"({sql} OR {column} IS NULL)" if is_nullable and finds_null else f"({sql})", [parameter]


def is_number_type(fieldtype) -> bool:
	return COLUMN_TYPES.get(fieldtype, "").startswith((INTEGER, DECIMAL))


def as_text(column, fieldtype) -> str:
	"""A column as the text that MariaDB makes of it: decimals have nine digits."""
	if COLUMN_TYPES.get(fieldtype, "").startswith(DECIMAL):
		return f"printf('%.9f', {column})"
	return f"CAST({column} AS TEXT)" if is_number_type(fieldtype) else column


def as_number(text) -> float:
	"""The number that a text begins with, as MariaDB compares it with a number; else 0."""
	if not isinstance(text, str):
		return text
	found = NUMBER.match(text)
	return float(found[0]) if found else 0.0


def is_set(column, value, fieldtype, is_list):
	"""A number is always something for lists, except that 0 is not set."""
	if value not in ("set", "not set"):
		frappe.throw(f"'is' takes 'set' or 'not set', not {value!r}")
	is_number = is_number_type(fieldtype)
	if value == "set":
		return f"{column} != {0 if is_number else repr('')}", []
	if is_number and not is_list:
		return f"ifnull({column}, 0) = 0", []
	return f"ifnull({as_text(column, fieldtype)}, '') = ''", []


def between(column, value, fieldtype, is_list):
	"""A list takes today for a bound that is missing."""
	if not is_list:
		start, end = value
		kind = fieldtype if fieldtype in MOMENTS else None
		return f"{column} BETWEEN ? AND ?", [to_field(start, kind), to_field(end, kind)]
	if fieldtype not in ("Date", "Datetime"):
		raise frappe.db.ProgrammingError(
			"'between' needs a Date or Datetime field; use '>=' and '<=' for others"
		)
	bounds = [*value[:2]] if isinstance(value, (list, tuple)) else []
	start, end = [*bounds, *[nowdate()] * (2 - len(bounds))]
	if fieldtype == "Date":
		start, end = getdate(start), getdate(end)
	else:
		start, end = moment(start), moment(end, datetime.time.max)
	return f"{column} BETWEEN ? AND ?", [to_field(start, fieldtype), to_field(end, fieldtype)]


def moment(value, time=datetime.time.min) -> datetime.datetime:
	"""A day without time stands for its beginning, or for another time of it."""
	if isinstance(value, str):
		value = get_datetime(value) if " " in value.strip() else getdate(value)
	return value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, time)


def membership(column, one: Filter, fieldtype, is_list):
	"""Lists strip the values, and compare texts for "not in" and an empty value if NULL is possible."""
	values = one.value or ("",)
	if isinstance(values, str):
		values = values.split(",")
	if not is_list:
		values = [flt(value) if isinstance(value, bool) else value for value in values]
		return f"{column} {one.operator.upper()} ({marks(values)})", typed(values, fieldtype)
	texts = [cstr(value).strip() for value in values]
	is_empty_among = not one.value or any(value in (None, "") for value in values)
	if one.field in NEVER_NULL or (one.operator == "in" and not is_empty_among):
		return f"{column} {one.operator.upper()} ({marks(texts)})", typed(texts, fieldtype)
	nulls = f" OR {column} IS NULL" if (one.operator == "in") == ("" in texts) else ""
	return f"({as_text(column, fieldtype)} {one.operator.upper()} ({marks(texts)}){nulls})", texts


def marks(values) -> str:
	return ", ".join("?" * len(values))


def typed(values, fieldtype) -> list:
	"""Values to compare with a column of the type; a text that is no date equals none."""
	if is_number_type(fieldtype):
		return [as_number(value) for value in values]
	if fieldtype not in MOMENTS:
		return [value if value is None else cstr(value) for value in values]
	found = []
	for value in values:
		try:
			found.append(to_field(value, fieldtype))
		except frappe.db.OperationalError:
			found.append(cstr(value))
	return found


def compared(one: Filter, fieldtype, is_number, is_list):
	"""The value as the comparison takes it.  Raises what Frappe raises if it is not a date."""
	value, is_pattern = one.value, one.operator in ("like", "not like")
	is_own = one.field not in STANDARD_TYPES
	if is_list and is_own and fieldtype == "Date":
		return to_field(getdate(value), fieldtype, one.field)
	if is_list and is_own and fieldtype == "Datetime":
		return to_field(get_datetime(value), fieldtype, one.field) if value else EMPTY_MOMENT
	if is_pattern:
		return cstr(value)
	if is_number:
		return flt(value) if is_own else as_number(value)
	if fieldtype in MOMENTS and value != "":
		return to_field(value, fieldtype, one.field)
	if is_list and isinstance(value, (int, float)):
		return flt(value) if value or one.operator != "=" else "''"
	return to_field(value, None)


def null_matches(op: str, value, fieldtype) -> bool:
	"""Whether the empty value, which NULL stands for, satisfies the comparison."""
	if fieldtype in ("Date", "Datetime"):
		return (
			op in ("<", "<=", "!=") and value != EMPTY_MOMENT or op in ("=", "<=") and value == EMPTY_MOMENT
		)
	if isinstance(value, str):
		return COMPARISONS[op]("", value)
	return COMPARISONS[op](0, value)
