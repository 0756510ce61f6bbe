"""Generated function calls: conversions of `frappe.utils`, and `frappe.db` on the rows of `operations.py`.

`generate` makes the operations and `Replay` executes them. Results that are not JSON become [type, text].
"""

import json
from typing import Any

import frappe

from huf.tests.contract import operations
from huf.tests.contract.operations import SPECIMEN, VALUES, collect, conditions

TEXTS = [
	"",
	" ",
	"0",
	"1",
	"-1",
	"1.5",
	" 2 ",
	"1,234.5",
	"1e3",
	"x",
	"True",
	"no",
	"<b>é</b>",
	"a & 'b' \"c\"",
	"a < b",
	"`x`",
]
PLAIN = [None, True, False, 0, 1, -1, 2.5, -2.5, 0.125, 1e20, *TEXTS]
ROUNDED = [0.5, 1.5, 2.5, -0.5, -1.5, 2.675, 1.005, 0.125, -0.125, 1234567.891, 1e-9, "2.345", "1,000.555"]
DAYS = [
	"2024-02-29",
	"2023-12-31",
	"2024-1-5",
	"2024/01/31",
	"31-01-2024",
	"1 Jan 2024",
	"20240131",
	"0000-00-00",
	"x",
]
TIMES = [" 10:00:00", " 23:59:59.999999", "T08:05:03", " 7:05", ""]
UNITS = ["years", "months", "weeks", "days", "hours", "minutes", "seconds"]
PATTERNS = ["dd.MM.yyyy", "MM/dd/yy", "d MMM yyyy", "yyyy-MM-dd", "mm-dd-yyyy", "EEEE, d MMMM yyyy", None]
MOMENT_PATTERNS = ["dd.MM.yyyy HH:mm", "HH:mm:ss", "hh:mm a", "MMM d, yy", None]
PERIODS = [
	*(f"{step} {unit}" for step in ("last", "this", "next") for unit in ("week", "month", "quarter", "year")),
	*(f"{step} {unit}" for step in ("last", "next") for unit in ("7 days", "14 days", "30 days", "6 months")),
	*("yesterday", "today", "tomorrow"),
]


def generate(count: int, seed: int) -> list[dict]:
	from hypothesis import strategies as st

	return collect(st.one_of(*utility_calls(st), *database_calls(st), *period_lists(st)), count, seed)


def utility_calls(st) -> list:
	"""Strategies for calls of frappe.utils."""
	one_of, moments = st.sampled_from, list_moments(st)

	def call(*names: str, arguments, **options):
		functions = one_of([f"frappe.utils.{name}" for name in names])
		return make_call(st, "call", function=functions, arguments=arguments, options=options)

	amounts = st.dictionaries(one_of(UNITS), one_of([-13, -1, 1, 5, 40]), min_size=1, max_size=2)
	days = st.one_of(one_of(DAYS), moments)
	return [
		call("cint", "flt", "cstr", "sbool", "escape_html", arguments=[one_of(PLAIN)]),
		call("strip_html", "escape_html", arguments=[one_of(TEXTS)]),
		call("flt", arguments=[one_of(ROUNDED), one_of([0, 1, 2, 3])]),
		call("getdate", "get_datetime", "format_date", "format_datetime", arguments=[days]),
		call("format_date", arguments=[one_of(DAYS[:4]), one_of(PATTERNS)]),
		call("format_datetime", arguments=[moments, one_of(MOMENT_PATTERNS)]),
		amounts.flatmap(
			lambda each: call("add_to_date", arguments=[days], **{k: st.just(v) for k, v in each.items()})
		),
	]


def database_calls(st) -> list:
	"""Strategies for calls of frappe.db on the sample DocType."""
	one_of, specimen = st.sampled_from, st.just(SPECIMEN)

	def call(*names: str, arguments, **options):
		return make_call(st, "database", method=one_of(names), arguments=arguments, options=options)

	columns, filters, order = list_columns(st), list_filters(st), list_orders(st)
	column_lists = st.lists(columns, min_size=1, max_size=3, unique=True)
	written = one_of(list(VALUES)).flatmap(
		lambda column: one_of([*VALUES[column], "x" * 141, "7.6", "2024/1/2"]).map(
			lambda value: {column: value}
		)
	)
	return [
		call("get_value", arguments=[specimen, filters, column_lists], order_by=order),
		call("get_values", arguments=[specimen, filters, columns], order_by=order),
		call("count", "exists", arguments=[specimen, filters]),
		call("set_value", arguments=[specimen, one_of(["S01", "S99"]), written]),
	]


def period_lists(st) -> list:
	"""Strategies for lists filtered by time spans, and for lists with `filters` and `or_filters`."""
	columns, filters = st.sampled_from(["day", "moment", "creation"]), list_filters(st)
	periods = st.tuples(columns, st.just("timespan"), st.sampled_from(PERIODS)).map(list)
	or_filtered = {
		"do": st.just("find"),
		"filters": filters,
		"or_filters": filters,
		"order_by": list_orders(st),
	}
	in_period = {"do": st.just("period"), "filters": st.lists(periods, min_size=1, max_size=1)}
	return [st.fixed_dictionaries(in_period), st.fixed_dictionaries(or_filtered)]


def make_call(st, do: str, *, arguments: list, options: dict, **named):
	call = {"do": st.just(do), **named, "arguments": st.tuples(*arguments).map(list)}
	return st.fixed_dictionaries({**call, "options": st.fixed_dictionaries(options)})


def list_moments(st):
	return st.tuples(st.sampled_from(DAYS), st.sampled_from(TIMES)).map("".join)


def list_columns(st):
	return st.sampled_from([*VALUES, "name"])


def list_filters(st):
	return st.lists(
		list_columns(st).flatmap(lambda column: conditions(column, VALUES.get(column, ["S01", "S99"]))),
		max_size=2,
	)


def list_orders(st):
	return list_columns(st).map("{}, name".format) | list_columns(st).map("{} asc, name asc".format)


class Replay(operations.Replay):
	"""Executes operations on the rows of `operations.py`; for time spans, one row has the current time."""

	def call(self, function, arguments, options):
		return to_json(frappe.get_attr(function)(*arguments, **options))

	def database(self, method, arguments, options):
		fields = ["name", *arguments[2]] if method == "set_value" else []
		answer = getattr(frappe.db, method)(*arguments, **options)
		return to_json(frappe.db.get_value(SPECIMEN, arguments[1], fields) if fields else answer)

	def period(self, filters):
		values = {"day": frappe.utils.nowdate(), "moment": frappe.utils.now()}
		frappe.db.set_value(SPECIMEN, "S01", values)
		return frappe.get_list(SPECIMEN, filters=filters, pluck="name", order_by="name asc")

	def find(self, **query):
		return frappe.get_all(SPECIMEN, pluck="name", **query)


def to_json(value) -> Any:
	if isinstance(value, list | tuple):
		return [to_json(each) for each in value]
	try:
		json.dumps(value)
	except TypeError:
		return [type(value).__name__, str(value)]
	return value
