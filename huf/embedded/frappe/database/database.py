"""`frappe.db`: rows of DocTypes without permissions and without document events."""

import re

import frappe
from frappe.database import durability
from frappe.database import filters as filtering
from frappe.database.connection import PLAIN, Connection, to_column
from frappe.database.schema import PARSED, create_index, field_types, get_table_name, to_field, to_fields
from frappe.database.statements import bind, column_sql, descending, shape
from frappe.database.versions import Versions
from frappe.types import _dict
from frappe.utils.data import cast, now, sbool

DEFAULT_ORDER = "modified desc"
EMPTY = object()
MAX_PARAMETERS = 32_766
"""Limit of SQLite for one statement."""


class Database(Connection):
	def __init__(self, path):
		super().__init__(path)
		self.durability = durability.read_level()
		if self.durability == "step":
			self.synchronous = "FULL"
		self.versions = Versions(self)

	def __getattr__(self, name):
		raise AttributeError(f"frappe.db.{name} is not part of embedded mode: see huf/embedded/README.md")

	def _end(self, statement):
		is_synced = False
		if statement == "COMMIT":
			self.versions.write()
			is_synced = durability.is_synced(self.durability, self.transaction_writes > 0)
		super()._end(statement)
		self.versions.forget()
		if is_synced:
			durability.sync_log(self.path)

	def rollback(self, *, save_point=None):
		super().rollback(save_point=save_point)
		self.versions.forget_own_reads()

	# --- SQL ---

	def sql(
		self, query: str, values=EMPTY, *, as_dict=False, as_list=False, pluck=False, update=None, debug=False
	):
		"""Run SQL with %s or %(name)s.  A tuple of tuples, unless rows are wanted as dicts, lists or one
		column.

		A list or tuple among the values becomes `(a, b)`, as for `in %s`.  `for update` takes the write
		lock.
		"""
		query = str(query)
		words = query.rstrip(" ;\n\t").rsplit(None, 2)
		if [word.lower() for word in words[1:]] == ["for", "update"]:
			query = words[0]
			self.begin()
		if values is EMPTY or (values is None and "%s" not in query):
			parameters = ()
		else:
			query, parameters = bind(query, values)
		if debug:
			print(query, parameters)
		cursor = self.execute(query, parameters)
		if cursor.description is None:
			return ()
		return shape(cursor, as_dict=as_dict, as_list=as_list, pluck=pluck, update=update)

	def read(self, query: str, values=None) -> tuple[list[list], list[str]]:
		"""Rows and column names of a query that must not write.  Raises OperationalError if it does."""
		self._connection.execute("PRAGMA query_only = ON")
		try:
			query, parameters = bind(query, values) if values is not None else (query, ())
			cursor = self._connection.execute(query, parameters)
			return [list(row) for row in cursor], [column[0] for column in cursor.description or ()]
		finally:
			self._connection.execute("PRAGMA query_only = OFF")

	def sql_ddl(self, query, debug=False):
		"""Commit, then change the schema."""
		self.define(query)

	@staticmethod
	def escape(s, percent: bool = True) -> str:
		"""A quoted SQL text."""
		text = ("" if s is None else str(s)).replace("'", "''")
		return f"'{text.replace('%', '%%') if percent else text}'"

	# --- reading ---

	def get_value(
		self,
		doctype,
		filters=None,
		fieldname="name",
		ignore=None,
		as_dict=False,
		debug=False,
		order_by=DEFAULT_ORDER,
		cache=False,
		for_update=False,
		*,
		pluck=False,
		distinct=False,
	):
		"""One field returns a scalar, several a tuple or `_dict`; None if there is no such row.

		`filters` is a name or filters.  None reads a Single, as does the DocType's own name.
		"""
		rows = self.get_values(
			doctype,
			filters,
			fieldname,
			ignore,
			as_dict,
			debug,
			order_by,
			cache=cache,
			for_update=for_update,
			pluck=pluck,
			distinct=distinct,
			limit=1,
		)
		if not rows:
			return None
		row = rows[0]
		return row if as_dict or pluck or len(row) > 1 else row[0]

	def get_values(
		self,
		doctype,
		filters=None,
		fieldname="name",
		ignore=None,
		as_dict=False,
		debug=False,
		order_by=DEFAULT_ORDER,
		update=None,
		cache=False,
		for_update=False,
		*,
		pluck=False,
		distinct=False,
		limit=None,
	):
		if for_update:
			self.begin()
		if filters is None or (filters == doctype and doctype != "DocType"):
			return self._single_values(doctype, filters, fieldname, as_dict)
		if filters in ([], ()):
			return {}  # Frappe takes it for a list of no names, and answers with this
		try:
			return self._select(
				doctype,
				filters,
				fieldname,
				as_dict=as_dict or fieldname == "*",
				pluck=pluck,
				order_by=None if distinct else order_by,
				distinct=distinct,
				limit=limit,
				update=update,
			)
		except self.OperationalError as error:
			is_missing = self.is_table_missing(error)
			if ignore and (is_missing or self.is_missing_column(error)):
				return None
			if is_missing:
				return self._single_values(doctype, filters, fieldname, as_dict)
			raise
		except (frappe.ValidationError, ImportError):
			if ignore:
				return None
			raise

	def _select(self, doctype, filters, fieldname, *, order_by=None, distinct=False, limit=None, **shaping):
		table = get_table_name(doctype)
		where, parameters = self._where(doctype, filters)
		columns = "*" if fieldname == "*" else ", ".join(map(column_sql, as_list_of(fieldname or "name")))
		query = f"SELECT {'DISTINCT ' if distinct else ''}{columns} FROM `{table}`{where}"
		if order_by:
			query += f" ORDER BY {descending(order_by)}"
		if limit:
			query += f" LIMIT {int(limit)}"
		return shape(self.execute(query, parameters), **shaping)

	def _where(self, doctype, filters) -> tuple[str, list]:
		if filters is None or filters == {} or filters == []:
			return "", []
		if isinstance(filters, (str, int)):
			return " WHERE `name` = ?", [str(filters)]
		if isinstance(filters, (list, tuple)) and all(isinstance(one, (str, int)) for one in filters):
			filters = {"name": ["in", filters]}
		conditions, parameters = [], []
		for one in filtering.parse(doctype, filters):
			if one.doctype != doctype:
				raise frappe.ValidationError(
					f"frappe.db filters {doctype} only; use frappe.get_all for {one.doctype}"
				)
			sql, values = filtering.condition(one, count_nulls=False, column=column_sql(one.field))
			conditions.append(sql)
			parameters.extend(values)
		return f" WHERE {' AND '.join(conditions)}", parameters

	def _single_values(self, doctype, filters, fieldname, as_dict) -> list:
		values = self.get_singles_dict(doctype)
		if isinstance(filters, dict) and any(values.get(key) != value for key, value in filters.items()):
			return []
		if fieldname == "*":
			return [values] if values else []
		fields = as_list_of(fieldname)
		found = _dict({field: values[field] for field in fields if field in values})
		if not found:
			return []
		return [found] if as_dict else [[found.get(field) for field in fields]]

	def get_singles_dict(self, doctype: str, *, for_update: bool = False) -> _dict:
		"""The stored fields of a Single, as text."""
		if for_update:
			self.begin()
		return _dict(
			self.execute("SELECT field, value FROM `tabSingles` WHERE doctype = ?", (doctype,)).fetchall()
		)

	def get_single_value(self, doctype: str, fieldname: str, cache: bool = True):
		"""One field of a Single, as its type."""
		field = frappe.get_meta(doctype).get_field(fieldname)
		if not field:
			label = frappe.bold(fieldname), frappe.bold(doctype)
			frappe.throw(frappe._("Field {0} does not exist on {1}").format(*label))
		value = self.get_singles_dict(doctype).get(fieldname)
		if field.fieldtype in ("Date", "Datetime"):
			return cast(field.fieldtype, value) if value else None
		return cast(field.fieldtype, value)

	def exists(self, dt, dn=None, cache=False):
		"""The name, or None.  Also None for an unknown DocType; a Single always exists."""
		if isinstance(dt, dict):
			dn = {key: value for key, value in dt.items() if key != "doctype"}
			dt = dt["doctype"]
		if dt != "DocType" and dt == dn:
			return dn
		return self.get_value(dt, dn, ignore=True, cache=cache, order_by=None)

	def count(self, dt: str, filters=None, debug=False, cache=False) -> int:
		where, parameters = self._where(dt, filters)
		return self.execute(f"SELECT count(*) FROM `{get_table_name(dt)}`{where}", parameters).fetchone()[0]

	# --- writing ---

	def set_value(
		self, dt, dn, field, val=None, modified=None, modified_by=None, update_modified=True, debug=False
	):
		"""Write fields of a document (by name) or of all that match filters; no events, no permissions."""
		if not dn or dt == dn:
			return self.set_single_value(
				dt, field, val, modified=modified, modified_by=modified_by, update_modified=update_modified
			)
		values = with_stamp(field, val, modified, modified_by, update_modified)
		where, parameters = self._where(dt, dn)
		assignments = ", ".join(f"{column_sql(column)} = ?" for column in values)
		stored = to_fields(dt, values)
		self.execute(
			f"UPDATE `{get_table_name(dt)}` SET {assignments}{where}", [*stored.values(), *parameters]
		)
		frappe.clear_document_cache(dt, dn if isinstance(dn, str) else None)

	def set_single_value(
		self,
		doctype,
		fieldname,
		value=None,
		*,
		modified=None,
		modified_by=None,
		update_modified=True,
		debug=False,
	):
		values = with_stamp(fieldname, value, modified, modified_by, update_modified)
		self.executemany(
			"INSERT OR REPLACE INTO `tabSingles` VALUES (?, ?, ?)",
			[(doctype, field, as_single(value)) for field, value in values.items()],
		)
		frappe.clear_document_cache(doctype, doctype)

	def delete(self, doctype: str, filters=None, debug=False):
		"""Delete rows, not their children; all rows without filters."""
		where, parameters = self._where(doctype, filters)
		self.execute(f"DELETE FROM `{get_table_name(doctype)}`{where}", parameters)
		self.versions.changed(doctype)

	def bulk_insert(self, doctype: str, fields: list, values, ignore_duplicates=False, *, chunk_size=10_000):
		"""Insert many rows as they are: no names are made, no defaults, no events."""
		columns = ", ".join(map(column_sql, fields))
		types = field_types(doctype, fields)
		rows = [
			[
				value if kind not in PARSED and type(value) in PLAIN else to_field(value, kind, field)
				for value, kind, field in zip(row, types, fields, strict=False)
			]
			for row in values
		]
		verb = "INSERT OR IGNORE" if ignore_duplicates else "INSERT"
		size = MAX_PARAMETERS // len(fields)
		for start in range(0, len(rows), size):
			part = rows[start : start + size]
			marks = ", ".join([f"({', '.join('?' * len(fields))})"] * len(part))
			parameters = [value for row in part for value in row]
			self.execute(f"{verb} INTO `{get_table_name(doctype)}` ({columns}) VALUES {marks}", parameters)
		self.versions.inserted(doctype)

	# --- schema ---

	def get_table_columns(self, doctype: str) -> list[str]:
		table = get_table_name(doctype)
		columns = [row[1] for row in self.execute(f"PRAGMA table_info(`{table}`)")]
		if not columns:
			raise self.OperationalError(f"no such table: {table}")
		return columns

	def has_column(self, doctype: str, column: str) -> bool:
		return column in self.get_table_columns(doctype)

	def table_exists(self, doctype: str, cached: bool = True) -> bool:
		return get_table_name(doctype) in self.get_tables()

	def get_tables(self, cached: bool = True) -> list[str]:
		return [row[0] for row in self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]

	def add_index(self, doctype: str, fields: list, index_name: str | None = None):
		self.commit()
		create_index(
			get_table_name(doctype), [re.sub(r"\(\d+\)", "", field) for field in fields], name=index_name
		)
		self.commit()


def with_stamp(field, value, modified, modified_by, update_modified) -> dict:
	"""The fields to write: one with its value, or a dict, and who changes them when."""
	values = dict(field) if isinstance(field, dict) else {field: value}
	if update_modified:
		values.setdefault("modified", modified or now())
		values.setdefault("modified_by", modified_by or frappe.session.user)
	return values


def as_list_of(fieldname) -> list:
	if not isinstance(fieldname, str):
		return list(fieldname)
	return [part.strip() for part in fieldname.split(",")]


def as_single(value):
	value = sbool(value)
	return value if value is None else str(to_column(value))
