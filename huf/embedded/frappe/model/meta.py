"""The definition of a DocType: its fields, permissions and settings."""

from functools import cached_property
from pathlib import Path

import frappe
from frappe.database.schema import COLUMN_TYPES, STANDARD_TYPES
from frappe.model import child_table_fields, core_doctypes, default_fields, table_fields
from frappe.types import _dict

STANDARD_LABELS = {
	"name": "ID",
	"owner": "Created By",
	"creation": "Created On",
	"modified": "Last Updated On",
	"modified_by": "Last Updated By",
	"docstatus": "Document Status",
	"idx": "Index",
	"parent": "Parent",
	"parenttype": "Parent Type",
	"parentfield": "Parent Field",
	"_user_tags": "Tags",
	"_assign": "Assigned To",
	"_comments": "Comments",
	"_liked_by": "Liked By",
}
SET_ONCE = (
	_dict(fieldname="owner", fieldtype="Data", label="Created By"),
	_dict(fieldname="creation", fieldtype="Datetime", label="Created On"),
)


def get_meta(doctype, cached: bool = True) -> "Meta":
	"""The definition of a DocType, shared and cached: never change it.  Raises DoesNotExistError."""
	if isinstance(doctype, dict):
		return Meta(doctype)
	if doctype in core_doctypes:
		return core_meta(doctype)
	if not cached:
		return load_meta(doctype)
	return frappe.local.db.versions.cached("DocType", doctype, lambda: load_meta(doctype))


_core: dict[str, "Meta"] = {}


def core_meta(doctype: str) -> "Meta":
	if doctype not in _core:
		folder = frappe.scrub(doctype)
		file = Path(__file__).parent.parent / "core" / "doctype" / folder / f"{folder}.json"
		_core[doctype] = Meta(frappe.apps.get_file_json(file))
	return _core[doctype]


def load_meta(doctype: str) -> "Meta":
	row = frappe.local.db.sql("SELECT * FROM `tabDocType` WHERE name = %s", (doctype,), as_dict=True)
	if not row:
		frappe.throw(frappe._("DocType {0} not found").format(doctype), frappe.DoesNotExistError)
	for fieldname, child in (("fields", "DocField"), ("permissions", "DocPerm")):
		row[0][fieldname] = frappe.local.db.sql(
			f"SELECT * FROM `tab{child}` WHERE parent = %s ORDER BY idx", (doctype,), as_dict=True
		)
	return Meta(row[0])


class Meta:
	"""Attributes are those of the DocType; one that is not set is None."""

	doctype = "DocType"

	def __init__(self, values: dict):
		self.__dict__.update(
			{key: value for key, value in values.items() if key not in ("fields", "permissions")}
		)
		self.fields = [_dict(field) for field in values.get("fields") or ()]
		for index, field in enumerate(self.fields, 1):
			field.update(parent=self.name, idx=index)
		self.permissions = [_dict(rule) for rule in values.get("permissions") or ()]
		for flag in ("issingle", "istable", "is_submittable", "is_virtual", "track_changes", "custom"):
			self.__dict__[flag] = int(values.get(flag) or 0)
		for rule in (*self.fields, *self.permissions):
			rule.permlevel = int(rule.permlevel or 0)
		self._by_name = {field.fieldname: field for field in self.fields}

	def __getattr__(self, name):
		if name.startswith("__"):
			raise AttributeError(name)
		return None

	def get(self, key: str, filters=None, default=None):
		"""An attribute; a list of fields may be filtered: `get("fields", {"fieldtype": "Link"})`."""
		value = self.__dict__.get(key, default)
		if isinstance(filters, dict):
			from frappe.model.base_document import filter_rows

			return filter_rows(value or [], filters)
		return value

	def as_dict(self) -> _dict:
		values = {key: value for key, value in self.__dict__.items() if not key.startswith("_")}
		plain = _dict({key: value for key, value in values.items() if not isinstance(value, (list, tuple))})
		return plain.update(
			doctype="DocType",
			fields=[field.copy() for field in self.fields],
			permissions=[rule.copy() for rule in self.permissions],
		)

	def get_workflow(self) -> str | None:
		from frappe.model.workflow import get_workflow_name

		return get_workflow_name(self.name)

	# --- fields ---

	def get_field(self, fieldname: str) -> _dict | None:
		return self._by_name.get(fieldname)

	@cached_property
	def types(self) -> dict[str, str]:
		"""The type of each field by its name, standard fields included."""
		return {name: field.fieldtype for name, field in self._by_name.items()} | STANDARD_TYPES

	def has_field(self, fieldname: str) -> bool:
		return fieldname in self._by_name

	def get_label(self, fieldname: str) -> str:
		if field := self.get_field(fieldname):
			return field.label
		return frappe._(STANDARD_LABELS.get(fieldname, "No Label"))

	def of_types(self, *fieldtypes) -> list[_dict]:
		return [field for field in self.fields if field.fieldtype in fieldtypes]

	@cached_property
	def table_fields(self) -> list[_dict]:
		return self.of_types(*table_fields)

	@cached_property
	def link_fields(self) -> list[_dict]:
		return [field for field in self.of_types("Link") if field.options != "[Select]"]

	@cached_property
	def valid_columns(self) -> list[str]:
		"""Columns of the table, as documents know them."""
		standard = [*default_fields[1:], *(child_table_fields if self.istable else ())]
		return standard + [
			field.fieldname
			for field in self.fields
			if field.fieldtype in COLUMN_TYPES and not field.is_virtual and field.fieldname not in standard
		]

	def get_table_fields(self, include_computed=False) -> list[_dict]:
		return self.table_fields

	def get_link_fields(self) -> list[_dict]:
		return list(self.link_fields)

	def get_select_fields(self) -> list[_dict]:
		return [field for field in self.of_types("Select") if field.options not in ("[Select]", "Loading...")]

	def get_data_fields(self) -> list[_dict]:
		return self.of_types("Data")

	def get_valid_columns(self) -> list[str]:
		return self.valid_columns

	def get_set_only_once_fields(self) -> list[_dict]:
		"""Fields that keep their first value: those marked so, owner and creation."""
		return [*(field for field in self.fields if field.set_only_once), *SET_ONCE]

	def get_high_permlevel_fields(self) -> list[_dict]:
		return [field for field in self.fields if field.permlevel > 0]

	def get_fields_to_fetch(self, link_fieldname: str | None = None) -> list[_dict]:
		"""Fields with fetch_from, of one link or of any."""
		return [
			field
			for field in self.fields
			if field.fetch_from
			and (not link_fieldname or field.fetch_from.split(".", 1)[0] == link_fieldname)
		]

	def get_title_field(self) -> str:
		return self.title_field or ("title" if self.has_field("title") else "name")

	def get_search_fields(self) -> list[str]:
		names = [name.strip() for name in (self.search_fields or "").split(",") if name.strip()]
		return [*names, *(["name"] if "name" not in names else [])]

	# --- permission levels ---

	def get_permissions(self, parenttype: str | None = None) -> list[_dict]:
		return get_meta(parenttype).permissions if self.istable and parenttype else self.permissions

	def get_permlevel_access(self, permission_type="read", parenttype=None, *, user=None) -> list[int]:
		"""The permission levels that the user's roles may access."""
		roles = frappe.get_roles(user)
		rules = self.get_permissions(parenttype)
		return list(
			dict.fromkeys(
				rule.permlevel for rule in rules if rule.role in roles and rule.get(permission_type)
			)
		)

	def get_permitted_fieldnames(
		self, parenttype=None, *, user=None, permission_type="read", with_virtual_fields=True
	) -> list[str]:
		if (user or frappe.session.user) == "Administrator":
			return [name for name in self.valid_columns if name not in default_fields + child_table_fields]
		from frappe.share import get_shared

		levels = self.get_permlevel_access(permission_type, parenttype, user=user)
		if 0 not in levels and permission_type == "read":
			has_no_rules = not self.get_permissions(parenttype)
			if has_no_rules or get_shared(self.name, user, rights=["read"], limit=1):
				levels = [*levels, 0]
		return [
			field.fieldname
			for field in self.fields
			if field.fieldname in self.valid_columns and field.permlevel in levels
		]


def get_permitted_fields(doctype: str, parenttype=None, user=None, permission_type=None) -> list[str]:
	"""Columns that a user may read: standard ones, and fields of permitted levels."""
	meta = get_meta(doctype)
	if permission_type == "select":
		return meta.get_search_fields()
	standard = [*default_fields[1:], *(child_table_fields if meta.istable else ())]
	return [
		*standard,
		*meta.get_permitted_fieldnames(parenttype, user=user, permission_type=permission_type or "read"),
	]
