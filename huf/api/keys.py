"""Request hooks for OpenAI's clients: reads their Bearer keys, and turns Frappe's refusals into OpenAI's
errors.

They send a key as Bearer, which Frappe takes for OAuth; Frappe's own scheme for a user's key and secret is
`token`. The hooks run for every request of the site, so they look at the path first and import little.
"""

import json

import frappe
from werkzeug.wrappers import Response

from huf.api.wire.openai_errors import error_body

PATHS = ("/api/method/huf.api.openai.", "/api/method/huf.api.response")
BEARER_PATHS = (*PATHS, "/api/method/huf.api.mcp.")
STATUSES = {405: 400, 417: 400}
NO_KEY = "Send the API key of a Frappe user: Authorization: Bearer <api key>:<api secret>."


def take_bearer_key() -> None:
	"""before_request: Frappe reads `Bearer KEY:SECRET` as its own `token KEY:SECRET`."""
	request = frappe.local.request
	kind, _, key = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
	if request.path.startswith(BEARER_PATHS) and kind.lower() == "bearer" and ":" in key:
		request.environ["HTTP_AUTHORIZATION"] = f"token {key.strip()}"


def format_refusal(response: Response | None = None, request=None) -> None:
	"""after_request: an error that Frappe raised before or in a function, as OpenAI's error body."""
	if response is None or response.status_code < 400 or not request.path.startswith(PATHS):
		return
	if "error" in (response.get_json(silent=True) or {}):
		return
	guest = frappe.session.user in (None, "", "Guest") and response.status_code in (401, 403)
	status = 401 if guest else STATUSES.get(response.status_code, response.status_code)
	message = NO_KEY if guest else f"Frappe refused this request: {response.status}"
	response.status_code, response.content_type = status, "application/json"
	response.set_data(json.dumps(error_body(status, message)))
