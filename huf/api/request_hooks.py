"""Request hooks for clients of OpenAI's API, AG-UI, MCP and A2A: read their keys and tokens, and rewrite
Frappe's refusals to the form that they expect.

These clients send a key as Bearer, which Frappe takes for OAuth; Frappe's scheme for a user's key and secret
is `token`. The hooks run for every request of the site, so they check the path first and import little.
"""

import json
from urllib.parse import quote

import frappe
from frappe.utils import get_url
from werkzeug.wrappers import Response

from huf.ai.core.request_values import parse_request_json
from huf.api.addresses import find_function
from huf.api.wire.openai_errors import error_body

OWN_PATH = "/api/method/huf."
PATHS = ("/api/method/huf.api.openai.", "/api/method/huf.api.response")
MCP_PATH = "/api/method/huf.api.mcp."
A2A_PATH = "/api/method/huf.api.a2a."
OAUTH_PATH = "/api/method/huf.api.mcp_oauth."
TOKEN_PATHS = (MCP_PATH, A2A_PATH)
TOKEN_PREFIX = "v1."
STATUSES = {405: 400, 417: 400}
INVALID_REQUEST, PARSE_ERROR = -32600, -32700
SIGNED_IN_PATHS = (
	"/api/method/huf.api.chat.route",
	"/api/method/huf.api.chat.agent_run",
	"/api/method/huf.api.chat.escalation_check",
	"/api/method/huf.api.agent.chat",
	"/api/method/huf.api.agent.stream",
	"/api/method/huf.api.copilotkit.",
)
WEBHOOK_PATHS = ("/api/method/huf.api.webhook.", "/agent/hook/")
PLAIN_PATHS = (*SIGNED_IN_PATHS, *WEBHOOK_PATHS)
"""Endpoints whose errors are {error, code, suggestion}."""
REFUSED = (
	"Frappe refused this request ({status}). Check its method and the user's permissions. With a cookie it "
	"needs the header X-Frappe-CSRF-Token; programs send an API key instead."
)
TOO_MANY = "Too many requests. Try again in a moment."
BROKEN_JSON = "The body is not valid JSON, or neither an object nor a list."
HALF_CHARACTER = (
	"The body has half of a character, such as \\ud83d without the second half of an emoji. "
	"It was probably cut off inside the character."
)
WRONG_KEY = (
	"This API key or token was not accepted. Check it, or make a new one; the form of a key is "
	"<api key>:<api secret>."
)
NO_KEY = "Send the API key of a Frappe user: Authorization: Bearer <api key>:<api secret>."
SIGN_IN = ("NOT_PERMITTED", "Sign in.")
PLAIN_KINDS = {401: SIGN_IN, 403: SIGN_IN, 429: ("TOO_MANY_REQUESTS", "Wait.")}


def take_bearer_key() -> None:
	"""before_request: rewrite `Bearer KEY:SECRET` to Frappe's `token KEY:SECRET`.

	A webhook's sender proves that it knows the secret; Frappe would refuse a user and password that it sends.
	"""
	request = frappe.local.request
	if request.path.startswith(WEBHOOK_PATHS):
		request.environ.pop("HTTP_AUTHORIZATION", None)
	elif request.path.startswith(OWN_PATH) and ":" in (key := read_bearer(request)):
		request.environ["HTTP_AUTHORIZATION"] = f"token {key.strip()}"


def read_bearer(request) -> str:
	"""What is sent as Bearer; "" if nothing is."""
	kind, _, sent = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
	return sent if kind.lower() == "bearer" else ""


def take_access_token() -> None:
	"""before_request: sign in the user of a token issued by this site for its MCP or A2A server.

	`rewrite_path` runs before it, so that no argument `cmd` names another function to run as this user.
	"""
	request = frappe.local.request
	token = read_bearer(request)
	if not token.startswith(TOKEN_PREFIX) or not request.path.startswith(TOKEN_PATHS):
		return
	from huf.ai.mcp.server.grants import find_token_user

	if user := find_token_user(token.strip(), get_url(request.environ.get("huf.address", "/mcp"))):
		form = frappe.local.form_dict
		frappe.set_user(user)
		frappe.local.form_dict = form
		# Frappe would refuse this token, which it does not know.
		del request.environ["HTTP_AUTHORIZATION"]


def name_sign_in(response: Response | None = None, request=None) -> None:
	"""after_request: tell programs that have not signed in to the MCP or A2A server where to do so."""
	if response is None or response.status_code != 401 or not request.path.startswith(TOKEN_PATHS):
		return
	is_a2a = request.path.startswith(A2A_PATH)
	resource = "/a2a" if is_a2a else request.environ.get("huf.address", "/mcp")
	metadata = get_url(f"/.well-known/oauth-protected-resource{quote(resource)}")
	# Newer versions of Frappe set this header after this hook, then apply `response_headers`.
	headers = getattr(frappe.local, "response_headers", response.headers)
	# Of a token that was sent, but is not accepted (RFC 6750).
	fault = ', error="invalid_token"' if request.headers.get("Authorization") else ""
	headers["WWW-Authenticate"] = f'Bearer resource_metadata="{metadata}", scope="mcp"{fault}'


def answer_parse_error(response: Response | None = None, request=None) -> None:
	"""after_request: answer invalid JSON with the error format of the endpoint that it was sent to.

	Frappe parses the body before it calls any hook or endpoint, and answers with its own error body.
	"""
	if response is None or response.status_code < 400 or response.status_code == 413:
		return
	if request.method != "POST" or not request.is_json:
		return
	text = request.get_data()  # empty where the address says it all, as in OpenAI's cancel
	fault = find_body_fault(text) if text else None
	if fault and (body := encode_refusal(find_endpoint(request), 400, fault, PARSE_ERROR)):
		response.status_code, response.content_type = 400, "application/json"
		response.set_data(json.dumps(body))


def find_endpoint(request) -> str:
	"""The request's path, rewritten: one that is refused for its body or CSRF token still has its original
	path.
	"""
	function = find_function(request.path)
	return f"/api/method/{function}" if function else request.path


def encode_refusal(path: str, status: int, message: str, code: int) -> dict | None:
	"""The error body of this endpoint; None where Frappe's form is right. `code`: of JSON-RPC."""
	if path.startswith(TOKEN_PATHS):
		return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
	if path.startswith(PATHS):
		return error_body(status, message)
	if path.startswith(OAUTH_PATH):
		return {"error": "invalid_client_metadata", "error_description": message}
	if path.startswith(PLAIN_PATHS):
		kind = PLAIN_KINDS.get(status, ("BAD_REQUEST", "Correct it."))
		return {"error": message, "code": kind[0], "suggestion": f"{kind[1]} Then send it again."}
	return None


def find_body_fault(text: bytes) -> str | None:
	"""Why Frappe does not read it; None if it is an object or a list, in UTF-8. NaN and its like are not
	JSON.
	"""
	try:
		value = parse_request_json(text.decode("utf-8-sig"))
		json.dumps(value, allow_nan=False)
	except UnicodeEncodeError:
		return HALF_CHARACTER
	except ValueError:
		return BROKEN_JSON
	return None if isinstance(value, dict | list) else BROKEN_JSON


def record_mcp_request(response: Response | None = None, request=None) -> None:
	"""after_request: record the outcome of MCP requests for the diagnosis, including Frappe's refusals."""
	if response is None or request.method != "POST" or not request.path.startswith(MCP_PATH):
		return
	from huf.api.mcp_diagnosis import record_exchange

	record_exchange(request, response)


def format_refusal(response: Response | None = None, request=None) -> None:
	"""after_request: rewrite Frappe's errors to the error body of the endpoint: at OpenAI's endpoints all,
	at others what refuses a request before the endpoint sees it.
	"""
	if response is None or response.status_code < 400:
		return
	path = find_endpoint(request)
	guest = frappe.session.user in (None, "", "Guest") and response.status_code in (401, 403)
	is_early = response.status_code in (400, 429) and path.startswith((*TOKEN_PATHS, *PLAIN_PATHS))
	is_unsigned = guest and path.startswith(SIGNED_IN_PATHS)
	has_wrong_key = response.status_code == 401 and "Authorization" in request.headers
	is_wrong = has_wrong_key and path.startswith(TOKEN_PATHS)
	if not (is_early or is_unsigned or is_wrong or path.startswith(PATHS)):
		return
	if "error" in (response.get_json(silent=True) or {}):
		return
	status = 401 if guest and not is_unsigned else STATUSES.get(response.status_code, response.status_code)
	missing = WRONG_KEY if request.headers.get("Authorization") else NO_KEY
	refused = TOO_MANY if status == 429 else REFUSED.format(status=response.status)
	if body := encode_refusal(path, status, missing if guest else refused, INVALID_REQUEST):
		response.status_code, response.content_type = status, "application/json"
		response.set_data(json.dumps(body))
