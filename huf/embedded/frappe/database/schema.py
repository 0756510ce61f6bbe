"""Creates tables of DocTypes, adds columns, and adds and drops indexes. Never drops or retypes a column."""

import datetime
import json
import re
from functools import lru_cache

import frappe
from frappe.database.connection import PLAIN, to_column

TEXT = "COLLATE NOCASE"
"""Makes comparisons of ASCII text case-insensitive, as in MariaDB."""

VARCHAR, LONG_TEXT = f"VARCHAR(140) {TEXT}", f"TEXT {TEXT}"
INTEGER, DECIMAL = "INTEGER NOT NULL DEFAULT 0", "REAL NOT NULL DEFAULT 0"

COLUMN_TYPES = {
	**dict.fromkeys(("Int", "Check", "Long Int"), INTEGER),
	**dict.fromkeys(("Float", "Currency", "Percent", "Rating"), DECIMAL),
	"Duration": "REAL",
	"Date": "DATE",
	"Datetime": "DATETIME",
	"Time": "TIME",
	"JSON": "TEXT",
	**dict.fromkeys(
		("Data", "Link", "Dynamic Link", "Select", "Password", "Read Only", "Autocomplete", "Phone", "Color",
		"Barcode", "Icon", "Attach", "Attach Image"),
		VARCHAR,
	),
	**dict.fromkeys(
		("Small Text", "Text", "Long Text", "Code", "Text Editor", "Markdown Editor", "HTML Editor", "Geolocation",  # noqa: E501
		"Signature"),
		LONG_TEXT,
	),
}  # fmt: skip

UNLIMITED = {"Password", "Attach", "Attach Image", "Barcode", "Signature"}
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
CHILD_COLUMNS = dict.fromkeys(("parent", "parentfield", "parenttype"), VARCHAR)
OPTIONAL_COLUMNS = dict.fromkeys(("_user_tags", "_comments", "_assign", "_liked_by"), LONG_TEXT)

INTERNAL_TABLES = (
	f"""CREATE TABLE IF NOT EXISTS `tabSingles` (doctype {VARCHAR}, field {VARCHAR}, value {LONG_TEXT},
		PRIMARY KEY (doctype, field))""",
	"""CREATE TABLE IF NOT EXISTS `tabSeries` (name VARCHAR(100) PRIMARY KEY, current INTEGER NOT NULL DEFAULT 0)""",  # noqa: E501
	f"""CREATE TABLE IF NOT EXISTS `__Auth` (doctype {VARCHAR}, name {VARCHAR}, fieldname {VARCHAR}, password TEXT,
		encrypted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (doctype, name, fieldname))""",  # noqa: E501
	"""CREATE TABLE IF NOT EXISTS `tabSessions` (sid TEXT PRIMARY KEY, user TEXT NOT NULL, sessiondata TEXT NOT NULL,
		lastupdate TEXT NOT NULL)""",  # noqa: E501
	"""CREATE TABLE IF NOT EXISTS `tabSessions` (sid VARCHAR(140) PRIMARY KEY, user VARCHAR(140),
		sessiondata TEXT, lastupdate DATETIME)""",
	"""CREATE TABLE IF NOT EXISTS `__DocTypeVersion` (doctype TEXT PRIMARY KEY, version INTEGER NOT NULL)""",
)


def create_internal_tables(db):
	db.define("PRAGMA journal_mode = WAL")
	for definition in INTERNAL_TABLES:
		db.define(definition)


def sync_table(meta):
	"""Create the DocType's table, or add new columns and indexes. Commits earlier writes, as DDL does in
	MariaDB.
	"""
	if meta.issingle or meta.is_virtual:
		return
	table = get_table_name(meta.name)
	wanted = columns_of(meta)
	present = {row[1] for row in frappe.db.execute(f"PRAGMA table_info(`{table}`)")}
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
	for name in {"modified", *(field.fieldname for field in meta.fields)} - wanted_indexes.keys():
		if (index := name_index(table, (name,))) in indexes:
			frappe.db.define(f"DROP INDEX `{index}`")


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
	return f" DEFAULT {frappe.db.escape(default, percent=False)}" if is_constant and kind == VARCHAR else ""


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


PARSED = ("Date", "Datetime", "JSON")
"""Field types that accept only some texts."""


def to_field(value, fieldtype: str | None, column: str = ""):
	"""Convert a value to what a field of this type stores. Raises OperationalError for invalid dates and
	JSON.
	"""
	if value is None or fieldtype not in PARSED:
		return value if type(value) in PLAIN else to_column(value)
	if fieldtype != "JSON":
		return parse_moment(value, fieldtype, column)
	if isinstance(value, str):
		try:
			json.loads(value)
		except ValueError as error:
			raise frappe.db.OperationalError(f"The value of `{column}` is no JSON: {error}") from None
	return to_column(value)


def parse_moment(value, fieldtype: str, column: str) -> str:
	"""ISO text of a date, or of a date and time with microseconds, so that texts compare as times do."""
	try:
		if isinstance(value, str):
			value = datetime.datetime.fromisoformat(value)
		if fieldtype == "Date":
			return value.strftime("%Y-%m-%d")
		if not isinstance(value, datetime.datetime):
			value = datetime.datetime.combine(value, datetime.time())
		if value.tzinfo is None:
			return to_column(value)
	except (ValueError, TypeError, AttributeError):
		pass
	raise frappe.db.OperationalError(f"Incorrect {fieldtype.lower()} value: '{value}' for column `{column}`")
