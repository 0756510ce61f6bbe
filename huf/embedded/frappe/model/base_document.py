"""A document as values: fields, child rows, its dict, and writing its row.  Checks are in
document_checks.py.
"""

import json
import weakref
from functools import cached_property

import frappe
from frappe.database.schema import to_fields
from frappe.model import child_table_fields, datetime_fields, default_fields, float_like_fields
from frappe.model.controllers import get_controller
from frappe.model.docstatus import DocStatus
from frappe.types import _dict
from frappe.utils.data import cint, cstr, flt, now

RESERVED = {"doctype", "meta", "flags", "parent_doc", "_doc_before_save", "_table_fieldnames"}
PRIVATE = ("_user_tags", "__islocal", "__onload", "_liked_by", "__run_link_triggers", "__unsaved")
MAX_NAME_RETRIES = 5


class BaseDocument:
	def __init__(self, values: dict):
		self.__dict__["doctype"] = values.get("doctype") or getattr(self, "doctype", None)
		self.__dict__.setdefault("flags", _dict())
		self.update(values)
		if hasattr(self, "__setup__"):
			self.__setup__()

	def __getstate__(self):
		state = self.__dict__.copy()
		for key in ("meta", "_table_fieldnames", "_parent_doc", "_doc_before_save"):
			state.pop(key, None)
		return state

	@cached_property
	def meta(self):
		return frappe.get_meta(self.doctype)

	@cached_property
	def _table_fieldnames(self) -> dict[str, str]:
		"""{fieldname: child DocType}"""
		return {field.fieldname: field.options for field in self.meta.get_table_fields()}

	@property
	def parent_doc(self) -> "BaseDocument | None":
		"""The document a child row was appended to, as long as it is alive."""
		reference = self.__dict__.get("_parent_doc")
		return reference() if reference else None

	@property
	def docstatus(self) -> DocStatus:
		return DocStatus(cint(self.__dict__.get("docstatus")))

	@docstatus.setter
	def docstatus(self, value):
		self.__dict__["docstatus"] = DocStatus(cint(value))

	# --- values ---

	def update(self, values: dict) -> "BaseDocument":
		"""Set many fields; the name first, because child rows refer to it."""
		if "name" in values:
			self.__dict__["name"] = values["name"]
		for key, value in values.items():
			self.set(key, value)
		return self

	def update_if_missing(self, values: dict):
		"""Set those fields that are None."""
		for key, value in values.items():
			if value is not None and self.__dict__.get(key) is None and key not in self._table_fieldnames:
				self.set(key, value)

	def get(self, key, filters=None, limit=None, default=None):
		"""A field, or `default`.  Child rows may be filtered by a dict."""
		if isinstance(key, dict):
			return filter_rows(self.get_all_children(), key)[:limit]
		if isinstance(filters, dict):
			return filter_rows(self.__dict__.get(key) or [], filters)[:limit]
		value = self.__dict__.get(key, filters if filters is not None else default)
		return value[:limit] if limit and isinstance(value, (list, tuple)) else value

	def set(self, key: str, value, as_value: bool = False):
		if key in RESERVED or self._is_method(key):
			return
		if not as_value and self.doctype and key in self._table_fieldnames:
			self.__dict__[key] = []
			if value:
				self.extend(key, value)
			return
		self.__dict__[key] = value

	def _is_method(self, key: str) -> bool:
		"""Whether a value with this key would shadow a method of the controller."""
		return callable(getattr(type(self), key, None)) and not self.meta.has_field(key)

	def append(self, key: str, value=None, position: int = -1):
		"""Add a child row from a dict or document, and return it."""
		if key not in self._table_fieldnames:
			raise AttributeError(key)
		rows = self.__dict__.setdefault(key, [])
		if rows is None:
			rows = self.__dict__[key] = []
		child = self._init_child({} if value is None else value, key)
		child.__dict__["_parent_doc"] = weakref.ref(self)
		rows.insert(len(rows) if position == -1 else position, child)
		return child

	def extend(self, key: str, value):
		if not isinstance(value, (list, tuple)):
			raise TypeError(f"{key} takes a list of rows, not {type(value).__name__}")
		for row in value:
			self.append(key, row)

	def remove(self, doc):
		"""Remove a child row and renumber the others."""
		if doc.get("parentfield"):
			rows = self.get(doc.parentfield)
			rows.remove(doc)
			for index, row in enumerate(rows, 1):
				row.idx = index

	def _init_child(self, value, key: str) -> "BaseDocument":
		child_doctype = self._table_fieldnames[key]
		if not isinstance(value, BaseDocument):
			value = get_controller(child_doctype)({**value, "doctype": child_doctype})
		elif value.doctype != child_doctype:
			raise ValueError(f"{key} takes rows of {child_doctype}, not of {value.doctype}")
		value.__dict__.update(parent=self.get("name"), parenttype=self.doctype, parentfield=key)
		if not value.get("idx"):
			value.__dict__["idx"] = len(self.__dict__.get(key) or ()) + 1
		if not value.get("name"):
			value.__dict__["__islocal"] = 1
			value.__dict__["__unsaved"] = 1
		return value

	def init_valid_columns(self):
		"""Every column and child table has a value, if only None."""
		own = self.__dict__
		for key in self.meta.valid_columns:
			if key not in own:
				own[key] = None
		if own["docstatus"] is None:
			self.docstatus = 0
		if own["idx"] is None:
			own["idx"] = 0
		for key in self._table_fieldnames:
			if own.get(key) is None:
				own[key] = []

	def is_new(self):
		return self.get("__islocal")

	def get_all_children(self, parenttype: str | None = None) -> list:
		return [
			row
			for fieldname, child_doctype in self._table_fieldnames.items()
			if not parenttype or child_doctype == parenttype
			for row in self.__dict__.get(fieldname) or ()
		]

	# --- as dict ---

	def get_valid_dict(
		self, sanitize=True, convert_dates_to_str=False, ignore_nulls=False, ignore_virtual=False
	) -> _dict:
		"""The columns of the row, numbers as numbers."""
		row = _dict()
		for name in self.meta.valid_columns:
			value = self.__dict__.get(name)
			if field := self.meta.get_field(name):
				value = self._column_value(field, value)
			if convert_dates_to_str and hasattr(value, "isoformat"):
				value = str(value)
			if value is not None or not ignore_nulls:
				row[name] = value
		return row

	def _column_value(self, field, value):
		kind = field.fieldtype
		if isinstance(value, list):
			frappe.throw(frappe._("Value for {0} cannot be a list").format(frappe._(field.label)))
		if kind == "Check":
			return 1 if cint(value) else 0
		if kind == "Int" and not isinstance(value, int):
			return cint(value)
		if kind == "JSON" and isinstance(value, dict):
			return json.dumps(value, separators=(",", ":"))
		if kind in float_like_fields and not isinstance(value, float):
			return flt(value)
		if (kind in datetime_fields and value == "") or (field.unique and not cstr(value).strip()):
			return None
		return value

	def as_dict(
		self,
		no_nulls=False,
		no_default_fields=False,
		convert_dates_to_str=False,
		no_child_table_fields=False,
		no_private_properties=False,
	) -> _dict:
		values = self.get_valid_dict(convert_dates_to_str=convert_dates_to_str, ignore_nulls=no_nulls)
		values["doctype"] = self.doctype
		for fieldname in self._table_fieldnames:
			values[fieldname] = [
				row.as_dict(
					no_nulls=no_nulls,
					no_default_fields=no_default_fields,
					convert_dates_to_str=convert_dates_to_str,
					no_child_table_fields=no_child_table_fields,
					no_private_properties=no_private_properties,
				)
				for row in self.get(fieldname) or ()
			]
		dropped = (default_fields if no_default_fields else ()) + (
			child_table_fields if no_child_table_fields else ()
		)
		for key in dropped:
			values.pop(key, None)
		if not no_private_properties:
			values.update({key: self.__dict__[key] for key in PRIVATE if self.__dict__.get(key)})
		return values

	def as_json(self) -> str:
		return frappe.as_json(self.as_dict())

	# --- the row ---

	def db_insert(self, ignore_if_duplicate: bool = False):
		"""Write a new row, without checks and events."""
		from frappe.model.naming import set_new_name

		if not self.name:
			set_new_name(self)
		if not self.creation:
			self.creation = self.modified = now()
			self.owner = self.modified_by = frappe.session.user
		for _attempt in range(MAX_NAME_RETRIES):
			row = to_fields(self.doctype, self.get_valid_dict())
			columns = ", ".join(f"`{name}`" for name in row)
			marks = ", ".join("?" * len(row))
			try:
				frappe.db.execute(
					f"INSERT INTO `tab{self.doctype}` ({columns}) VALUES ({marks})", list(row.values())
				)
				break
			except frappe.db.IntegrityError as error:
				if not self._may_retry(error, ignore_if_duplicate):
					break
		self.set("__islocal", False)

	def _may_retry(self, error, ignore_if_duplicate: bool) -> bool:
		"""Retry if a random name is taken. Any other duplicate is an error, unless ignored."""
		if not frappe.db.is_unique_key_violation(error):
			raise error
		# MariaDB reports a taken name before any other duplicate, SQLite in the order of its indexes
		if not frappe.db.is_primary_key_violation(error) and not frappe.db.exists(self.doctype, self.name):
			self.show_unique_validation_message(error)
		if self.meta.autoname == "hash":
			self.name = frappe.generate_hash(length=10)
			return True
		if not ignore_if_duplicate:
			message = frappe._("{0} {1} already exists").format(
				frappe._(self.doctype), frappe.bold(self.name)
			)
			frappe.msgprint(message, title=frappe._("Duplicate Name"), indicator="red")
			raise frappe.DuplicateEntryError(self.doctype, self.name, error)
		return False

	def db_update(self):
		"""Write the row as it is now, without checks and events."""
		if self.get("__islocal") or not self.name:
			self.db_insert()
			return
		row = to_fields(self.doctype, self.get_valid_dict())
		name = cstr(row.pop("name"))
		assignments = ", ".join(f"`{column}` = ?" for column in row)
		try:
			frappe.db.execute(
				f"UPDATE `tab{self.doctype}` SET {assignments} WHERE name = ?", [*row.values(), name]
			)
		except frappe.db.IntegrityError as error:
			if frappe.db.is_unique_key_violation(error):
				self.show_unique_validation_message(error)
			raise

	def show_unique_validation_message(self, error):
		fieldname = str(error).rsplit(".", 1)[-1]
		label = self.meta.get_label(fieldname) if self.meta.has_field(fieldname) else fieldname
		frappe.msgprint(frappe._("{0} must be unique").format(frappe._(label)))
		raise frappe.UniqueValidationError(self.doctype, self.name, error)

	def get_password(self, fieldname: str = "password", raise_exception: bool = True) -> str | None:
		"""The secret of a Password field. Raises AuthenticationError if there is none."""
		from frappe.utils.password import get_decrypted_password

		value = self.get(fieldname)
		if value and not self.is_dummy_password(value):
			return value
		return get_decrypted_password(self.doctype, self.name, fieldname, raise_exception=raise_exception)

	def is_dummy_password(self, pwd: str) -> bool:
		return set(pwd) == {"*"}

	def __repr__(self):
		return f"<{type(self).__name__}: {self.get('name') or 'unsaved'}>"

	def __str__(self):
		return f"{type(self).__name__}({self.get('name') or 'unsaved'})"


def filter_rows(rows, filters: dict) -> list:
	"""Rows whose attributes equal the filters' values; a value may be [operator, value], True or False."""
	return [row for row in rows if all(row_matches(row.get(key), wanted) for key, wanted in filters.items())]


def row_matches(value, wanted) -> bool:
	if wanted is True or wanted is False:
		return bool(value) is wanted
	if isinstance(wanted, (list, tuple)):
		return TESTS[wanted[0]](value, wanted[1])
	return value == wanted


TESTS = {
	"=": lambda value, wanted: value == wanted,
	"!=": lambda value, wanted: value != wanted,
	"in": lambda value, wanted: value in wanted,
	"not in": lambda value, wanted: value not in wanted,
	">": lambda value, wanted: value is not None and value > wanted,
	"<": lambda value, wanted: value is not None and value < wanted,
	">=": lambda value, wanted: value is not None and value >= wanted,
	"<=": lambda value, wanted: value is not None and value <= wanted,
}
