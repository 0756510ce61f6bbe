"""A person, or an API client, that can log in."""

import frappe
from frappe import password_reset
from frappe.auth import MAX_PASSWORD_CHARS, MAX_USER_CHARS, get_home
from frappe.model.document import Document
from frappe.sessions import clear_sessions
from frappe.utils.data import cint, cstr
from frappe.utils.password_strength import check_password_strength


class User(Document):
	def autoname(self):
		self.email = cstr(self.email).strip().lower()
		self.name = self.email

	def validate(self):
		self.full_name = " ".join(filter(None, (self.first_name, self.middle_name, self.last_name)))
		self.remove_duplicate_roles()
		self.set_user_type()
		self._new_password, self.new_password = cstr(self.new_password), ""
		if self._new_password and not self.flags.ignore_password_policy:
			names = (self.first_name, self.middle_name, self.last_name)
			check_password_strength(self._new_password, *names, self.email, self.birth_date)

	def set_user_type(self):
		"""Users with a role that has desk access are System Users; so are new users without roles."""
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
			self.reset_password_key = None
		if not cint(self.enabled):
			if self.name in frappe.STANDARD_USERS:
				frappe.throw(frappe._("User {0} cannot be disabled").format(self.name))
			clear_sessions(self.name)  # they would go on once the account is enabled again

	def on_trash(self):
		if self.name in frappe.STANDARD_USERS:
			frappe.throw(frappe._("User {0} cannot be deleted").format(self.name))
		clear_sessions(self.name)
		frappe.db.delete("DocShare", {"user": self.name})
		frappe.db.delete("User Permission", {"user": self.name})

	def reset_password(self) -> str:
		"""A link by which a password can be set once; Frappe's options for a mail are missing."""
		return password_reset.make_link(self.name)

	def add_roles(self, *roles):
		"""Give the user roles, and save."""
		present = {row.role for row in self.roles}
		for role in roles:
			if role not in present:
				self.append("roles", dict(role=role))
		self.save(ignore_permissions=True)


@frappe.whitelist(allow_guest=True, methods=["POST"])
def reset_password(user: str):
	"""Mail a link for a new password to an account.

	The answer is the same whether there is such an account.
	"""
	if not password_reset.is_possible():
		frappe.throw(frappe._("This site sends no links for new passwords. Ask an administrator."))
	password_reset.count_request()
	password_reset.send_link_later(user.strip()[:MAX_USER_CHARS])
	message = frappe._(
		"If your email is registered with us, we have sent password reset instructions to it. "
		"Please check your inbox."
	)
	frappe.msgprint(message, title=frappe._("Password Email Sent"))


@frappe.whitelist(allow_guest=True, methods=["POST"], xss_safe=True)
def update_password(new_password: str, key: str):
	"""Set the password by the key of a mailed link, end the user's sessions and begin one.

	Returns the address of the page to open. By the old password, as Frappe allows here too, the profile page
	changes it.
	"""
	if len(new_password) > MAX_PASSWORD_CHARS:
		frappe.throw(frappe._("Password size exceeded the maximum allowed size"))
	user = password_reset.set_password(key, new_password)
	if not user:
		frappe.local.response["http_status_code"] = 410
		return frappe._("The reset password link has either been used before or is invalid")
	frappe.local.login_manager.login_as(user)
	return get_home()
