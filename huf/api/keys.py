"""Keys and refusals as OpenAI's clients know them. Called for every request, so it looks at the path and imports little.

They send a key as Bearer, which Frappe takes for OAuth; Frappe's own word for a user's key and secret is token. What Frappe
refuses before a function is called gets OpenAI's form of an error.
"""

import json

import frappe
from werkzeug.wrappers import Response

PATH = "/api/method/huf.api.openai."
KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
CODES = {401: "invalid_api_key", 403: "permission_denied", 404: "not_found", 429: "rate_limit_exceeded"}
STATUSES = {405: 400, 417: 400}
NO_KEY = "Send the API key of a Frappe user: Authorization: Bearer <api key>:<api secret>."


def take_bearer_key() -> None:
	request = frappe.local.request
	kind, _, key = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
	if request.path.startswith(PATH) and kind.lower() == "bearer" and ":" in key:
		request.environ["HTTP_AUTHORIZATION"] = f"token {key.strip()}"


def word_refusal(response: Response | None = None, request=None) -> None:
	if response is None or response.status_code < 400 or not request.path.startswith(PATH):
		return
	if "error" in (response.get_json(silent=True) or {}):
		return
	guest = frappe.session.user in (None, "", "Guest") and response.status_code in (401, 403)
	status = 401 if guest else STATUSES.get(response.status_code, response.status_code)
	said = NO_KEY if guest else f"Frappe refused this request: {response.status}"
	response.status_code, response.content_type = status, "application/json"
	response.set_data(json.dumps(error_body(status, said)))


def as_error(status: int, message: str, code: str | None = None) -> Response:
	body = json.dumps(error_body(status, message, code), ensure_ascii=False)
	return Response(body, status=status, mimetype="application/json")


def error_body(status: int, message: str, code: str | None = None) -> dict:
	kind = KINDS.get(status) or ("invalid_request_error" if status < 500 else "server_error")
	return {"error": {"message": message, "type": kind, "param": None, "code": code or CODES.get(status)}}
