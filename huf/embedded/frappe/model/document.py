"""Documents: loaded, inserted, saved, submitted and deleted, with their events in Frappe's order."""

import frappe
from frappe.model.amendments import copy_attachments_from_amended_from, validate_amended_from
from frappe.model.base_document import BaseDocument
from frappe.model.create_new import get_new_doc
from frappe.model.docstatus import DocStatus
from frappe.model.document_checks import Checks
from frappe.model.document_events import Lifecycle
from frappe.types import _dict
from frappe.utils.data import cint, flt, now

CACHE_RELEVANT_INSERTS = {"DocType", "User", "Role", "User Permission"}
"""DocTypes whose new rows invalidate cached values of other documents; for the rest only changes and
deletions do.
"""


class Document(Lifecycle, Checks, BaseDocument):
	"""The base of all controllers."""

	def __init__(self, *args, **kwargs):
		"""A dict or keywords make a new document; a DocType and a name (or filters) load one."""
		self.__dict__.update(doctype=None, name=None, flags=_dict())
		if args and isinstance(args[0], str):
			self._load(args[0], *args[1:2], for_update=kwargs.get("for_update"))
			return
		values = args[0] if args else kwargs
		if not isinstance(values, dict) or not values:
			raise ValueError("Illegal arguments")
		super().__init__(values)
		self.init_valid_columns()

	def _load(self, doctype, name=None, *default, for_update=None):
		self.__dict__["doctype"] = doctype
		self.flags.for_update = for_update
		if isinstance(name, dict):
			filters, name = name, frappe.db.get_value(doctype, name, "name")
			if name is None:
				self._not_found(filters)
		self.__dict__["name"] = doctype if name is None and self.meta.issingle else name
		self.load_from_db()

	def _not_found(self, name):
		message = frappe._("{0} {1} not found").format(frappe._(self.doctype), name)
		frappe.throw(message, frappe.DoesNotExistError)

	# --- loading ---

	def load_from_db(self) -> "Document":
		"""Read the row and its child rows.  Raises DoesNotExistError."""
		if self.flags.for_update:
			frappe.db.begin()
		if self.meta.issingle:
			self._load_single()
		else:
			row = frappe.db.sql(
				f"SELECT * FROM `tab{self.doctype}` WHERE name = %s", (self.name,), as_dict=True
			)
			if not row:
				self._not_found(self.name)
			self.__dict__.update(row[0])
			self.__dict__.pop("__islocal", None)
		self.load_children_from_db()
		if hasattr(self, "__setup__"):
			self.__setup__()
		return self

	def _load_single(self):
		values = frappe.db.get_singles_dict(self.doctype) or get_new_doc(self.doctype, as_dict=True)
		values.update(doctype=self.doctype, name=self.doctype)
		values.pop("__islocal", None)
		self.update(values)
		self.init_valid_columns()
		self._fix_numeric_types()

	def load_children_from_db(self):
		for fieldname, child_doctype in self._table_fieldnames.items():
			rows = frappe.db.sql(
				f"SELECT * FROM `tab{child_doctype}` WHERE parent = %s AND parenttype = %s"
				" AND parentfield = %s ORDER BY idx",
				(self.name, self.doctype, fieldname),
				as_dict=True,
			)
			self.set(fieldname, rows)

	def reload(self) -> "Document":
		return self.load_from_db()

	def _fix_numeric_types(self):
		for field in self.meta.fields:
			value = self.get(field.fieldname)
			if field.fieldtype == "Check" or (field.fieldtype == "Int" and value is not None):
				self.set(field.fieldname, cint(value))
			elif field.fieldtype in ("Float", "Currency", "Percent") and value is not None:
				self.set(field.fieldname, flt(value))
		self.docstatus = self.get("docstatus")

	# --- permission ---

	def has_permission(self, permtype="read", *, debug=False, user=None) -> bool:
		from frappe import permissions

		return bool(self.flags.ignore_permissions) or permissions.has_permission(
			self.doctype, permtype, self, user=user
		)

	def check_permission(self, permtype="read", permlevel=None):
		if not self.has_permission(permtype):
			self.raise_no_permission_to(permtype)

	def raise_no_permission_to(self, perm_type):
		message = frappe._("You need the '{0}' permission on {1} {2} to perform this action.")
		frappe.flags.error_message = message.format(
			frappe._(perm_type), frappe.bold(frappe._(self.doctype)), self.name or ""
		)
		raise frappe.PermissionError

	def get_permlevel_access(self, permission_type="write") -> list[int]:
		return self.meta.get_permlevel_access(permission_type, self.get("parenttype"))

	def apply_fieldlevel_read_permissions(self):
		"""Drop the values above the user's permission level, of child rows too."""
		if frappe.session.user == "Administrator":
			return
		levels = None
		for row in (self, *self.get_all_children()):
			for field in row.meta.get_high_permlevel_fields():
				levels = self.get_permlevel_access("read") if levels is None else levels
				if field.permlevel not in levels:
					row.__dict__.pop(field.fieldname, None)

	# --- writing ---

	def insert(
		self,
		ignore_permissions=None,
		ignore_links=None,
		ignore_if_duplicate=False,
		ignore_mandatory=None,
		set_name=None,
		set_child_names=True,
	) -> "Document":
		"""Write a new document. Nothing is written if a check raises."""
		self._set_flags(
			ignore_permissions=ignore_permissions,
			ignore_links=ignore_links,
			ignore_mandatory=ignore_mandatory,
		)
		self.set("__islocal", True)
		self._set_defaults()
		self.set_user_and_timestamp()
		self.set_docstatus()
		self.load_doc_before_save()
		self.check_if_latest()
		self._validate_links()
		self.check_permission("create")
		self.run_method("before_insert")
		self.set_new_name(set_name=set_name, set_child_names=set_child_names)
		self.set_parent_in_children()
		self.validate_higher_perm_levels()
		self.flags.in_insert = True
		self.run_before_save_methods()
		self._validate()
		self.set_docstatus()
		self._write_new_rows(ignore_if_duplicate)
		self.run_method("after_insert")
		if self.get("amended_from"):
			validate_amended_from(self)
			copy_attachments_from_amended_from(self)
		self.run_post_save_methods()
		self.flags.in_insert = False
		self.__dict__.pop("__islocal", None)
		self.__dict__.pop("__unsaved", None)
		return self

	def _write_new_rows(self, ignore_if_duplicate):
		if self.meta.issingle:
			self.update_single(self.get_valid_dict())
			self.__dict__.pop("__islocal", None)
		else:
			self.db_insert(ignore_if_duplicate=ignore_if_duplicate)
		for row in self.get_all_children():
			row.db_insert()
		if self.doctype in CACHE_RELEVANT_INSERTS:
			frappe.db.versions.changed(self.doctype)

	def save(self, ignore_permissions=None, ignore_version=None) -> "Document":
		"""Write the changes; inserts if the document is new.  Raises TimestampMismatchError if it is not
		the latest.
		"""
		self._set_flags(ignore_permissions=ignore_permissions)
		self.flags.ignore_version = frappe.flags.in_test if ignore_version is None else ignore_version
		if self.get("__islocal") or not self.get("name"):
			return self.insert()
		self._set_defaults()
		self.load_doc_before_save()
		self.check_save_permission("write")
		self.set_user_and_timestamp()
		self.set_docstatus()
		self.check_if_latest()
		self.check_child_names()
		self.set_parent_in_children()
		self._name_new_children()
		self.validate_higher_perm_levels()
		self._validate_links()
		self.run_before_save_methods()
		if self._action != "cancel":
			self._validate()
		if self._action == "update_after_submit":
			self.validate_update_after_submit()
		self.set_docstatus()
		if self.meta.issingle:
			self.update_single(self.get_valid_dict())
		else:
			self.db_update()
		self.update_children()
		self.run_post_save_methods()
		self.__dict__.pop("__unsaved", None)
		return self

	def _set_flags(self, **flags):
		self.flags.update({key: value for key, value in flags.items() if value is not None})

	def _set_defaults(self):
		if self.is_new():
			self.update_if_missing(get_new_doc(self.doctype, as_dict=True))
		for fieldname, child_doctype in self._table_fieldnames.items():
			new_rows = [row for row in self.get(fieldname) or () if row.is_new()]
			if new_rows:
				defaults = get_new_doc(child_doctype, parent_doc=self, parentfield=fieldname, as_dict=True)
				for row in new_rows:
					row.update_if_missing(defaults)

	def set_user_and_timestamp(self):
		self._original_modified = self.modified
		self.modified, self.modified_by = now(), frappe.session.user
		if self.is_new():
			self.creation, self.owner = self.modified, self.modified_by
		for row in self.get_all_children():
			row.modified, row.modified_by = self.modified, self.modified_by
			row.owner = row.owner or self.owner
			row.creation = row.creation or self.creation
		if self.name:
			frappe.flags.currently_saving.append((self.doctype, self.name))

	def set_docstatus(self):
		for row in self.get_all_children():
			row.docstatus = self.docstatus

	def set_new_name(self, force=False, set_name=None, set_child_names=True):
		from frappe.model.naming import set_new_name, validate_name

		if self.flags.name_set and not force:
			return
		if set_name or (self.get("__newname") and (self.meta.autoname or "").lower() == "prompt"):
			self.name = validate_name(self.doctype, set_name or self.get("__newname"))
		else:
			set_new_name(self)
		if set_child_names:
			for row in self.get_all_children():
				set_new_name(row)
		self.flags.name_set = True

	def _name_new_children(self):
		from frappe.model.naming import set_new_name

		for row in self.get_all_children():
			if not row.name:
				set_new_name(row)

	def set_parent_in_children(self):
		for row in self.get_all_children():
			row.parent, row.parenttype = self.name, self.doctype

	def update_single(self, values: dict):
		frappe.db.execute("DELETE FROM `tabSingles` WHERE doctype = ?", (self.doctype,))
		frappe.db.set_single_value(self.doctype, {**values, "doctype": self.doctype}, update_modified=False)

	def update_children(self):
		"""Delete the child rows that are gone, write the others."""
		for fieldname, child_doctype in self._table_fieldnames.items():
			rows = self.get(fieldname) or []
			if child_doctype not in (self.flags.ignore_children_type or ()):
				kept = [row.name for row in rows if row.name and not row.is_new()]
				marks = ", ".join("?" * len(kept))
				frappe.db.execute(
					f"DELETE FROM `tab{child_doctype}` WHERE parent = ? AND parenttype = ?"
					f" AND parentfield = ? AND name NOT IN ({marks})",
					(self.name, self.doctype, fieldname, *kept),
				)
			for row in rows:
				row.db_update()

	def db_set(self, fieldname, value=None, update_modified=True, notify=False, commit=False):
		"""Write fields at once, without checks. Only on_change runs."""
		values = fieldname if isinstance(fieldname, dict) else {fieldname: value}
		self.update(values)
		if update_modified and (self.doctype, self.name) not in frappe.flags.currently_saving:
			self.modified, self.modified_by = now(), frappe.session.user
		if not self.get_doc_before_save():
			self.load_doc_before_save()
		self.run_method("before_change")
		if self.name is None:
			return
		stamp = dict(modified=self.modified, modified_by=self.modified_by, update_modified=update_modified)
		if self.meta.issingle:
			frappe.db.set_single_value(self.doctype, values, **stamp)
		else:
			frappe.db.set_value(self.doctype, self.name, values, **stamp)
		self.run_method("on_change")
		if commit:
			frappe.db.commit()

	@frappe.whitelist()
	def submit(self) -> "Document":
		self.docstatus = DocStatus.submitted()
		return self.save()

	@frappe.whitelist()
	def cancel(self) -> "Document":
		self.docstatus = DocStatus.cancelled()
		return self.save()

	def delete(self, ignore_permissions=False, force=False, *, delete_permanently=False):
		return frappe.delete_doc(
			self.doctype, self.name, ignore_permissions=ignore_permissions, flags=self.flags, force=force
		)

	@frappe.whitelist()
	def rename(self, name: str, merge=False, force=False, validate_rename=True):
		if getattr(frappe.local, "request", None):
			# The arguments may come from outside.
			force = False
		self.name = frappe.rename_doc(self.doctype, self.name, name, merge=merge, force=force)
		self.reload()

	# --- small questions ---

	def is_whitelisted(self, method_name: str):
		method = self.find_method(method_name)
		if not method:
			raise frappe.DoesNotExistError(f"Method {method_name} not found")
		frappe.is_whitelisted(getattr(method, "__func__", method))
