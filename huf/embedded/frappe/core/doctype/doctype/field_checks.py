"""Refuses the fields and field names of a DocType that Frappe refuses.

Left out are checks of the website, of virtual DocTypes, and of settings that only the form of the Desk has.
"""

import re
from collections.abc import Iterator

import frappe
from frappe.model import child_table_fields, default_fields, display_fieldtypes, no_value_fields, table_fields
from frappe.utils.data import cint

MAX_NAME_CHARS = 64
NOT_INDEXED = ("Text", "Long Text", "Small Text", "Code", "Text Editor")
LISTED_IN_ROWS = ("Button", "HTML")
CONDITIONS = ("depends_on", "collapsible_depends_on", "mandatory_depends_on", "read_only_depends_on")
ASSIGNMENT = re.compile(r"[\w.:]+\s*=\s*[\w.@'\"]")


def check_fields(doctype) -> None:
	"""Raises ValidationError for the first fault of a DocType's fields, or of the names in its settings."""
	for field in doctype.fields:
		for fault in find_field_faults(doctype, field):
			where = frappe._("field {0} in row {1}").format(frappe.bold(field.fieldname), field.idx)
			frappe.throw(f"{doctype.name}, {where}: {fault}")
	for fault in find_setting_faults(doctype):
		frappe.throw(f"{doctype.name}: {fault}")


def find_field_faults(doctype, field) -> Iterator[str]:
	kind, default, options = field.fieldtype, field.default, field.options
	if len(field.fieldname) > MAX_NAME_CHARS:
		yield frappe._("Fieldname is limited to 64 characters")
	if field.hidden and field.reqd and not default:
		yield frappe._("cannot be hidden and mandatory without default")
	if field.reqd and kind in display_fieldtypes:
		yield frappe._("Fieldtype {0} cannot be mandatory").format(kind)
	if field.search_index and kind in NOT_INDEXED:
		yield frappe._("Fieldtype {0} cannot be indexed").format(kind)
	if field.in_list_view and kind in (*no_value_fields, "Attach Image"):
		if not (doctype.istable and kind in LISTED_IN_ROWS):
			yield frappe._("'In List View' not allowed for type {0}").format(kind)
	if kind in ("Link", *table_fields) and options not in (doctype.name, "[Select]"):
		if frappe.flags.in_fixtures:
			pass  # it may be created later
		elif not frappe.db.exists("DocType", options):
			yield frappe._("Options must be a valid DocType")
		elif kind in table_fields and not frappe.get_meta(options).istable:
			yield frappe._("Option {0} is not a child table").format(frappe.bold(options))
	if kind == "Dynamic Link" and not names_a_doctype(doctype, options):
		yield frappe._("Options must name a Link field with options 'DocType', or a Select field")
	if kind == "Check" and cint(default) not in (0, 1):
		yield frappe._("Default must be either '0' or '1'")
	if kind == "Select" and default and default not in (options or "").split("\n"):
		yield frappe._("Default value must be in the list of options")
	if kind == "Rating" and options and not 3 <= cint(options) <= 10:
		yield frappe._("Options for Rating field can range from 3 to 10")
	if cint(field.precision) not in range(10):
		yield frappe._("Precision should be between 0 and 9")
	for condition in CONDITIONS:
		if ASSIGNMENT.match(field.get(condition) or ""):
			yield frappe._("Invalid {0} condition").format(condition)


def names_a_doctype(doctype, fieldname: str) -> bool:
	"""Whether a field holds the DocType of a Dynamic Link."""
	pointer = next((each for each in doctype.fields if each.fieldname == fieldname), None)
	return bool(pointer) and (
		pointer.fieldtype == "Select" or (pointer.fieldtype, pointer.options) == ("Link", "DocType")
	)


def find_setting_faults(doctype) -> Iterator[str]:
	kinds = {field.fieldname: field.fieldtype for field in doctype.fields}
	columns = {*kinds, *default_fields, *child_table_fields}
	for name in split(doctype.search_fields):
		if kinds.get(name) in (None, *no_value_fields):
			yield frappe._("Search field {0} is not valid").format(frappe.bold(name))
	if any(each.split()[0] not in columns for each in split(doctype.sort_field)):
		yield frappe._("Sort field {0} must be a valid fieldname").format(frappe.bold(doctype.sort_field))
	if doctype.title_field and doctype.title_field not in kinds:
		yield frappe._("Title field must be a valid fieldname")
	if doctype.image_field and kinds.get(doctype.image_field) != "Attach Image":
		yield frappe._("Image field must be of type Attach Image")
	prefix, _colon, name = (doctype.autoname or "").partition(":")
	if prefix == "field" and name not in kinds:
		yield frappe._("Invalid fieldname '{0}' in autoname").format(name)
	if prefix == "naming_series" and "naming_series" not in kinds:
		yield frappe._("Fieldname called {0} must exist to enable autonaming").format("naming_series")


def split(names: str | None) -> list[str]:
	return [name.strip() for name in (names or "").split(",") if name.strip()]
