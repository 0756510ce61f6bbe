"""Counts documents and adds up their numbers, by groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import frappe
from frappe.utils import getdate

from huf.ai.core.errors import ToolError
from huf.ai.tools.fields import list_readable_fields
from huf.ai.tools.filters import Column, check_options, clean_filters, find_column, in_table
from huf.ai.tools.reads import record_reads
from huf.ai.tools.typed_filters import NUMBERS, to_number

MAX_ROWS_READ = 100_000
PERIODS = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
"""Formats of dates, by the word that follows a field in `group_by`."""


@dataclass(frozen=True)
class Group:
	"""What rows are grouped by. `name`: the field as it was named; `period`: a key of PERIODS, or ""."""

	name: str
	column: Column
	period: str = ""

	def fit(self, value: Any) -> Any:
		return getdate(value).strftime(PERIODS[self.period]) if self.period and value else value


def get_totals(
	doctype: str,
	filters: Any,
	group_by: Sequence[str],
	summed: Sequence[str],
	order_by: str | None,
	limit: int,
	start: int,
) -> dict:
	"""{doctype, rows, count, more}: per group the grouped values, the sums, and the `count` of documents.

	The database adds nothing up, because the forms of aggregates that Frappe accepts differ by its version.
	"""
	allowed = list_readable_fields(doctype)
	groups = [find_group(doctype, name, allowed) for name in group_by]
	sums = {name: find_summed(doctype, name, allowed) for name in summed}
	# Amounts in different currencies are not added up.
	currencies = {find_currency(doctype, column) for column in sums.values()}
	currencies -= {None, *(group.name for group in groups)}
	groups += [find_group(doctype, name, allowed) for name in sorted(filter(None, currencies))]
	columns = [*(group.column for group in groups), *sums.values()]
	rows = read_fitting(doctype, columns, clean_filters(doctype, filters, allowed))
	totals = sort_totals(total_groups(rows, groups, sums), order_by, groups, [*sums, "count"])
	page = totals[start : start + limit]
	return {"doctype": doctype, "rows": page, "count": len(page), "more": len(totals) > start + limit}


def read_fitting(doctype: str, columns: Sequence[Column], conditions: list[list]) -> Sequence[Sequence]:
	"""The name and these columns of all documents that fit; with columns of a table, of each row in it."""
	conditions = conditions + [in_table(column) for column in columns if column.table]
	if len({(each[0], each[-1]) for each in conditions if each[1] == "parentfield"}) > 1:
		raise ToolError("Use the rows of one table only, or each row counts several times.")
	name = Column(doctype, "name")
	rows = frappe.get_list(
		doctype,
		filters=conditions,
		fields=[column.sql for column in (name, *columns)],
		order_by=f"{name.sql} asc",
		limit_page_length=MAX_ROWS_READ + 1,
		as_list=True,
	)
	if len(rows) > MAX_ROWS_READ:
		raise ToolError(f"These are more than {MAX_ROWS_READ:,} rows. Narrow the filters.")
	if not rows:
		check_options(doctype, conditions)
	record_reads(doctype, {row[0] for row in rows}, {column.table or column.field for column in columns})
	return rows


def find_group(doctype: str, text: str, allowed: Sequence[str]) -> Group:
	name, _, period = text.strip().partition(" ")
	column = find_column(doctype, name, allowed)
	if period and (period not in PERIODS or column.fieldtype not in ("Date", "Datetime")):
		raise ToolError(f"{text!r}: only {', '.join(PERIODS)} may follow a field, and only one with dates.")
	return Group(name, column, period)


def find_summed(doctype: str, name: str, allowed: Sequence[str]) -> Column:
	column = find_column(doctype, name, allowed)
	if column.fieldtype not in NUMBERS:
		raise ToolError(f"{name} has no numbers that can be added up.")
	return column


def find_currency(doctype: str, column: Column) -> str | None:
	"""The field with the currency of an amount. Options such as Company:company:default_currency name a link
	to a document that has it, which then is the field.
	"""
	options = ((column.fieldtype == "Currency" and column.df.options) or "").split(":")
	field = options[1] if len(options) == 3 else options[0]
	if frappe.get_meta(doctype).has_field(field):
		return field
	is_in_row = column.table and frappe.get_meta(column.doctype).has_field(field)
	return f"{column.table}.{field}" if is_in_row else None


def total_groups(rows: Sequence[Sequence], groups: Sequence[Group], sums: dict[str, Column]) -> list[dict]:
	"""A total per group. A document with several rows in a group counts once, and so do its own numbers."""
	measures = (*sums, "count")
	found: dict[tuple, tuple[dict, ...]] = {}
	for place, (name, *values) in enumerate(rows):
		key = tuple(group.fit(value) for group, value in zip(groups, values, strict=False))
		*numbers, names = found.setdefault(key, tuple({} for _ in measures))
		names[name] = 1
		for column, number, value in zip(sums.values(), numbers, values[len(groups) :], strict=True):
			number[place if column.table else name] = value or 0
	if not groups and not found:
		found[()] = tuple({} for _ in measures)
	fields = [group.name for group in groups]
	return [
		dict(zip((*fields, *measures), (*key, *map(add_numbers, numbers)), strict=True))
		for key, numbers in found.items()
	]


def add_numbers(numbers: dict) -> int | float:
	return to_number(round(fsum(numbers.values()), 9))


def sort_totals(
	totals: list[dict], order_by: str | None, groups: Sequence[Group], measures: Sequence[str]
) -> list[dict]:
	"""Unless an order is given, periods are in the order of time, other groups have the largest first."""
	period = next((group.name for group in groups if group.period), None)
	field, _, direction = (order_by or (period or f"{measures[0]} desc")).strip().partition(" ")
	direction = direction.strip().lower()
	known = [*(group.name for group in groups), *measures]
	if field not in known or direction not in ("", "asc", "desc"):
		raise ToolError(f"order_by is one of {', '.join(known)}, then asc or desc.")
	return sorted(totals, key=lambda row: (row[field] is not None, row[field]), reverse=direction == "desc")
