"""Creates tables of DocTypes, adds and retypes columns, and adds and drops indexes. Never drops a column."""

import datetime
import json
import re
from collections.abc import Sequence
from functools import lru_cache

import frappe
from frappe.database.connection import PLAIN, to_column

TEXT = "COLLATE NOCASE"
"""Makes comparisons of ASCII text case-insensitive, as in MariaDB."""

VARCHAR, LONG_TEXT = f"VARCHAR(140) {TEXT}", f"TEXT {TEXT}"
INTEGER, DECIMAL = "INTEGER NOT NULL DEFAULT 0", "REAL NOT NULL DEFAULT 0"
LONG_INTEGER = "INTEGER"

COLUMN_TYPES = {
	**dict.fromkeys(("Int", "Check"), INTEGER),
	"Long Int": LONG_INTEGER,
	**dict.fromkeys(("Float", "Currency", "Percent", "Rating"), DECIMAL),
	"Duration": "REAL",
	"Date": "DATE",
	"Datetime": "DATETIME",
	"Time": "TIME",
	"JSON": "TEXT",
	"Data": VARCHAR,
	"Link": VARCHAR,
	"Dynamic Link": VARCHAR,
	"Select": VARCHAR,
	"Password": VARCHAR,
	"Read Only": VARCHAR,
	"Autocomplete": VARCHAR,
	"Phone": VARCHAR,
	"Color": VARCHAR,
	"Barcode": VARCHAR,
	"Icon": VARCHAR,
	"Attach": VARCHAR,
	"Attach Image": VARCHAR,
	"Small Text": LONG_TEXT,
	"Text": LONG_TEXT,
	"Long Text": LONG_TEXT,
	"Code": LONG_TEXT,
	"Text Editor": LONG_TEXT,
	"Markdown Editor": LONG_TEXT,
	"HTML Editor": LONG_TEXT,
	"Geolocation": LONG_TEXT,
	"Signature": LONG_TEXT,
}

UNLIMITED = {"Password", "Attach", "Attach Image", "Barcode", "Signature"}
SAVEPOINT = "retype"
EXACT = 2**53
"""Larger numbers in a text would lose digits."""
TEXT_BYTES = 65535
LIMITED = {"Small Text", "Text", "Password", "Attach", "Attach Image"}
"""Kinds of text that hold TEXT_BYTES in UTF-8."""
LENGTHS = {kind: 140 for kind, column in COLUMN_TYPES.items() if column == VARCHAR and kind not in UNLIMITED}
"""Default lengths of fields, in characters."""

STANDARD_COLUMNS = {
	"name": f"VARCHAR(140) {TEXT} PRIMARY KEY NOT NULL",
	"creation": "DATETIME",
	"modified": "DATETIME",
	"modified_by": VARCHAR,
	"owner": VARCHAR,
	"docstatus": INTEGER,
	"idx": INTEGER,
}
STANDARD_TYPES = {"creation": "Datetime", "modified": "Datetime", "docstatus": "Int", "idx": "Int"}
CHILD_COLUMNS = dict.fromkeys(("parent", "parentfield", "parenttype"), VARCHAR)
OPTIONAL_COLUMNS = dict.fromkeys(("_user_tags", "_comments", "_assign", "_liked_by"), LONG_TEXT)

INTERNAL_TABLES = (
	f"""CREATE TABLE IF NOT EXISTS `tabSingles` (doctype {VARCHAR}, field {VARCHAR}, value {LONG_TEXT},
		PRIMARY KEY (doctype, field))""",
	"""CREATE TABLE IF NOT EXISTS `tabSeries` (name VARCHAR(100) PRIMARY KEY,
		current INTEGER NOT NULL DEFAULT 0)""",
	f"""CREATE TABLE IF NOT EXISTS `__Auth` (doctype {VARCHAR}, name {VARCHAR}, fieldname {VARCHAR},
		password TEXT, encrypted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (doctype, name, fieldname))""",
	"""CREATE TABLE IF NOT EXISTS `tabSessions` (sid TEXT PRIMARY KEY, user TEXT NOT NULL,
		sessiondata TEXT NOT NULL, lastupdate TEXT NOT NULL)""",
	"""CREATE TABLE IF NOT EXISTS `__DocTypeVersion` (doctype TEXT PRIMARY KEY, version INTEGER NOT NULL)""",
)


def create_internal_tables(db):
	db.define("PRAGMA journal_mode = WAL")
	for definition in INTERNAL_TABLES:
		db.define(definition)


def sync_table(meta):
	"""Create the DocType's table, or add new columns and indexes and retype changed columns. Commits earlier
	writes, as DDL does in MariaDB.
	"""
	if meta.issingle or meta.is_virtual:
		return
	table = get_table_name(meta.name)
	wanted = columns_of(meta)
	present = {row[1]: row for row in frappe.db.execute(f"PRAGMA table_info(`{table}`)")}
	if retyped := [field for field in meta.fields if is_retyped(field, present, wanted)]:
		retype_columns(table, retyped, wanted)
	if not present:
		body = ", ".join(f"`{name}` {kind}" for name, kind in wanted.items())
		frappe.db.define(f"CREATE TABLE `{table}` ({body})")
	for name, kind in wanted.items():
		if present and name not in present:
			frappe.db.define(f"ALTER TABLE `{table}` ADD COLUMN `{name}` {kind}")
	wanted_indexes = indexes_of(meta)
	for name, is_unique in wanted_indexes.items():
		create_index(table, (name,), unique=is_unique)
	indexes = {row[1] for row in frappe.db.execute(f"PRAGMA index_list(`{table}`)")}
	for name in {"modified", *(field.fieldname for field in meta.fields)}:
		for is_unique in {True, False} - {wanted_indexes.get(name)}:
			if (index := name_index(table, (name,), is_unique)) in indexes:
				frappe.db.define(f"DROP INDEX `{index}`")


def is_retyped(field, present: dict[str, tuple], wanted: dict[str, str]) -> bool:
	"""Whether the column of a field exists and stores values in another way than wanted."""
	name = field.fieldname
	if name not in present or name not in wanted:
		return False
	_cid, _name, kind, is_required, *_ = present[name]
	return (get_storage(kind), bool(is_required)) != (get_storage(wanted[name]), "NOT NULL" in wanted[name])


def get_storage(column: str) -> str:
	"""The type of a column; texts of any length are stored alike."""
	kind = re.split(r"[( ]", column)[0]
	return "TEXT" if kind == "VARCHAR" else kind


def retype_columns(table: str, fields: list, wanted: dict[str, str]) -> None:
	"""Replace columns by ones of another type with the same values: all of them, or none if a value does not
	fit. The caller's writes are committed with them, and nobody writes in between.
	"""
	frappe.db.savepoint(SAVEPOINT)
	try:
		for field in fields:
			retype_column(table, field, wanted[field.fieldname])
	except Exception:  # re-raised: the caller may commit
		frappe.db.rollback(save_point=SAVEPOINT)
		raise
	frappe.db.commit()


def retype_column(table: str, field, kind: str) -> None:
	db, column = frappe.db, field.fieldname
	rows = db.execute(f"SELECT `{column}`, name FROM `{table}`").fetchall()
	values = [(convert_value(old, field, kind), name) for old, name in rows]
	db.alter(f"ALTER TABLE `{table}` ADD COLUMN `_new_{column}` {kind}")
	db.executemany(f"UPDATE `{table}` SET `_new_{column}` = ? WHERE name = ?", values)
	query = f"SELECT l.name FROM pragma_index_list('{table}') l, pragma_index_info(l.name) i WHERE i.name = ?"
	for (index,) in db.execute(query, (column,)).fetchall():
		db.alter(f"DROP INDEX `{index}`")
	db.alter(f"ALTER TABLE `{table}` DROP COLUMN `{column}`")
	db.alter(f"ALTER TABLE `{table}` RENAME COLUMN `_new_{column}` TO `{column}`")


def convert_value(old, field, kind: str):
	"""A stored value as a field of another type stores it; an empty one stays empty, whatever the default."""
	if old is None or old == "":
		return 0 if "NOT NULL" in kind else None
	fieldtype = "Int" if field.fieldtype == "Long Int" else field.fieldtype
	try:
		return to_field(str(old), fieldtype, field.fieldname)
	except (frappe.db.DataError, frappe.db.OperationalError) as error:
		message = frappe._("{0} cannot become {1}: {2}")
		frappe.throw(message.format(field.label or field.fieldname, field.fieldtype, error))


def columns_of(meta) -> dict[str, str]:
	columns = dict(STANDARD_COLUMNS)
	if meta.istable:
		columns.update(CHILD_COLUMNS)
	for field in meta.fields:
		if field.fieldtype in COLUMN_TYPES and not field.is_virtual and field.fieldname not in columns:
			columns[field.fieldname] = COLUMN_TYPES[field.fieldtype].split(" DEFAULT")[0] + default_of(field)
	if not meta.istable:
		columns.update(OPTIONAL_COLUMNS)
	return columns


def default_of(field) -> str:
	"""The DEFAULT clause: existing rows get it when a column is added."""
	kind, default = COLUMN_TYPES[field.fieldtype], field.default
	if kind in (INTEGER, DECIMAL):
		return f" DEFAULT {frappe.utils.flt(default) if kind == DECIMAL else frappe.utils.cint(default)}"
	is_constant = default and not str(default).startswith((":", "__")) and default not in ("Today", "Now")
	has_default = is_constant and kind in (VARCHAR, LONG_INTEGER)
	return f" DEFAULT {frappe.db.escape(default, percent=False)}" if has_default else ""


def indexes_of(meta) -> dict[str, bool]:
	"""{column: unique}; `modified` where lists are sorted by it, as in Frappe 16."""
	indexes = {"parent": False} if meta.istable else {}
	if not meta.istable and meta.sort_field in (None, "", "modified"):
		indexes["modified"] = False
	for field in meta.fields:
		if field.fieldtype in COLUMN_TYPES and (field.unique or field.search_index):
			indexes[field.fieldname] = bool(field.unique)
	return indexes


def create_index(table: str, columns, *, unique=False, name: str | None = None):
	name = name or name_index(table, columns, unique)
	listed = ", ".join(f"`{column}`" for column in columns)
	frappe.db.define(
		f"CREATE {'UNIQUE ' if unique else ''}INDEX IF NOT EXISTS `{name}` ON `{table}` ({listed})"
	)


def name_index(table: str, columns, unique: bool = False) -> str:
	return f"{table}_{'_'.join(columns)}" + ("_unique" if unique else "_index")


@lru_cache(maxsize=1024)
def get_table_name(doctype: str) -> str:
	"""`tabToDo` for ToDo; internal tables such as __Auth keep their name."""
	if not re.fullmatch(r"[\w \-]+", doctype or "", re.ASCII):
		frappe.throw(frappe._("Invalid DocType: {0}").format(doctype))
	return doctype if doctype.startswith("__") else f"tab{doctype}"


DECIMALS = {"Float", "Currency", "Percent", "Duration"}
PARSED = {"Date", "Datetime", "Time", "JSON", "Int", "Check", *DECIMALS}
"""Field types that accept only some texts."""


def field_type(doctype: str, fieldname: str) -> str | None:
	return field_types(doctype, [fieldname])[0]


def field_types(doctype: str, fieldnames: Sequence[str]) -> list[str | None]:
	"""The type of each field; None for a name that is not a field."""
	has_meta = not doctype.startswith("__") and doctype not in ("Singles", "Series")
	types = frappe.get_meta(doctype).types if has_meta else STANDARD_TYPES
	return [types.get(name) for name in fieldnames]


def get_limit(field, column: str) -> int | None:
	"""How many characters of text a column holds."""
	if field is None:
		return (
			140 if STANDARD_COLUMNS.get(column, "").startswith("VARCHAR") or column in CHILD_COLUMNS else None
		)
	if field.fieldtype in LENGTHS:
		return frappe.utils.cint(field.length) or LENGTHS[field.fieldtype]
	return TEXT_BYTES if field.fieldtype in LIMITED else None


def to_fields(doctype: str, values: dict) -> dict:
	"""The values as their columns store them."""
	meta = frappe.get_meta(doctype)
	types = field_types(doctype, list(values))
	return {
		column: to_field(value, kind, column, get_limit(meta.get_field(column), column))
		for kind, (column, value) in zip(types, values.items(), strict=True)
	}


def to_field(value, fieldtype: str | None, column: str = "", limit: int | None = None):
	"""A value as a field of this type stores it, of at most `limit` characters.

	Raises OperationalError for a broken date, time or JSON, DataError for a value that is not a number or
	too large.
	"""
	if value is None or fieldtype not in PARSED:
		if limit and isinstance(value, str) and is_too_long(value, limit):
			raise of_value(frappe.db.DataError, f"Data too long for column '{column}'")
		return value if type(value) in PLAIN else to_column(value)
	if fieldtype in DECIMALS or fieldtype in ("Int", "Check"):
		return to_number(value, fieldtype, column)
	if fieldtype == "Time":
		return parse_time_of_day(value, column)
	if fieldtype != "JSON":
		return parse_moment(value, fieldtype, column)
	if isinstance(value, str):
		try:
			json.loads(value)
		except ValueError as error:
			message = f"The value of `{column}` is no JSON: {error}"
			raise of_value(frappe.db.OperationalError, message) from None
	return to_column(value)


def of_value(kind: type[Exception], message: str) -> Exception:
	"""The database's error for a value that its column refuses, whatever words the value has. It is marked by
	an attribute, since clients see the name of its class.
	"""
	error = kind(message)
	error.is_of_value = True
	return error


def is_too_long(text: str, limit: int) -> bool:
	if limit < TEXT_BYTES or len(text) > limit:
		return len(text) > limit
	return len(text) * 4 > limit and len(text.encode()) > limit


def to_number(value, fieldtype: str, column: str):
	"""Decimals have 12 digits before the point and 9 behind it."""
	if isinstance(value, str):
		try:
			value = float(value)
		except ValueError:
			message = f"Incorrect number: '{value}' for column `{column}`"
			raise of_value(frappe.db.DataError, message) from None
		if not abs(value) < EXACT:
			raise of_value(frappe.db.DataError, f"Out of range value for column '{column}'")
		value = value if fieldtype in DECIMALS else round(value)
	if fieldtype not in DECIMALS:
		return to_column(value)
	if abs(value) >= 10**12:
		raise of_value(frappe.db.DataError, f"Out of range value for column '{column}'")
	return round(float(value), 9)


TIME = re.compile(r"(?:\d{4}-\d\d-\d\d )?(\d{1,3}):(\d{1,2})(?::(\d{1,2})(\.\d+)?)?")
"""A date before the time is ignored, as on MariaDB."""


def parse_time_of_day(value, column: str) -> str:
	"""Two digits each, and no zeros at the end of a fraction, so that texts compare as times do; a text may
	lack the seconds.
	"""
	found = TIME.fullmatch(str(to_column(value)))
	if not found:
		raise of_value(frappe.db.OperationalError, f"Incorrect time value: '{value}' for column `{column}`")
	*parts, fraction = found.groups(default="")
	return ":".join(part.zfill(2) for part in parts) + fraction.rstrip("0").rstrip(".")


def pad_times() -> None:
	"""Rewrite times that earlier versions stored as 9:05:00."""
	fields = frappe.get_all("DocField", {"fieldtype": "Time"}, ["parent", "fieldname"], order_by="name asc")
	for field in fields:
		if frappe.db.has_column(field.parent, field.fieldname):
			table, column = get_table_name(field.parent), f"`{field.fieldname}`"
			frappe.db.sql(f"update `{table}` set {column} = '0' || {column} where {column} like '_:%'")


LOOSE_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")


def to_iso(found) -> str:
	return "{}-{:0>2}-{:0>2}".format(*found.groups())


def read_moment(text: str) -> datetime.datetime:
	try:
		return datetime.datetime.fromisoformat(text)
	except ValueError:
		return datetime.datetime.fromisoformat(LOOSE_DAY.sub(to_iso, text, count=1))


def parse_moment(value, fieldtype: str, column: str) -> str:
	"""ISO text of a date, or of a date and time with microseconds, so that texts compare as times do."""
	try:
		if isinstance(value, str):
			value = read_moment(value)
		if not isinstance(value, datetime.datetime):
			value = datetime.datetime.combine(value, datetime.time())
		if value.tzinfo is None:
			return to_column(value)[:10] if fieldtype == "Date" else to_column(value)
	except (ValueError, TypeError, AttributeError):
		pass
	message = f"Incorrect {fieldtype.lower()} value: '{value}' for column `{column}`"
	raise of_value(frappe.db.OperationalError, message)
