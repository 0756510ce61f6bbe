from datetime import datetime, timezone

import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.stored_secrets import require_secret_again
from huf.ai.mail import store

STATE_FIELDS = ("uidvalidity", "last_uid", "since", "last_sync", "last_error")
NOBODY = ("Guest",)


class AgentMailbox(Document):
	def before_insert(self):
		if self.take != "All of the inbox":
			self.since = datetime.now(timezone.utc).replace(tzinfo=None)

	def validate(self):
		self.keep_state()
		self.check_address()
		self.check_run_as()
		require_secret_again(self, "imap_host", "imap_password")
		require_secret_again(self, "smtp_host", "smtp_password")

	def on_update(self):
		if self.smtp_host:
			store.save_email_account(self, self.get_password("smtp_password", raise_exception=False))

	def keep_state(self):
		"""Keep the fetching state, which a worker may have written after this form was opened."""
		if before := self.get_doc_before_save():
			self.update({fieldname: before.get(fieldname) for fieldname in STATE_FIELDS})
			if any(self.has_value_changed(name) for name in ("imap_host", "imap_user", "folder")):
				self.uidvalidity, self.last_uid = None, 0

	def check_address(self):
		self.email = (self.email or "").strip().lower()
		filters = {"email": self.email, "name": ["!=", self.name]}
		if other := frappe.db.get_value("Agent Mailbox", filters):
			frappe.throw(_("The mailbox {0} already has the address {1}.").format(other, self.email))

	def check_run_as(self):
		"""Anybody can write to a mailbox, so only the user whose permissions are used, or a System Manager,
		may choose them.
		"""
		if self.run_as in NOBODY or not frappe.db.get_value("User", self.run_as, "enabled"):
			frappe.throw(_("Agents cannot act as {0}, who is not an enabled user.").format(self.run_as))
		user = frappe.session.user
		if (
			self.has_value_changed("run_as")
			and self.run_as != user
			and "System Manager" not in frappe.get_roles(user)
		):
			frappe.throw(
				_("Only a System Manager may choose another user. Choose yourself."),
				frappe.PermissionError,
			)
