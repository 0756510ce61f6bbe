"""An account for sending mail, with a password or a token of a Connected App."""

import frappe
from frappe.model.document import Document


class EmailAccount(Document):
	def validate(self):
		if self.auth_method == "OAuth":
			self.password = None

	def get_oauth_token(self):
		"""The Token Cache to sign in with; None without OAuth, or until its user signs in again."""
		if self.auth_method != "OAuth":
			return None
		app = frappe.get_doc("Connected App", self.connected_app)
		return (
			app.get_backend_app_token()
			if self.backend_app_flow
			else app.get_active_token(self.connected_user)
		)
