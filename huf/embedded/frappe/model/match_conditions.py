"""Which rows of a list the user may see: by role, owner, User Permission, hooks, shares and parent."""

import frappe
from frappe import permissions, share


def list_sql(values) -> str:
	"""Quoted texts for `in (...)`, which finds nothing for none."""
	return ", ".join(frappe.db.escape(value, percent=False) for value in values) or "NULL"


class MatchConditions:
	"""The part of `DatabaseQuery` that restricts its rows to the user's."""

	def add_match_conditions(self):
		"""Restrict rows to those that the user may see, by role, owner, User Permission, hooks and shares."""
		rights = permissions.get_role_permissions(self.meta, user=self.user)
		if self.meta.istable:
			self.add_parent_conditions()
		may_read = self.meta.istable or rights.get("read") or rights.get("select")
		if not may_read:
			self.conditions.append(self.shared_condition())
			return
		matches, is_narrowed = [], False
		if permissions.requires_owner_constraint(rights):
			matches.append(f"{self.table}.owner = {frappe.db.escape(self.user, percent=False)}")
			is_narrowed = True
		elif user_permissions := permissions.get_user_permissions(self.user):
			matches = self.user_permission_conditions(user_permissions)
			is_narrowed = bool(matches)
		if hooked := self.hooked_conditions():
			matches.append(hooked)
		if not matches:
			return
		condition = " AND ".join(matches)
		if is_narrowed and (shared := share.get_shared(self.doctype, self.user)):
			condition = f"({condition}) OR {self.name_in(shared)}"
		self.conditions.append(f"({condition})")

	def shared_condition(self) -> str:
		shared = share.get_shared(self.doctype, self.user)
		if not shared:
			message = frappe._("No permission to read {0}").format(frappe._(self.doctype))
			frappe.throw(message, frappe.PermissionError)
		return self.name_in(shared)

	def name_in(self, names) -> str:
		return f"{self.table}.name IN ({list_sql(names)})"

	def user_permission_conditions(self, user_permissions) -> list[str]:
		conditions = []
		links = [
			(field.options, field.fieldname)
			for field in self.meta.link_fields
			if not field.ignore_user_permissions
		]
		for doctype, fieldname in [*links, (self.doctype, "name")]:
			allowed = permissions.get_allowed_docs_for_doctype(
				user_permissions.get(doctype, ()), self.doctype
			)
			if allowed:
				column = f"{self.table}.`{fieldname}`"
				conditions.append(f"(ifnull({column}, '') = '' OR {column} IN ({list_sql(allowed)}))")
		return conditions

	def hooked_conditions(self) -> str:
		hooks = frappe.get_hooks("permission_query_conditions", {})
		methods = [*hooks.get(self.doctype, ()), *hooks.get("*", ())]
		found = [
			frappe.apps.call(frappe.get_attr(method), self.user, doctype=self.doctype) for method in methods
		]
		return " AND ".join(f"({condition})" for condition in found if condition)

	def permitted_names(self, doctype: str) -> str:
		"""SQL of the names of another DocType's documents that the user may see; "" for all."""
		if self.ignore_permissions or self.user == "Administrator":
			return ""
		query = type(self)(doctype, self.user)
		query.meta, query.ignore_permissions = frappe.get_meta(doctype), False
		query.add_match_conditions()
		return (
			f"SELECT name FROM {query.table} WHERE {' AND '.join(query.conditions)}"
			if query.conditions
			else ""
		)

	def add_parent_conditions(self):
		"""Rows of a child DocType: only those of its parents, in tables that the user may read."""
		parent = self.parent_doctype
		if not parent or self.user == "Administrator":
			return
		meta = frappe.get_meta(parent)
		levels = meta.get_permlevel_access("read", user=self.user)
		tables = [
			field.fieldname
			for field in meta.get_table_fields()
			if field.options == self.doctype and field.permlevel in (0, *levels)
		]
		self.conditions.append(f"{self.table}.parenttype = {frappe.db.escape(parent, percent=False)}")
		self.conditions.append(f"{self.table}.parentfield IN ({list_sql(tables)})")
		if permitted := self.permitted_names(parent):
			self.conditions.append(f"{self.table}.parent IN ({permitted})")
