"""Signs in to mail servers by OAuth (XOAUTH2): known providers, and the token of the user who signed in.

Frappe's Connected App does the sign-in and renews the token, and its Token Cache keeps it.
"""

from copy import deepcopy
from typing import Any

import frappe
from frappe import _

from huf.ai.core.errors import UsageError
from huf.ai.mail.inbox import InboxError

APP = "Connected App"
OAUTH = "OAuth"


class SignInError(InboxError):
	"""Nobody has signed in to the mail provider, or the sign-in has expired."""


PROVIDERS: dict[str, dict[str, Any]] = {
	"Microsoft 365": {
		"authorization_uri": "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
		"token_uri": "https://login.microsoftonline.com/common/oauth2/v2.0/token",
		"scopes": [
			{"scope": "https://outlook.office.com/IMAP.AccessAsUser.All"},
			{"scope": "https://outlook.office.com/SMTP.Send"},
			{"scope": "offline_access"},
		],
	},
	"Gmail": {
		"authorization_uri": "https://accounts.google.com/o/oauth2/v2/auth",
		"token_uri": "https://oauth2.googleapis.com/token",
		"scopes": [{"scope": "https://mail.google.com/"}],
		# Without them the provider returns no refresh token.
		"query_parameters": [
			{"key": "access_type", "value": "offline"},
			{"key": "prompt", "value": "consent"},
		],
	},
}
"""Values of their Connected Apps."""


def make_app(provider: str):
	"""Return the provider's Connected App, or create it; the client's ID and secret are entered later.

	Raises PermissionError for a user who may not create one.
	"""
	known = PROVIDERS.get(provider)
	if not known:
		raise UsageError(_("{0} is not a known provider. Create a Connected App for it.").format(provider))
	if name := frappe.db.get_value(APP, {"provider_name": provider}):
		return frappe.get_doc(APP, name)
	# Frappe modifies the rows that it receives.
	values = deepcopy({"doctype": APP, "provider_name": provider, **known})
	return frappe.get_doc(values).insert()


def begin_sign_in(mailbox, success_uri: str) -> str:
	"""Make the mailbox use the token of the session's user; returns the provider's address. Commits."""
	app = frappe.get_doc(APP, mailbox.connected_app)
	if not app.client_id:
		raise UsageError(
			_("The Connected App {0} has no client ID. Enter it first.").format(app.provider_name)
		)
	if mailbox.connected_user != frappe.session.user:
		mailbox.connected_user = frappe.session.user
		mailbox.save()
	return app.initiate_web_application_flow(success_uri=success_uri)


def read_token(mailbox) -> str | None:
	"""A valid access token, renewed if it has expired (waits for the provider and commits); None if the
	mailbox does not use OAuth. Raises SignInError.
	"""
	if mailbox.auth_method != OAUTH:
		return None
	user = mailbox.connected_user
	cache = frappe.get_doc(APP, mailbox.connected_app).get_active_token(user) if user else None
	token = cache.get_password("access_token", raise_exception=False) if cache else None
	if not token:
		raise SignInError(
			_("Nobody is signed in to {0}. Sign in on the Mailboxes page.").format(mailbox.email)
		)
	return token


def is_signed_in(mailbox) -> bool:
	filters = {
		"connected_app": mailbox.connected_app,
		"user": mailbox.connected_user,
		"token_type": ["is", "set"],
	}
	return bool(mailbox.connected_user and frappe.db.exists("Token Cache", filters))


def xoauth2_string(user: str, token: str) -> str:
	"""The initial response of XOAUTH2, before it is encoded in base64."""
	return f"user={user}\1auth=Bearer {token}\1\1"
