from datetime import datetime, timezone

import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values
from huf.ai.core.stored_secrets import require_secret_again
from huf.ai.core.text_decoding import EMAIL_ADDRESS
from huf.ai.mail import oauth, store
from huf.ai.storage.outgoing_mail import (
	disable_email_account,
	find_other_account,
	find_replaced_account,
	save_email_account,
)

STATE_FIELDS = ("uidvalidity", "last_uid", "since", "last_sync", "last_error")
SIGN_IN_FIELDS = (
	*("connected_user", "connected_app", "email", "folder", "sent_folder"),
	*("imap_host", "imap_port", "imap_security", "imap_user"),
	*("smtp_host", "smtp_port", "smtp_security", "smtp_user"),
)
SENDING_FIELDS = ("email", "smtp_host", "smtp_port", "smtp_security", "smtp_user")
NOBODY = ("Guest",)


class AgentMailbox(Document):
	def before_insert(self):
		if self.take != "All of the inbox":
			# Mail servers tell the time of a mail in whole seconds.
			self.since = datetime.now(timezone.utc).replace(microsecond=0, tzinfo=None)

	def validate(self):
		self.keep_state()
		check_field_values(self)
		self.check_address()
		self.check_run_as()
		self.check_receiving()
		self.check_sending()
		require_secret_again(self, "imap_host", "imap_password")
		require_secret_again(self, "smtp_host", "smtp_password")
		self.check_sign_in()

	def on_update(self):
		# Without a token Frappe would refuse the Email Account: it is saved again after the sign-in.
		if self.smtp_host and (self.auth_method != oauth.OAUTH or oauth.is_signed_in(self)):
			save_email_account(self, self.get_password("smtp_password", raise_exception=False))
		elif not self.smtp_host:
			disable_email_account(self.name)

	def on_trash(self):
		disable_email_account(self.name)

	def keep_state(self):
		"""Keep the fetching state, which a worker may have written after this form was opened."""
		if before := self.get_doc_before_save():
			self.update({fieldname: before.get(fieldname) for fieldname in STATE_FIELDS})
			if any(self.has_value_changed(name) for name in ("imap_host", "imap_user", "folder")):
				self.uidvalidity, self.last_uid = None, 0

	def check_address(self):
		self.email = (self.email or "").strip().lower()
		for address in (self.email, *store.split_addresses(self.aliases)):
			if address and not EMAIL_ADDRESS.fullmatch(address):
				frappe.throw(_("{0} is not an address.").format(address))
		filters = {"email": self.email, "name": ["!=", self.name]}
		if other := frappe.db.get_value("Agent Mailbox", filters):
			frappe.throw(_("The mailbox {0} already has the address {1}.").format(other, self.email))

	def check_sign_in(self):
		"""A token goes only to servers that its user has chosen; others have to sign in again."""
		if self.auth_method != oauth.OAUTH:
			self.connected_app = self.connected_user = None
			return
		if not self.connected_app:
			frappe.throw(_("Choose the Connected App that this mailbox signs in with."))
		self.imap_password = self.smtp_password = None
		if self.connected_user != frappe.session.user and any(map(self.has_value_changed, SIGN_IN_FIELDS)):
			self.connected_user = None

	def check_run_as(self):
		"""Anybody can write to a mailbox, so only the user whose permissions are used, or a System Manager,
		may choose them.
		"""
		if not self.run_as:
			frappe.throw(_("Choose Run As: the user with whose permissions agents answer this mailbox."))
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

	def check_receiving(self):
		"""Only a System Manager lets agents read the mail of an Email Account, maybe another person's."""
		if self.imap_host:
			self.email_account = None
		elif self.has_value_changed("email") or self.has_value_changed("imap_host"):
			self.email_account = find_other_account(self)
		if not self.has_value_changed("email_account"):
			return
		self.last_error = None
		if self.email_account and "System Manager" not in frappe.get_roles():
			text = _(
				"{0} is the address of the Email Account {1}. Only a System Manager can make it a mailbox."
			)
			frappe.throw(text.format(self.email, self.email_account), frappe.PermissionError)

	def check_sending(self):
		"""Only a System Manager chooses the server for what the site itself sends, such as links to set
		passwords: who reads them can sign in as others.
		"""
		if not self.smtp_host or "System Manager" in frappe.get_roles():
			return
		is_changed = any(map(self.has_value_changed, SENDING_FIELDS))
		if account := find_replaced_account(self, is_changed):
			text = _(
				"The site sends mail by the Email Account {0}. Only a System Manager can replace its server."
			)
			frappe.throw(text.format(account), frappe.PermissionError)
