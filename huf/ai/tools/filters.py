"""Reads the filters and the order of a list from a model's arguments. Errors are ToolErrors for the model.

A field is named as `status`, or as `items.qty` for a field in the rows of a table.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.field_values import split_lines
from huf.ai.tools.fields import check_fields, check_text_format, list_data_fields
from huf.ai.tools.typed_filters import STANDARD_FIELDTYPES, fit_filter

OPERATORS = {"=", "!=", ">", ">=", "<", "<=", "like", "not like", "in", "not in", "between", "is"}


@dataclass(frozen=True)
class Column:
	"""A field that the user may read, of a DocType or of one of its tables. `doctype` is the table's own."""

	doctype: str
	field: str
	table: str = ""

	@property
	def sql(self) -> str:
		return f"`tab{self.doctype}`.`{self.field}`"

	@cached_property
	def df(self) -> Any:
		return frappe.get_meta(self.doctype).get_field(self.field)

	@property
	def fieldtype(self) -> str | None:
		return self.df.fieldtype if self.df else STANDARD_FIELDTYPES.get(self.field)


def find_column(doctype: str, name: str, allowed: Sequence[str]) -> Column:
	"""`allowed`: the fields of the DocType that the user may read. Raises ToolError for any other field,
	because a list without one of its filters would answer a different question.
	"""
	table, _, field = name.rpartition(".")
	if not table:
		check_fields(doctype, [field], allowed)
		return Column(doctype, field)
	meta = frappe.get_meta(doctype)
	tables = {df.fieldname: df.options for df in meta.get_table_fields() if df.fieldname in allowed}
	if table not in tables:
		raise ToolError(f"{doctype} has no table {table!r}. Its tables: {', '.join(tables)}.")
	levels = meta.get_permlevel_access("read")
	check_fields(tables[table], [field], ["idx", *list_data_fields(tables[table], levels)])
	return Column(tables[table], field, table)


def clean_filters(doctype: str, filters: Any, allowed: Sequence[str]) -> list[list]:
	"""Filters for `frappe.get_list`, each on a field the user may read. Filters on fields of a table find
	documents with one row that fits all of them.
	"""
	if isinstance(filters, Mapping):
		pairs = [[field, *parse_mapping_condition(condition)] for field, condition in filters.items()]
	else:
		pairs = [parse_condition(doctype, entry) for entry in filters or []]
	conditions: list[list] = []
	for name, *condition in pairs:
		column = find_column(doctype, name, allowed)
		conditions += fit_condition(column, *clean_condition(name, *condition))
	return conditions


def parse_mapping_condition(condition: Any) -> tuple[str, Any]:
	if isinstance(condition, list | tuple) and len(condition) == 2 and str(condition[0]).lower() in OPERATORS:
		return str(condition[0]), condition[1]
	return ("in", condition) if isinstance(condition, list | tuple) else ("=", condition)


def parse_condition(doctype: str, entry: Any) -> list:
	"""[field, operator, value]. In Frappe's own form, the field's DocType is before it."""
	if isinstance(entry, list | tuple) and len(entry) in (3, 4) and isinstance(entry[-3], str):
		tables = {df.options: df.fieldname for df in frappe.get_meta(doctype).get_table_fields()}
		if len(entry) == 3 or entry[0] == doctype:
			return list(entry[-3:])
		if entry[0] in tables:
			return [f"{tables[entry[0]]}.{entry[1]}", *entry[2:]]
	raise ToolError(f"{entry!r} is not a filter. Give a list of [field, operator, value].")


def clean_condition(field: str, operator: str, value: Any) -> tuple[str, Any]:
	operator = str(operator).strip().lower()
	if operator not in OPERATORS:
		raise ToolError(f"{operator!r} is not an operator. Use one of: {', '.join(sorted(OPERATORS))}.")
	if value is None:
		if operator not in ("=", "!=", "is"):
			raise ToolError(f"{field}: {operator!r} needs a value. For empty fields use is with not set.")
		# Frappe reads `= None` as no filter at all.
		return "is", "set" if operator == "!=" else "not set"
	if operator in ("in", "not in") and not isinstance(value, list | tuple):
		value = [value]
	return operator, value


def fit_condition(column: Column, operator: str, value: Any) -> list[list]:
	"""Raises ToolError for a text that is no date, time or number: Frappe would read 05.06.2026 as 6 May, and
	"1 min" finds nothing.
	"""
	check_shape(column, operator, value)
	if operator not in ("like", "not like", "is"):
		for each in value if isinstance(value, list | tuple) else [value]:
			check_text_format(column.field, column.fieldtype, each)
	fitting = fit_filter(column.doctype, column.field, operator, value)
	if not column.table:
		return fitting
	return [*([column.doctype, *each] for each in fitting), in_table(column)]


def check_shape(column: Column, operator: str, value: Any) -> None:
	"""Raises ToolError for what the operator cannot compare with. Frappe fails with an error of the database,
	or takes today for a missing end of a period.
	"""
	is_list = isinstance(value, list | tuple)
	if operator == "between":
		if not (is_list and len(value) == 2 and all(value) and column.fieldtype in ("Date", "Datetime")):
			raise ToolError(
				f"{column.field}: between needs a Date or Datetime field and the first and last day, as "
				'["between", ["2026-01-01", "2026-01-31"]]. For other fields use >= and <=.'
			)
	elif is_list and operator not in ("in", "not in"):
		raise ToolError(f"{column.field}: {operator!r} needs one value. For several, use in or not in.")
	if any(isinstance(each, Mapping | list | tuple) for each in (value if is_list else [value])):
		raise ToolError(f"{column.field}: {value!r} is not a value. Give [operator, value].")


def check_options(doctype: str, conditions: Iterable[Sequence]) -> None:
	"""Raises ToolError for a value that is not an option of its Select field.

	Called only if nothing was found: the model does not see the options and would report that no documents
	exist. Stored documents may have an option that was removed since, so other results are not checked.
	"""
	for *table, field, operator, value in conditions:
		df = frappe.get_meta(table[0] if table else doctype).get_field(field)
		options = split_lines(df.options) if df and df.fieldtype == "Select" else []
		values = value if isinstance(value, list | tuple) else [value]
		unknown = [each for each in values if each and str(each) not in options]
		if options and unknown and operator in ("=", "in"):
			raise ToolError(f"{field}: {unknown[0]!r} is none of its options: {', '.join(options)}.")


def in_table(column: Column) -> list:
	"""The condition that a row belongs to the column's table; another table may have the same DocType."""
	return [column.doctype, "parentfield", "=", column.table]


def has_tables(conditions: Iterable[Sequence]) -> bool:
	"""Whether a query with these conditions has a row per table row that fits."""
	return any(len(each) == 4 for each in conditions)


def clean_order(doctype: str, order_by: str | None, allowed: Sequence[str]) -> tuple[str, str]:
	"""(field, "asc" or "desc")."""
	field, _, direction = (order_by or "modified desc").strip().partition(" ")
	check_fields(doctype, [field], allowed)
	direction = direction.strip().lower() or "asc"
	if direction not in ("asc", "desc"):
		raise ToolError("order_by is a field, then asc or desc.")
	return field, direction
