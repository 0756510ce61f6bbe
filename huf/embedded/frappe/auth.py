"""Authenticates requests: login, logout, the session cookie, the CSRF token, API keys.

A trusted proxy may name the user (proxies.py), and an app may by `auth_hooks`.  There is no other way to sign
in: no OAuth, no second factor, no session id in a URL.
"""

import base64
import datetime
import hmac
from urllib.parse import quote, unquote

import frappe
from frappe import _, proxies
from frappe.core.doctype.activity_log.activity_log import add_authentication_log
from frappe.login_attempts import api_secrets, logins
from frappe.sessions import delete_session, find_session, get_expiry_in_seconds, guest_session, start_session
from frappe.translate import find_browser_language
from frappe.utils.data import cint, now_datetime
from frappe.utils.password import check_password, get_decrypted_password

UNSAFE_HTTP_METHODS = frozenset(("POST", "PUT", "DELETE", "PATCH"))
MAX_USER_CHARS, MAX_PASSWORD_CHARS = 140, 512
LOGIN_PATHS = ("/api/method/login", "/api/v1/method/login", "/api/v2/method/login")
COOKIES = ("full_name", "user_id", "sid", "user_image", "system_user")


class CookieManager:
	"""The cookies of this answer."""

	def __init__(self):
		self.cookies: dict[str, dict] = {}
		self.to_delete: set[str] = set()

	def set_cookie(
		self, key, value, expires=None, secure=False, httponly=False, samesite="Lax", max_age=None
	):
		secure = secure or frappe.local.request.scheme == "https"
		options = {
			"expires": expires,
			"secure": secure,
			"httponly": httponly,
			"samesite": samesite,
			"max_age": max_age,
		}
		self.cookies[key] = {"value": quote(value or ""), **options}

	def delete_cookie(self, names):
		self.to_delete.update([names] if isinstance(names, str) else names)

	def flush_cookies(self, response):
		for key, options in self.cookies.items():
			if key not in self.to_delete:
				response.set_cookie(key, **options)
		yesterday = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)
		for key in self.to_delete:
			response.set_cookie(key, "", expires=yesterday)


class LoginManager:
	"""Makes `frappe.session` for this request: from the cookie, as Guest, or by a `login()`."""

	def __init__(self):
		self.user = self.full_name = self.user_type = None
		self.is_login = frappe.local.request.path in LOGIN_PATHS
		if self.is_login:
			frappe.local.session = guest_session()
			frappe.local.lang = find_browser_language() or frappe.local.lang
		else:
			self.resume()

	def login(self):
		"""Log in with the request's `usr` and `pwd`."""
		if frappe.local.request.method not in UNSAFE_HTTP_METHODS:
			frappe.throw(_("Not permitted"), frappe.PermissionError)
		user, password = frappe.form_dict.get("usr"), frappe.form_dict.pop("pwd", None)
		self.user = self.authenticate(user, password)
		self.post_login()

	def login_as(self, user: str):
		self.user = user
		self.post_login()

	def post_login(self):
		if frappe.get_request_header("Sec-Fetch-Site") == "cross-site":
			# A form of another site could sign the browser in to its author's account, where its user would
			# write and upload without noticing.
			frappe.throw(_("Invalid Request"), frappe.CSRFTokenError)
		check_place_and_hour(self.user)
		if old := frappe.local.request.cookies.get("sid"):
			delete_session(unquote(old))
		self.read_user()
		frappe.local.session = start_session(self.user, self.full_name, self.user_type)
		_run_hooks("on_login", self)
		self.answer("Logged In" if self.user_type == "System User" else "No App")
		add_authentication_log(_("{0} logged in").format(self.full_name), self.user)
		_run_hooks("on_session_creation", self)

	def resume(self):
		sid = unquote(frappe.local.request.cookies.get("sid", "Guest"))
		session = find_session(sid)
		if not session:
			frappe.local.response["session_expired"] = 1
			self.clear_cookies()
		frappe.local.session = session or guest_session()
		self.user = frappe.local.session.user
		self.read_user()
		self.take_user_of_proxy()
		self.set_cookies()

	def take_user_of_proxy(self):
		"""Begin a session for the user that an authenticating proxy has signed in."""
		named = proxies.read_user(frappe.local.request)
		if not named or frappe.get_request_header("Authorization"):
			return
		user = find_user(named[:MAX_USER_CHARS])
		if user in frappe.STANDARD_USERS or not frappe.db.get_value("User", user, "enabled"):
			fail(_("User disabled or missing"), user)
		if user != self.user:
			check_place_and_hour(user)
			self.user = user
			self.read_user()
			frappe.local.session = start_session(user, self.full_name, self.user_type)
			frappe.local.cookie_manager.to_delete.clear()
			add_authentication_log(_("{0} logged in").format(self.full_name), user)

	def authenticate(self, user: str | None, password: str | None) -> str:
		"""The user's name, if the password is right; AuthenticationError (401) or TooManyRequestsError (429)
		if not.
		"""
		if not (isinstance(user, str) and isinstance(password, str) and user and password):
			fail(_("Incomplete login details"))
		if len(user) > MAX_USER_CHARS or len(password) > MAX_PASSWORD_CHARS:
			fail(_("Password size exceeded the maximum allowed size"))
		name = find_user(user)
		with logins.attempt(name, known_address=frappe.db.get_value("User", name, "last_ip")):
			try:
				check_password(name, password)
			except frappe.AuthenticationError:
				fail(_("Invalid login credentials"), name)
			if not (name == "Administrator" or frappe.db.get_value("User", name, "enabled")):
				fail(_("User disabled or missing"), name)
		return name

	def logout(self, arg="", user: str | None = None):
		_run_hooks("on_logout", self)
		if frappe.session.sid != "Guest":
			delete_session(frappe.session.sid)
			add_authentication_log(_("{0} logged out").format(self.full_name), self.user, "Logout")
		self.clear_cookies()
		frappe.local.session = guest_session()
		self.user = "Guest"
		self.read_user()
		self.answer("No App")

	def clear_cookies(self):
		frappe.local.cookie_manager.delete_cookie(COOKIES)

	def read_user(self):
		fields = ["user_type", "full_name", "first_name", "user_image", "language"]
		row = frappe.db.get_value("User", self.user, fields, as_dict=True) or frappe._dict()
		self.full_name = row.full_name or row.first_name or self.user
		self.user_type, self.user_image = row.user_type or "Website User", row.user_image
		browser = find_browser_language() if self.user == "Guest" else None
		frappe.local.lang = row.language or browser or frappe.local.lang

	def answer(self, message: str):
		"""What login and logout say: where to go, and who one is now."""
		home = "/login" if self.user == "Guest" else get_home()
		frappe.local.response.update(message=message, home_page=home, full_name=self.full_name)
		self.set_cookies()

	def set_cookies(self):
		manager = frappe.local.cookie_manager
		manager.set_cookie("sid", frappe.session.sid, max_age=get_expiry_in_seconds(), httponly=True)
		manager.set_cookie("system_user", "yes" if self.user_type == "System User" else "no")
		for key, value in (
			("full_name", self.full_name),
			("user_id", self.user),
			("user_image", self.user_image),
		):
			manager.set_cookie(key, value)


def get_home() -> str:
	"""The address of the installed app's own page, `/app` if it has none."""
	screens = frappe.get_hooks("add_to_apps_screen")
	return next((screen["route"] for screen in screens if screen.get("route")), "/app")


def fail(message: str, user: str | None = None):
	"""Refuse a login. A name that is no account is not recorded: people type passwords there."""
	if user:
		known = user if frappe.db.exists("User", user) else _("Unknown User")
		add_authentication_log(message, known, status="Failed")
	frappe.local.response["message"] = message
	raise frappe.AuthenticationError


def check_place_and_hour(user: str):
	"""Refuse a sign-in that the User's fields do not allow. Addresses begin with a line of `restrict_ip`."""
	fields = ["restrict_ip", "login_after", "login_before"]
	places, after, before = frappe.db.get_value("User", user, fields) or ("", 0, 24)
	prefixes = tuple(
		place.strip() for place in (places or "").replace(",", "\n").split("\n") if place.strip()
	)
	if prefixes and not (frappe.local.request_ip or "").startswith(prefixes):
		fail(_("Access not allowed from this IP Address"), user)
	if not cint(after) <= now_datetime().hour < (cint(before) or 24):
		fail(_("Login not allowed at this time"), user)


def _run_hooks(event: str, manager: LoginManager):
	for hook in frappe.get_hooks(event):
		frappe.call(hook, login_manager=manager)


def find_user(user: str) -> str:
	"""The account somebody means by an email address or user name; the text itself if there is none."""
	name = frappe.db.get_value("User", {"name": user}) or frappe.db.get_value("User", {"username": user})
	return name or user


def validate_csrf_token():
	"""Refuse a changing request of a cookie's session without the session's token.

	Frappe begins to ask once the session has a token; `csrf_from_first_write: 0` in the site's configuration
	does so too.
	"""
	if frappe.local.request.method not in UNSAFE_HTTP_METHODS or frappe.conf.ignore_csrf:
		return
	is_lenient = frappe.conf.csrf_from_first_write == 0 and not frappe.session.data.csrf_token
	if frappe.session.user != "Guest" and not frappe.local.login_manager.is_login and not is_lenient:
		require_csrf_token()


def require_csrf_token():
	token = frappe.session.data.csrf_token or ""
	given = frappe.get_request_header("X-Frappe-CSRF-Token") or frappe.form_dict.pop("csrf_token", None) or ""
	if not token or not hmac.compare_digest(str(given).encode(), token.encode()):
		frappe.flags.disable_traceback = True
		frappe.throw(_("Invalid Request"), frappe.CSRFTokenError)


def validate_auth():
	"""Apply an `Authorization: token key:secret` header (or `Basic`), then the apps' `auth_hooks`.

	Raises AuthenticationError for invalid credentials.
	"""
	words = frappe.get_request_header("Authorization", "").split(" ")
	is_named = len(words) == 2
	if is_named and (pair := _key_and_secret(words[0].lower(), words[1])):
		form_dict = frappe.local.form_dict
		with api_secrets.attempt(pair[0]):
			user = check_api_key(*pair)
		frappe.set_user(user)
		frappe.local.form_dict = form_dict
	for hook in frappe.get_hooks("auth_hooks"):
		frappe.get_attr(hook)()
	if is_named and frappe.session.user == "Guest":
		raise frappe.AuthenticationError


def _key_and_secret(scheme: str, value: str) -> tuple[str, str] | None:
	if scheme == "basic":
		try:
			value = base64.b64decode(value).decode()
		except ValueError:  # also of base64 and UTF-8
			message = _("Failed to decode token, please provide a valid base64-encoded token.")
			frappe.throw(message, frappe.InvalidAuthorizationToken)
	elif scheme != "token":
		return None
	key, colon, secret = value.partition(":")
	return (key[:MAX_USER_CHARS], secret) if colon and key else None


def check_api_key(key: str, secret: str) -> str:
	"""The user of this key; takes the same time whether the key or the secret is wrong."""
	user = frappe.db.get_value("User", {"api_key": key, "enabled": 1})
	known = get_decrypted_password("User", user, "api_secret", raise_exception=False) if user else None
	if not hmac.compare_digest(secret.encode(), (known or "").encode()) or not known:
		raise frappe.AuthenticationError
	return user


@frappe.whitelist()
def get_logged_user() -> str:
	return frappe.session.user
