"""An OAuth 2.0 authorization server on loopback, built with oauthlib: codes, expiring access tokens, refresh
tokens, and introspection for mail servers.
"""

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from oauthlib.oauth2 import RequestValidator, WebApplicationServer

CLIENT, SECRET = "huf-client", "a-secret-of-the-client"


class Grants(RequestValidator):
	"""Codes and tokens of the only client; its redirect URI is the first that it requests."""

	def __init__(self):
		self.redirect_uri: str | None = None
		self.codes: dict[str, dict] = {}
		self.tokens: dict[str, float] = {}
		"""{access token: expiry as `time.time()`}"""
		self.refresh_tokens: set[str] = set()
		self.refreshed = 0

	def validate_client_id(self, client_id, request, *args, **kwargs):
		request.client = self
		return client_id == CLIENT

	client_id = CLIENT

	def validate_redirect_uri(self, client_id, redirect_uri, request, *args, **kwargs):
		self.redirect_uri = self.redirect_uri or redirect_uri
		return redirect_uri == self.redirect_uri

	def validate_response_type(self, client_id, response_type, client, request, *args, **kwargs):
		return response_type == "code"

	def validate_scopes(self, client_id, scopes, client, request, *args, **kwargs):
		return bool(scopes)

	def save_authorization_code(self, client_id, code, request, *args, **kwargs):
		self.codes[code["code"]] = {"redirect_uri": request.redirect_uri, "scopes": request.scopes}

	def authenticate_client(self, request, *args, **kwargs):
		request.client = self
		return (request.client_id, request.client_secret) == (CLIENT, SECRET)

	def client_authentication_required(self, request, *args, **kwargs):
		return True

	def validate_code(self, client_id, code, client, request, *args, **kwargs):
		request.scopes = self.codes.get(code, {}).get("scopes")
		return code in self.codes

	def confirm_redirect_uri(self, client_id, code, redirect_uri, client, request, *args, **kwargs):
		return self.codes[code]["redirect_uri"] == redirect_uri

	def invalidate_authorization_code(self, client_id, code, request, *args, **kwargs):
		del self.codes[code]

	def validate_grant_type(self, client_id, grant_type, client, request, *args, **kwargs):
		return grant_type in ("authorization_code", "refresh_token")

	def validate_refresh_token(self, refresh_token, client, request, *args, **kwargs):
		return refresh_token in self.refresh_tokens

	def get_original_scopes(self, refresh_token, request, *args, **kwargs):
		return ["mail"]

	def save_bearer_token(self, token, request, *args, **kwargs):
		self.refreshed += request.grant_type == "refresh_token"
		self.tokens[token["access_token"]] = time.time() + token["expires_in"]
		self.refresh_tokens.add(token["refresh_token"])

	def is_valid(self, token: str) -> bool:
		return self.tokens.get(token, 0) > time.time()


class AuthorizationServer:
	"""Serves /authorize (a page with the button Allow), /token and /introspect under `url`, for one `user`.

	`expires_s` is the lifetime of new access tokens.
	"""

	def __init__(self, user: str, expires_s: int = 3600):
		self.user, self.expires_s, self.grants = user, expires_s, Grants()
		self.oauth = WebApplicationServer(self.grants, token_expires_in=lambda request: self.expires_s)
		self.http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"server_of": self}))
		self.url = f"http://127.0.0.1:{self.http.server_port}"

	def __enter__(self) -> "AuthorizationServer":
		# Without it oauthlib refuses http, here and in the site.
		os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
		threading.Thread(target=self.http.serve_forever, daemon=True).start()
		return self

	def __exit__(self, *_):
		self.http.shutdown()
		self.http.server_close()

	@property
	def settings(self) -> dict:
		"""Values of a Connected App."""
		return {
			"authorization_uri": f"{self.url}/authorize",
			"token_uri": f"{self.url}/token",
			"client_id": CLIENT,
			"client_secret": SECRET,
			"scopes": [{"scope": "mail"}],
		}

	def expire_tokens(self) -> None:
		self.grants.tokens.clear()

	def answer(self, method: str, path: str, body: str, headers: dict) -> tuple[int, dict, str]:
		"""(status, headers, body) of a request."""
		address = urlsplit(path)
		if address.path == "/introspect":
			token = body.partition("token=")[2].partition("&")[0]
			found = {"active": self.grants.is_valid(token), "username": self.user, "scope": "mail"}
			return 200, {"Content-Type": "application/json"}, json.dumps(found)
		if address.path == "/token":
			headers, text, status = self.oauth.create_token_response(self.url + path, method, body, headers)
			return status, headers, text
		if method == "GET":
			self.oauth.validate_authorization_request(self.url + path)
			form = f'<form method="post" action="{path.replace("&", "&amp;")}"><button>Allow</button></form>'
			return 200, {"Content-Type": "text/html"}, f"<h1>Mail for Huf</h1>{form}"
		headers, text, status = self.oauth.create_authorization_response(self.url + path, scopes=["mail"])
		return status, headers, text or ""


class Handler(BaseHTTPRequestHandler):
	server_of: AuthorizationServer

	def do_GET(self):
		body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
		status, headers, text = self.server_of.answer(self.command, self.path, body, dict(self.headers))
		self.send_response(status)
		for name, value in headers.items():
			self.send_header(name, value)
		self.end_headers()
		self.wfile.write(text.encode())

	do_POST = do_GET

	def log_message(self, *_):
		pass
