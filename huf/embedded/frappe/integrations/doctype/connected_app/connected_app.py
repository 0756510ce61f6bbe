"""An OAuth client for another service; users' tokens are in Token Cache."""

import os
from urllib.parse import urlencode, urljoin

import frappe
from frappe import _
from frappe.model.document import Document
from frappe.utils import get_url
from oauthlib.oauth2 import BackendApplicationClient
from requests_oauthlib import OAuth2Session

CALLBACK = "/api/method/frappe.integrations.doctype.connected_app.connected_app.callback/"
TIMEOUT_S = 30

# Read by oauthlib: allow http, and fewer scopes than requested.
if any((os.getenv("CI"), frappe.conf.developer_mode, frappe.conf.allow_tests)):
	os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
os.environ["OAUTHLIB_RELAX_TOKEN_SCOPE"] = "1"


def is_on_site(address: str) -> bool:
	from frappe.www.login import get_safe_path

	return bool(get_safe_path(address.removeprefix(get_url().rstrip("/"))))


class ConnectedApp(Document):
	def validate(self):
		self.redirect_uri = urljoin(get_url(), CALLBACK + self.name)

	def get_oauth2_session(self, user: str | None = None, init: bool = False) -> OAuth2Session:
		"""A session with the user's token, which it renews; with `init`, without a token, to begin a
		sign-in.
		"""
		more = {}
		if not init:
			cache = self.get_user_token(user or frappe.session.user)
			credentials = {"client_id": self.client_id, "client_secret": self.get_password("client_secret")}
			more = {
				"token": cache.get_json(),
				"token_updater": cache.update_data,
				"auto_refresh_url": self.token_uri,
				"auto_refresh_kwargs": credentials,
			}
		return OAuth2Session(
			client_id=self.client_id, redirect_uri=self.redirect_uri, scope=self.get_scopes(), **more
		)

	@frappe.whitelist()
	def initiate_web_application_flow(self, user: str | None = None, success_uri: str | None = None) -> str:
		"""The URL at which a user grants access. The callback redirects to `success_uri`. Commits."""
		user = user or frappe.session.user
		if user != frappe.session.user:
			self.check_permission("write")
		if success_uri and not is_on_site(success_uri):
			frappe.throw(frappe._("The sign-in must lead back to this site"))
		session = self.get_oauth2_session(user, init=True)
		address, state = session.authorization_url(self.authorization_uri, **self.get_query_params())
		cache = self.get_token_cache(user) or frappe.get_doc(
			{"doctype": "Token Cache", "user": user, "connected_app": self.name}
		)
		cache.update({"success_uri": success_uri, "state": state})
		cache.save(ignore_permissions=True)
		frappe.db.commit()
		return address

	def get_user_token(self, user: str | None = None, success_uri: str | None = None):
		"""The user's Token Cache; without one, the sign-in URL, to which the request is redirected."""
		user = user or frappe.session.user
		if cache := self.get_token_cache(user):
			return cache
		address = self.initiate_web_application_flow(user, success_uri)
		redirect(address)
		return address

	def get_token_cache(self, user: str):
		name = f"{self.name}-{user}"
		return frappe.get_doc("Token Cache", name) if frappe.db.exists("Token Cache", name) else None

	def get_scopes(self) -> list[str]:
		return [row.scope for row in self.scopes]

	def get_query_params(self) -> dict[str, str]:
		return {row.key: row.value for row in self.query_parameters}

	def get_active_token(self, user: str | None = None):
		"""The user's Token Cache, renewed if it has expired; None without one that is valid."""
		user = user or frappe.session.user
		cache = self.get_token_cache(user)
		if not cache or not cache.is_expired():
			return cache
		try:
			body = f"redirect_uri={self.redirect_uri}"
			session = self.get_oauth2_session(user)
			token = session.refresh_token(token_url=self.token_uri, body=body, timeout=TIMEOUT_S)
		except Exception:  # as Frappe: whatever the server answers, the user must sign in again
			frappe.log_error("Token Refresh Error", reference_doctype=self.doctype, reference_name=self.name)
			return None
		return cache.update_data(token)

	def get_backend_app_token(self):
		"""The Token Cache of the app itself, which no user signs in to. Commits."""
		cache = self.get_token_cache("")
		if cache and not cache.is_expired():
			return cache
		cache = cache or frappe.get_doc({"doctype": "Token Cache", "connected_app": self.name})
		session = OAuth2Session(
			client=BackendApplicationClient(client_id=self.client_id, scope=self.get_scopes())
		)
		secret = self.get_password("client_secret")
		return cache.update_data(session.fetch_token(self.token_uri, client_secret=secret, timeout=TIMEOUT_S))


@frappe.whitelist(methods=["GET"], allow_guest=True)
def callback(code: str | None = None, state: str | None = None):
	"""The redirect URI: exchanges the code for tokens."""
	if frappe.session.user == "Guest":
		return redirect("/login?" + urlencode({"redirect-to": frappe.local.request.full_path}))
	path = frappe.local.request.path[1:].split("/")
	if len(path) != 4 or not path[3]:
		frappe.throw(_("Invalid Parameters."))
	app = frappe.get_doc("Connected App", path[3])
	cache = frappe.get_doc("Token Cache", f"{app.name}-{frappe.session.user}")
	if not state or state != cache.state:
		frappe.throw(_("Invalid token state! Check if the token has been created by the OAuth user."))
	if not code:
		reason = frappe.form_dict.get("error_description") or frappe.form_dict.get("error") or ""
		frappe.throw(_("The provider refused the sign-in. {0}").format(reason))
	token = app.get_oauth2_session(init=True).fetch_token(
		app.token_uri,
		code=code,
		client_secret=app.get_password("client_secret"),
		include_client_id=True,
		timeout=TIMEOUT_S,
		**app.get_query_params(),
	)
	cache.update_data(token)
	return redirect(cache.success_uri or get_url())


def redirect(address: str) -> None:
	frappe.local.response.update({"type": "redirect", "location": address})
