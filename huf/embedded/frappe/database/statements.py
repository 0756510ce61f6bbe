"""Parts of SQL statements: columns, order, placeholders; and the rows that come back."""

import re
from functools import lru_cache

import frappe
from frappe.database.connection import Connection, to_column
from frappe.types import _dict

PLACEHOLDER = re.compile(r"%s|%\((\w+)\)s|%%")
COLUMN = re.compile(r"[A-Za-z_]\w*")
ORDER = re.compile(r"(`?\w[\w `.\-]*?`?)(\s+(?:asc|desc))?", re.IGNORECASE)
MAX_COLUMN_CHARS = 300


@lru_cache(maxsize=2048)
def column_sql(field: str) -> str:
	"""`field`, or `field` AS `alias`.  Raises DataError for anything else than a column."""
	name, _as, alias = field.partition(" as ")
	if not COLUMN.fullmatch(name.strip("` ")) or (alias and not COLUMN.fullmatch(alias.strip("` "))):
		frappe.throw(f"{field!r} is no column: use frappe.db.sql or frappe.db.count", frappe.DataError)
	quoted = f"`{name.strip('` ')}`"
	return f"{quoted} AS `{alias.strip('` ')}`" if alias else quoted


def check_length(column: str) -> None:
	"""The patterns for columns take time that is quadratic in the length."""
	if len(column) > MAX_COLUMN_CHARS:
		frappe.throw(f"A column has at most {MAX_COLUMN_CHARS} characters", frappe.DataError)


def checked_order(order_by: str) -> str:
	"""Columns and directions only.  Raises ValidationError for expressions."""
	parts = [part.strip() for part in order_by.split(",")]
	for part in parts:
		check_length(part)
		if not ORDER.fullmatch(part):
			frappe.throw(f"order_by takes columns with asc or desc, not {part!r}")
	return ", ".join(parts)


def descending(order_by: str) -> str:
	"""Columns without a direction are sorted downwards, unlike in lists."""
	parts = [ORDER.fullmatch(part).groups() for part in checked_order(order_by).split(", ")]
	return ", ".join(f"{column}{direction or ' desc'}" for column, direction in parts)


@lru_cache(maxsize=512)
def split_query(query: str) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
	"""The text around the placeholders, and the placeholders: a name, or None for %s."""
	texts, names, start = [""], [], 0
	for found in PLACEHOLDER.finditer(query):
		texts[-1] += query[start : found.start()]
		start = found.end()
		if found.group(0) == "%%":
			texts[-1] += "%"
		else:
			names.append(found.group(1))
			texts.append("")
	texts[-1] += query[start:]
	return tuple(texts), tuple(names)


def bind(query: str, values) -> tuple[str, list]:
	"""SQL with `?` and its parameters.  Raises ProgrammingError if their numbers differ."""
	texts, names = split_query(query)
	if isinstance(values, dict):
		values = [values[name] for name in names]
	elif not isinstance(values, (list, tuple)):
		values = [values]
	if len(values) != len(names):
		raise Connection.ProgrammingError(f"The query takes {len(names)} values, {len(values)} were given")
	sql, parameters = [texts[0]], []
	for value, text in zip(values, texts[1:], strict=False):
		if isinstance(value, (list, tuple, set, frozenset)):
			if not value:
				raise Connection.ProgrammingError("A list among the values of a query must not be empty")
			sql.append(f"({', '.join('?' * len(value))})")
			parameters.extend(map(to_column, value))
		else:
			sql.append("?")
			parameters.append(to_column(value))
		sql.append(text)
	return "".join(sql), parameters


def shape(cursor, *, as_dict=False, as_list=False, pluck=False, update=None):
	"""The rows as the caller wants them."""
	if pluck:
		return [row[0] for row in cursor]
	if as_dict:
		keys = [column[0] for column in cursor.description]
		rows = [_dict(zip(keys, row, strict=False)) for row in cursor]
		return [row.update(update) for row in rows] if update else rows
	return [list(row) for row in cursor] if as_list else tuple(cursor.fetchall())
