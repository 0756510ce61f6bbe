from datetime import datetime, timezone

import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.mail import store

STATE = ("uidvalidity", "last_uid", "since", "last_sync", "last_error")
NOBODY = ("Guest",)


class AgentMailbox(Document):
	def before_insert(self):
		if self.take != "All of the inbox":
			self.since = datetime.now(timezone.utc).replace(tzinfo=None)

	def validate(self):
		self.keep_state()
		self.check_address()
		self.check_run_as()

	def on_update(self):
		if self.smtp_host:
			store.keep_account(self, self.get_password("smtp_password", raise_exception=False))

	def keep_state(self):
		"""How far it was read is not undone by a form that was opened before."""
		if before := self.get_doc_before_save():
			self.update({fieldname: before.get(fieldname) for fieldname in STATE})
			if any(self.has_value_changed(name) for name in ("imap_host", "imap_user", "folder")):
				self.uidvalidity, self.last_uid = None, 0

	def check_address(self):
		self.email = (self.email or "").strip().lower()
		filters = {"email": self.email, "name": ["!=", self.name]}
		if other := frappe.db.get_value("Agent Mailbox", filters):
			frappe.throw(_("{0} has the address {1} already.").format(other, self.email))

	def check_run_as(self):
		"""Strangers write to a mailbox: whose permissions its agents get is chosen by who has them, or may give any."""
		if self.run_as in NOBODY or not frappe.db.get_value("User", self.run_as, "enabled"):
			frappe.throw(_("{0} cannot be who agents act as: it is no enabled user.").format(self.run_as))
		user = frappe.session.user
		if (
			self.has_value_changed("run_as")
			and self.run_as != user
			and "System Manager" not in frappe.get_roles(user)
		):
			frappe.throw(
				_("Only a System Manager may have agents act as somebody else. Choose yourself."),
				frappe.PermissionError,
			)
