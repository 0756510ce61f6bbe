"""The WSGI application: one request, one `frappe.local`, one database connection.

Changing verbs commit, GET and HEAD roll back, exceptions roll back.  The context lives until the body of
the answer is closed, so that a generator that streams may still use the database.
"""

import json
import os
import re
import sqlite3
import sys
import traceback
from contextlib import ExitStack
from itertools import chain

import frappe
import frappe.api
import frappe.handler
from frappe import proxies
from frappe.auth import (
	LOGIN_PATHS,
	UNSAFE_HTTP_METHODS,
	CookieManager,
	LoginManager,
	validate_auth,
	validate_csrf_token,
)
from frappe.database.faults import describe_fault
from frappe.request_limits import count_request, end_request
from frappe.sessions import touch
from frappe.utils.error import try_to_log_error
from frappe.utils.response import (
	as_json,
	download_private_file,
	report_error,
	send_site_file,
	send_upload,
)
from frappe.website.page import error_page
from frappe.website.serve import get_response
from werkzeug.exceptions import HTTPException, NotFound, RequestEntityTooLarge
from werkzeug.utils import redirect, safe_join
from werkzeug.wrappers import Request, Response
from werkzeug.wsgi import ClosingIterator

_site = "huf.localhost"
_sites_path = "."

MAX_BODY_BYTES = 25 * 1024 * 1024
HASHED_NAME = r"[-.](?=[\w-]*[0-9A-Z_])[\w-]{8}\.\w+$"
NO_CACHE = "no-store,no-cache,must-revalidate,max-age=0"
LOGIN_BODY_BYTES = 16 * 1024
GUEST_BODY_BYTES = 2_000_000
HSTS = "max-age=31536000"
CONTENT_SECURITY_POLICY = "; ".join(
	(
		"default-src 'self'",
		"script-src 'self'",
		"style-src 'self' 'unsafe-inline'",
		"img-src 'self' data: blob:",
		"media-src 'self' data: blob:",
		"font-src 'self' data:",
		"object-src 'none'",
		"base-uri 'self'",
		"form-action 'self'",
		"frame-ancestors 'self'",
	)
)
"""Forbids inline scripts, eval, and resources from other sites."""

HEADERS = {
	"Content-Security-Policy": CONTENT_SECURITY_POLICY,
	"X-Content-Type-Options": "nosniff",
	"X-Frame-Options": "SAMEORIGIN",
	"Referrer-Policy": "same-origin",
	"Cache-Control": NO_CACHE,
}


def application(environ, start_response):
	with ExitStack() as ending:
		ending.callback(frappe.destroy)
		ending.callback(end_request, environ)
		# Avoids a reference cycle between the request and its environment, which would keep its body until a
		# garbage collection.
		response = respond(Request(environ, populate_request=False))
		body = response(environ, start_response)
		ending.callback(body.close)
		# `chain` hides the body's own `close`, so that it is called once.
		return ClosingIterator(chain(body), ending.pop_all().close)


def respond(request: Request) -> Response:
	try:
		init_request(request)
		response = dispatch(request)
		sync_database(request)
	except Exception as error:  # the request's outermost function: any exception becomes a response
		response = handle_exception(error)
	return finish(request, response)


def init_request(request: Request):
	"""Open the site, sign the user in and parse the arguments."""
	frappe.init(_site, sites_path=_sites_path, force=True)
	frappe.local.request = request
	frappe.local.request_ip = proxies.read_address(request)
	proxies.take_scheme(request)
	if is_static(request.path):
		return
	frappe.connect(set_admin_as_user=False)
	is_login = request.path in LOGIN_PATHS
	frappe.local.cookie_manager = CookieManager()
	frappe.local.login_manager = LoginManager()
	request.max_content_length = LOGIN_BODY_BYTES if is_login else body_limit(request)
	is_unknown = frappe.session.user == "Guest" and len(request.get_data()) > GUEST_BODY_BYTES
	frappe.local.form_dict = frappe._dict(request.args.to_dict()) if is_unknown else read_form(request)
	if frappe.local.login_manager.is_login:
		frappe.local.login_manager.login()
	validate_csrf_token()
	for hook in frappe.get_hooks("before_request"):
		frappe.call(hook)
	validate_auth()
	if is_unknown:
		take_large_form(request)
	count_request()


def take_large_form(request: Request):
	"""Parse a large body only for somebody whom the request's header has signed in."""
	if frappe.session.user == "Guest":
		raise RequestEntityTooLarge
	frappe.local.form_dict = read_form(request)
	if request.path != "/":
		frappe.local.form_dict.pop("cmd", None)  # hooks that guard a path have not seen it


def body_limit(request: Request) -> int:
	"""Bytes; fewer for guests, because parsed JSON takes up to 24 times its size."""
	limit = int(frappe.conf.max_file_size or MAX_BODY_BYTES)
	is_guest = frappe.session.user == "Guest" and not request.headers.get("Authorization")
	return min(limit, GUEST_BODY_BYTES) if is_guest else limit


def read_form(request: Request):
	"""The request's arguments: a JSON object, or the query string overlaid with the form.

	The body is read whole first, so that endpoints can verify its signature.
	"""
	text = request.get_data()
	if not (text and request.is_json):
		return frappe._dict({**request.args.to_dict(), **request.form.to_dict()})
	try:
		# Strictly, since json.loads accepts bytes with unpaired surrogates.
		body = json.loads(text.decode("utf-8-sig"), parse_constant=refuse_constant)
		if b"\\u" in text:
			json.dumps(body, ensure_ascii=False).encode()  # raises for unpaired surrogates
	except (ValueError, RecursionError):
		frappe.throw(frappe._("Invalid request arguments"))
	if isinstance(body, list):
		return frappe._dict(data=body)
	if not isinstance(body, dict):
		frappe.throw(frappe._("Invalid request arguments"))
	return frappe._dict(body)


def refuse_constant(name: str):
	raise ValueError(f"{name} is not JSON")


def is_static(path: str) -> bool:
	return path.startswith(("/assets/", "/files/"))


def dispatch(request: Request) -> Response:
	path = request.path
	if request.method == "OPTIONS":
		return Response()
	if frappe.form_dict.cmd:
		return frappe.handler.handle() or as_json()
	if path.startswith("/api/"):
		return frappe.api.handle(request)
	if request.method in ("GET", "HEAD"):
		if path.startswith("/assets/"):
			return send_asset(path.removeprefix("/assets/"))
		if path.startswith("/files/"):
			return send_upload(frappe.get_site_path("public", "files"), path.removeprefix("/files/"))
		if path.startswith("/private/files/"):
			return download_private_file(path)
	if request.method in ("GET", "HEAD", "POST"):
		return get_response()
	raise NotFound


def send_asset(path: str) -> Response:
	"""A file of an app's `public` folder. Files with a hash in their names never change, so browsers cache
	them.
	"""
	app, _slash, name = path.partition("/")
	if app not in frappe.get_installed_apps():
		raise NotFound
	folder = frappe.get_app_path(app, "public")
	response = send_site_file(folder, find_compressed(folder, name))
	response.vary.add("Accept-Encoding")
	is_hashed = re.search(HASHED_NAME, name)
	response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if is_hashed else "no-cache"
	return response


def find_compressed(folder: str, name: str) -> str:
	"""The name of the precompressed file in an encoding that the client accepts, or `name`."""
	accepted = frappe.local.request.accept_encodings
	for encoding, suffix in (("br", ".br"), ("gzip", ".gz")):
		path = safe_join(folder, name + suffix)
		if encoding in accepted and path and os.path.isfile(path):
			return name + suffix
	return name


def sync_database(request: Request):
	if not frappe.db:
		return
	if request.method in UNSAFE_HTTP_METHODS or frappe.flags.commit:
		frappe.db.commit()
	else:
		frappe.db.rollback()
	touch()


def handle_exception(error: Exception) -> Response:
	"""Roll back and describe the error: as JSON for programs, as a page for people. Never raises."""
	try:
		roll_back()
		if isinstance(error, frappe.Redirect):
			return redirect(frappe.flags.redirect_location, error.http_status_code)
		if is_of_value := getattr(error, "is_of_value", False):
			frappe.msgprint(str(error))  # Frappe shows it in the traceback that it sends
		elif fault := describe_fault(error):
			error = frappe.StorageError(*fault)
			frappe.flags.error_message = str(error)
		response = answer_exception(error)
		if response.status_code >= 500 and not (is_of_value or fault):
			try_to_log_error(f"{frappe.local.request.method} {frappe.local.request.path}")
		return response
	except Exception:  # the last resort: a broken error page must not end the server's thread
		print(f"The answer to an error failed: {traceback.format_exc()}", file=sys.stderr)
		return Response("Something went wrong. See the server's output.\n", 500, mimetype="text/plain")


def answer_exception(error: Exception) -> Response:
	frappe.session.user = frappe.session.user or "Guest"
	status = error.code if isinstance(error, HTTPException) else getattr(error, "http_status_code", 500)
	response = report_error(error, status) if wants_json() else error_page(status, error)
	if status == 401 and hasattr(frappe.local, "login_manager"):
		frappe.local.login_manager.clear_cookies()
	return response


def roll_back():
	"""Roll the request's writes back; a broken connection is closed."""
	try:
		if frappe.db:
			frappe.db.rollback()
	except sqlite3.Error:
		frappe.db.close()
		frappe.local.db = None


def wants_json() -> bool:
	accept = frappe.get_request_header("Accept") or ""
	is_ajax = frappe.get_request_header("X-Requested-With") == "XMLHttpRequest"
	is_api = frappe.local.request.path.startswith("/api/") and not accept.startswith("text")
	return is_api or "application/json" in accept or bool(accept and is_ajax)


def finish(request: Request, response: Response) -> Response:
	for name, value in HEADERS.items():
		response.headers.setdefault(name, value)
	if request.is_secure:
		response.headers["Strict-Transport-Security"] = HSTS
	if hasattr(frappe.local, "cookie_manager"):
		frappe.local.cookie_manager.flush_cookies(response)
	for hook in frappe.get_hooks("after_request"):
		frappe.call(hook, response=response, request=request)
	return response
