"""The tokens that a user got from a Connected App."""

import datetime

import frappe
from frappe import _
from frappe.model.document import Document
from frappe.utils import cint, cstr, get_datetime, now_datetime

TOKEN_TYPES = {"bearer": "Bearer", "mac": "MAC"}


class TokenCache(Document):
	def get_auth_header(self) -> dict[str, str]:
		if self.access_token:
			return {"Authorization": "Bearer " + self.get_password("access_token")}
		raise frappe.DoesNotExistError

	def update_data(self, data: dict) -> "TokenCache":
		"""Store the answer of a token endpoint. Commits."""
		token_type = TOKEN_TYPES.get(cstr(data.get("token_type")).lower())
		if not token_type:
			frappe.throw(_("Received an invalid token type."))
		self.token_type = token_type
		self.access_token = cstr(data.get("access_token", ""))
		self.expires_in = cint(data.get("expires_in", 0))
		if "refresh_token" in data:
			self.refresh_token = cstr(data.get("refresh_token"))
		scopes = data.get("scope")
		scopes = scopes.split(" ") if isinstance(scopes, str) else scopes
		if scopes and isinstance(scopes, list):
			self.set("scopes", [{"scope": scope} for scope in scopes])
		self.state = None
		self.save(ignore_permissions=True)
		frappe.db.commit()
		return self

	def get_expires_in(self) -> int:
		"""Seconds that the access token is still valid."""
		expiry = get_datetime(self.modified) + datetime.timedelta(seconds=self.expires_in)
		return cint((expiry - now_datetime()).total_seconds())

	def is_expired(self) -> bool:
		return self.get_expires_in() < 0

	def get_json(self) -> dict:
		return {
			"access_token": self.get_password("access_token", False),
			"refresh_token": self.get_password("refresh_token", False),
			"expires_in": self.get_expires_in(),
			"token_type": self.token_type,
		}
