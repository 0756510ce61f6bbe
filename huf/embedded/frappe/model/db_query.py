"""`frappe.get_list` and `frappe.get_all`: rows with filters, fields of linked and child rows, and
permissions.
"""

import re
from dataclasses import replace

import frappe
from frappe import permissions
from frappe.database import filters as filtering
from frappe.database.schema import get_table_name
from frappe.database.statements import ORDER, check_length, checked_order, shape
from frappe.model import child_table_fields, default_fields, optional_fields
from frappe.model.match_conditions import MatchConditions, list_sql
from frappe.model.meta import get_permitted_fields
from frappe.utils.data import cint

ALIASED = re.compile(r"(.+?)\s+as\s+[`'\"]?([\w ]+)[`'\"]?", re.IGNORECASE)
NAME = re.compile(r"\w+", re.ASCII)
QUALIFIED = re.compile(r"`?tab([\w \-]+?)`?\.`?(\w+|\*)`?", re.ASCII)
SECRET_FIELDS = ("api_key", "api_secret", "reset_password_key")
STATE_FIELDS = ("enabled", "disabled")
"""Fields by which a link's suggestions leave out what is no longer used."""
STANDARD_FIELDS = {*default_fields, *optional_fields, *child_table_fields}
DOTTED = re.compile(r"(\w+)\.(\w+)", re.ASCII)


def get_all(doctype, *args, **kwargs) -> list:
	"""All rows, for any user; without limit unless one is given."""
	kwargs["ignore_permissions"] = True
	kwargs.setdefault("limit_page_length", 0)
	return get_list(doctype, *args, **kwargs)


def get_list(doctype, *args, **kwargs) -> list:
	"""Rows the user may read.  Raises PermissionError for a user without any right to the DocType."""
	return DatabaseQuery(doctype, kwargs.pop("user", None)).execute(*args, **kwargs)


def get_value(*args, **kwargs):
	return frappe.db.get_value(*args, **kwargs)


class DatabaseQuery(MatchConditions):
	def __init__(self, doctype: str, user: str | None = None):
		self.doctype = doctype
		self.user = user or frappe.session.user
		self.table = f"`{get_table_name(doctype)}`"
		self.joins: dict[tuple, tuple[str, str]] = {}
		self.columns, self.conditions, self.parameters = [], [], []

	def execute(
		self,
		fields=None,
		filters=None,
		or_filters=None,
		group_by=None,
		order_by="KEEP_DEFAULT_ORDERING",
		limit_start=0,
		limit_page_length=None,
		as_list=False,
		debug=False,
		ignore_permissions=False,
		distinct=False,
		start=None,
		page_length=None,
		limit=None,
		ignore_ifnull=False,
		update=None,
		pluck=None,
		strict=True,
		*,
		parent_doctype=None,
	) -> list:
		if looks_like_filters(fields):
			fields, filters = filters, fields
		self.meta = frappe.get_meta(self.doctype)
		self.ignore_permissions = ignore_permissions
		self.count_nulls = not ignore_ifnull
		self.parent_doctype = parent_doctype
		if not ignore_permissions:
			self.check_read_permission(self.doctype)
		self.as_list = as_list
		self.add_fields(fields or [pluck or "name"])
		self.add_filters(filters)
		self.add_or_filters(or_filters)
		if not ignore_permissions:
			self.add_match_conditions()
		if not self.columns:
			return []
		query = self.sql(
			distinct, group_by, order_by, limit or page_length or limit_page_length, start or limit_start
		)
		if debug:
			print(query, self.parameters)
		rows = shape(frappe.db.execute(query, self.parameters), as_dict=not as_list, update=update)
		return [row[pluck] for row in rows] if pluck else rows

	def sql(self, distinct, group_by, order_by, limit, start) -> str:
		if order_by == "KEEP_DEFAULT_ORDERING":
			order_by = "" if distinct else self.default_order()
		elif order_by:
			self.refuse_ambiguous(order_by)
		# Before the tables are listed: each may join one more.
		group = f" GROUP BY {self.qualified_order(group_by)}" if group_by else ""
		order = f" ORDER BY {self.qualified_order(order_by)}" if order_by else ""
		tables = self.table + "".join(f" LEFT JOIN {table} ON {on}" for table, on in self.joins.values())
		query = f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(self.columns)} FROM {tables}"
		if self.conditions:
			query += f" WHERE {' AND '.join(self.conditions)}"
		query += group + order
		if (limit := cint(limit)) < 0 or cint(start) < 0:
			raise frappe.db.ProgrammingError("A list cannot begin or end before its first row")
		if limit:
			query += f" LIMIT {limit} OFFSET {cint(start)}"
		return query

	def default_order(self) -> str:
		field = self.meta.sort_field or "modified"
		return (
			field if "," in field else f"{field} {(self.meta.sort_field and self.meta.sort_order) or 'desc'}"
		)

	def qualified_order(self, text: str) -> str:
		"""Qualify own columns with the table's name, so that joined tables do not make them ambiguous."""
		parts = []
		aliases = {column.rsplit(" AS ", 1)[1].strip("`") for column in self.columns if " AS " in column}
		for part in checked_order(text).split(", "):
			column, direction = ORDER.fullmatch(part).groups()
			bare = column.strip("` ")
			if not self.ignore_permissions and not is_column(column.strip()):
				message = frappe._("Field not permitted in query") + f": {bare}"
				frappe.throw(message, frappe.DataError)
			self.check_query_field(*self.field_of(bare))
			if NAME.fullmatch(bare):
				column = (
					f"`{bare}`"
					if bare in aliases and not self.meta.has_field(bare)
					else f"{self.table}.`{bare}`"
				)
			elif (found := DOTTED.fullmatch(bare)) and self.meta.get_field(found[1]):
				column = self.column(bare)
			elif found and not QUALIFIED.fullmatch(bare):
				# Such as the alias of a joined table, whose columns nobody would have checked.
				raise frappe.db.OperationalError(f"no such column: {bare}")
			parts.append(f"{column}{(direction or '').lower()}")
		return ", ".join(parts)

	def refuse_ambiguous(self, order: str) -> None:
		"""Frappe 15 does not qualify such columns, and the database refuses them unless they are selected."""
		columns = {part.split()[0].strip("`") for part in order.split(",") if part.strip()}
		columns -= {column.rsplit(" AS ", 1)[-1].rpartition(".")[2].strip("`") for column in self.columns}
		for doctype, *link in self.joins:
			for column in () if link else columns:
				is_in_both = self.meta.has_field(column) and frappe.get_meta(doctype).has_field(column)
				if column in default_fields or is_in_both:
					raise frappe.db.OperationalError(f"Column '{column}' in order clause is ambiguous")

	# --- fields ---

	def add_fields(self, fields):
		if isinstance(fields, str):
			fields = frappe.parse_json(fields) if fields.startswith("[") else fields.split(",")
		self.permitted = None
		for field in fields:
			if isinstance(field, dict):
				frappe.throw(
					"Aggregates as fields differ between Frappe's versions: "
					"use frappe.db.count or frappe.db.sql"
				)
			if not isinstance(field, str | None):
				raise TypeError(f"Fields must be names, not {field!r}")
			if field := (field or "").strip():
				check_length(field)
				self.add_field(field)

	def add_field(self, field: str):
		if field in ("*", f"{self.table}.*"):
			self.columns.extend(self.star())
			return
		aliased = ALIASED.fullmatch(field)
		name, alias = aliased.groups() if aliased else (field, None)
		column = self.column(name.strip()) or (self.as_list and "NULL")
		if column and alias:
			column = f"{column} AS `{alias}`"
		elif column and DOTTED.fullmatch(name.strip()):
			column = f"{column} AS `{name.strip().split('.')[1]}`"
		if column:
			self.columns.append(column)

	def star(self) -> list[str]:
		if self.ignore_permissions:
			return [f"{self.table}.*"]
		present = set(frappe.db.get_table_columns(self.doctype))
		return [
			f"{self.table}.`{name}`" for name in dict.fromkeys(self.permitted_fields()) if name in present
		]

	def column(self, name: str) -> str | None:
		"""SQL of a column; None if the user may not read it.  Raises DataError for anything that is no
		column.
		"""
		if NAME.fullmatch(name.strip("`")):
			name = name.strip("`")
			return f"{self.table}.`{name}`" if self.may_read(self.doctype, name) else None
		if found := DOTTED.fullmatch(name):
			return self.column_of_field(*found.groups())
		if (found := QUALIFIED.fullmatch(name)) and found[2] != "*":
			if found[1] != self.doctype:
				self.join_child(found[1])
			return f"`tab{found[1]}`.`{found[2]}`" if self.may_read(found[1], found[2]) else None
		frappe.throw(frappe._("Use of sub-query or function is restricted"), frappe.DataError)

	def column_of_field(self, fieldname: str, target: str) -> str | None:
		"""`link.field` or `table.field`."""
		field = self.meta.get_field(fieldname)
		if not field or field.fieldtype not in ("Link", "Table", "Table MultiSelect"):
			raise frappe.db.OperationalError(f"no such column: {fieldname}.{target}")
		table = self.join_link(field) if field.fieldtype == "Link" else self.join_child(field.options)
		return f"{table}.`{target}`" if self.may_read(field.options, target) else None

	def join_child(self, doctype: str) -> str:
		table = f"`{get_table_name(doctype)}`"
		if (doctype,) not in self.joins:
			self.check_read_permission(doctype)
			parenttype = frappe.db.escape(self.doctype, percent=False)
			on = f"{table}.parenttype = {parenttype} AND {table}.parent = {self.table}.name"
			self.joins[(doctype,)] = table, on + self.without_hidden_tables(doctype, table)
		return table

	def without_hidden_tables(self, doctype: str, table: str) -> str:
		"""A condition that leaves out rows of tables above the user's permission level."""
		if self.ignore_permissions or self.user == "Administrator":
			return ""
		levels = self.meta.get_permlevel_access("read", user=self.user)
		same = [field for field in self.meta.get_table_fields() if field.options == doctype]
		hidden = [field.fieldname for field in same if field.permlevel not in (0, *levels)]
		return f" AND {table}.parentfield NOT IN ({list_sql(hidden)})" if hidden else ""

	def join_link(self, field) -> str:
		alias = f"`link_{field.fieldname}`"
		if (field.options, field.fieldname) not in self.joins:
			self.check_read_permission(field.options)
			on = f"{alias}.name = {self.table}.`{field.fieldname}`"
			if permitted := self.permitted_names(field.options):
				on += f" AND {alias}.name IN ({permitted})"
			self.joins[(field.options, field.fieldname)] = f"`{get_table_name(field.options)}` {alias}", on
		return alias

	def check_read_permission(self, doctype: str):
		if self.ignore_permissions:
			return
		parent = self.parent_doctype or (self.doctype if doctype != self.doctype else None)
		only_select = permissions.only_has_select_perm(doctype, self.user)
		frappe.has_permission(
			doctype, "select" if only_select else "read", user=self.user, throw=True, parent_doctype=parent
		)

	def permitted_fields(self) -> list[str]:
		if self.permitted is None:
			only_select = permissions.only_has_select_perm(self.doctype, self.user)
			self.permitted = get_permitted_fields(
				self.doctype, self.parent_doctype, self.user, "select" if only_select else "read"
			)
		return self.permitted

	def may_read(self, doctype: str, fieldname: str) -> bool:
		if self.ignore_permissions or fieldname in optional_fields:
			return True
		refuse_other_case(doctype, fieldname)
		if doctype == self.doctype:
			known = self.meta.has_field(fieldname) or fieldname in default_fields
			return fieldname in self.permitted_fields() or not known
		return fieldname in get_permitted_fields(doctype, self.doctype, self.user)

	def field_of(self, column: str) -> tuple[str, str]:
		"""(DocType, fieldname) of a column as `order_by` and `group_by` name it."""
		if found := QUALIFIED.fullmatch(column):
			return found.groups()
		if (found := DOTTED.fullmatch(column)) and (field := self.meta.get_field(found[1])):
			return field.options, found[2]
		return self.doctype, column

	def check_query_field(self, doctype: str, fieldname: str):
		"""Refuse filters and sorting by secrets, by fields above the user's level and, for users who may only
		select, by fields that selecting does not show: the rows would reveal them.
		"""
		if self.ignore_permissions:
			return
		refuse_other_case(doctype, fieldname)
		if not (field := frappe.get_meta(doctype).get_field(fieldname)):
			return
		is_open = field.fieldtype != "Password" and fieldname not in SECRET_FIELDS
		if is_open and permissions.only_has_select_perm(doctype, self.user):
			meta = frappe.get_meta(doctype)
			is_open = fieldname in (*meta.get_search_fields(), meta.title_field, *STATE_FIELDS)
		if is_open and field.permlevel and self.user != "Administrator":
			parent = self.doctype if doctype != self.doctype else self.parent_doctype
			levels = frappe.get_meta(doctype).get_permlevel_access("read", parent, user=self.user)
			is_open = field.permlevel in levels
		if not is_open:
			message = frappe._("Field not permitted in query") + f": {fieldname}"
			frappe.throw(message, frappe.DataError)

	# --- conditions ---

	def parsed(self, filters) -> list[filtering.Filter]:
		if filters and isinstance(filters, str):
			filters = frappe.parse_json(filters)
		if isinstance(filters, (list, tuple)):
			for each in filters:
				if isinstance(each, (list, tuple)) and len(each) < 3:
					message = frappe._("Filter must have 4 values (doctype, fieldname, operator, value): {0}")
					frappe.throw(message.format(each))
		return filtering.parse(self.doctype, filters)

	def condition(self, one: filtering.Filter) -> str:
		one = self.of_child_table(one)
		is_joined = one.doctype != self.doctype
		if is_joined:
			self.join_child(one.doctype)
		self.check_query_field(one.doctype, one.field)
		sql, parameters = filtering.condition(one, count_nulls=self.count_nulls, is_joined=is_joined)
		self.parameters.extend(parameters)
		return sql

	def of_child_table(self, one: filtering.Filter) -> filtering.Filter:
		"""A field that only a child table has is looked for there."""
		if (
			one.doctype == self.doctype
			and not self.meta.has_field(one.field)
			and one.field not in STANDARD_FIELDS
		):
			for table in self.meta.get_table_fields():
				if frappe.get_meta(table.options).has_field(one.field):
					return replace(one, doctype=table.options)
		return one

	def add_filters(self, filters):
		self.conditions.extend(self.condition(one) for one in self.parsed(filters))

	def add_or_filters(self, filters):
		alternatives = [self.condition(one) for one in self.parsed(filters)]
		if alternatives:
			self.conditions.append(f"({' OR '.join(alternatives)})")


def is_column(text: str) -> bool:
	"""Whether an order names a column, without words such as `collate`."""
	return any(form.fullmatch(text) for form in (DOTTED, QUALIFIED)) or bool(NAME.fullmatch(text.strip("`")))


def refuse_other_case(doctype: str, fieldname: str) -> None:
	"""SQLite finds a column by a name in another case too, of which no check of permissions knows."""
	known = {*frappe.get_meta(doctype).get_valid_columns(), *STANDARD_FIELDS}
	if fieldname not in known and str(fieldname).lower() in map(str.lower, known):
		raise frappe.db.OperationalError(f"no such column: {fieldname}")


def looks_like_filters(fields) -> bool:
	"""Whether the first argument is filters: a dict, or a list of lists."""
	return isinstance(fields, dict) or bool(
		isinstance(fields, list) and fields and isinstance(fields[0], list)
	)
