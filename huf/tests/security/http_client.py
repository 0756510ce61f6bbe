"""Sends the requests of attacks to a served site, with the standard library only."""

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import quote, urlencode

Send = Callable[[str, str, str | None, Any], tuple[int, str]]
"""(method, path, credentials, JSON body or None) -> (status, text)."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
	def redirect_request(self, *_arguments):
		return None


def send_over_http(base: str) -> Send:
	opener = urllib.request.build_opener(NoRedirects)

	def send(method: str, path: str, person: str | None, body: Any) -> tuple[int, str]:
		headers = {"Accept": "application/json", "Content-Type": "application/json"}
		if person:
			headers["Authorization"] = f"token {person}"
		data = None if body is None else json.dumps(body).encode()
		request = urllib.request.Request(base + path.split("#")[0], data, headers, method=method)
		try:
			with opener.open(request, timeout=60) as answer:
				return answer.status, answer.read().decode("utf-8", "replace")
		except urllib.error.HTTPError as error:
			return error.code, error.read().decode("utf-8", "replace")

	return send


def take_admin_key(send: Send, base: str, user: str, password: str) -> str:
	"""Sign in as a System Manager; returns a new `key:secret`."""
	opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
	form = urlencode({"usr": user, "pwd": password}).encode()
	opener.open(f"{base}/api/method/login", form, timeout=60).close()
	page = opener.open(f"{base}/huf", timeout=60).read().decode()
	token = page.partition("csrf_token")[2].strip("\"': =").split('"')[0].split("'")[0]
	key, secret = secrets.token_hex(8), secrets.token_hex(12)
	body = json.dumps({"api_key": key, "api_secret": secret}).encode()
	headers = {"Content-Type": "application/json", "X-Frappe-CSRF-Token": token}
	request = urllib.request.Request(f"{base}/api/resource/User/{quote(user)}", body, headers, method="PUT")
	opener.open(request, timeout=60).close()
	return f"{key}:{secret}"
