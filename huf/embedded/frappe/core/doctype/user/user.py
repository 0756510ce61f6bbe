"""A person, or an API client, that can log in."""

import frappe
from frappe.model.document import Document
from frappe.utils.data import cint
from frappe.utils.password_strength import check_password_strength


class User(Document):
	def autoname(self):
		self.email = (self.email or "").strip().lower()
		self.name = self.email

	def validate(self):
		self.full_name = " ".join(filter(None, (self.first_name, self.middle_name, self.last_name)))
		self.remove_duplicate_roles()
		self.set_user_type()
		self._new_password, self.new_password = self.new_password, ""
		if self._new_password and not self.flags.ignore_password_policy:
			names = (self.first_name, self.middle_name, self.last_name)
			check_password_strength(self._new_password, *names, self.email, self.birth_date)

	def set_user_type(self):
		"""Who has a role with desk access is a System User; so is a new user that was given no role."""
		if self.name in frappe.STANDARD_USERS or (self.is_new() and not self.roles):
			return
		names = [row.role for row in self.roles]
		has_desk_access = names and frappe.db.exists("Role", {"name": ["in", names], "desk_access": 1})
		self.user_type = "System User" if has_desk_access else "Website User"

	def remove_duplicate_roles(self):
		first = {row.role: row for row in reversed(self.roles)}
		for row in list(self.roles):
			if not row.role or first[row.role] is not row:
				self.remove(row)

	def on_update(self):
		from frappe.utils.password import update_password

		if self._new_password and not self.is_dummy_password(self._new_password):
			update_password(self.name, self._new_password, logout_all_sessions=cint(self.logout_all_sessions))
		if not cint(self.enabled) and self.name in frappe.STANDARD_USERS:
			frappe.throw(frappe._("User {0} cannot be disabled").format(self.name))

	def on_trash(self):
		if self.name in frappe.STANDARD_USERS:
			frappe.throw(frappe._("User {0} cannot be deleted").format(self.name))
		frappe.db.delete("DocShare", {"user": self.name})
		frappe.db.delete("User Permission", {"user": self.name})

	def add_roles(self, *roles):
		"""Give the user roles, and save."""
		present = {row.role for row in self.roles}
		for role in roles:
			if role not in present:
				self.append("roles", dict(role=role))
		self.save(ignore_permissions=True)
