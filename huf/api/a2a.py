"""The endpoint of A2A 1.0 and 0.3. Each agent has an address, /a2a/AGENT, with its card below it.

Callers sign in as at /mcp.
"""

import threading
from urllib.parse import quote

import frappe
from frappe.utils import get_url
from werkzeug.wrappers import Response

from huf.ai.core.json_text import MAX_VALUES, has_many_values
from huf.ai.runs import admission
from huf.api.wire.json_body import NOT_JSON, SIGN_IN, json_response

ADDRESS = "/a2a/"
CARD = "/.well-known/agent-card.json"
MAX_BODY_BYTES = 4 * 1024 * 1024
NOT_INSTALLED = "A2A is not installed on this site. Install it with: pip install 'huf[a2a]'"


@frappe.whitelist(allow_guest=True, xss_safe=True, methods=["GET", "POST"])
def serve(method=None, **_):
	"""Answer a JSON-RPC request of A2A, or return the agent's card. Returns JSON or server-sent events."""
	request = frappe.local.request
	if frappe.session.user == "Guest":
		return Response(SIGN_IN, 401)
	if request.method == "POST" and request.mimetype != "application/json":
		return Response(NOT_JSON, 415)
	if len(request.get_data()) > MAX_BODY_BYTES:
		return json_response({"error": f"A request has at most {MAX_BODY_BYTES:,} bytes."}, 413)
	if has_many_values(frappe.local.form_dict):
		return json_response({"error": f"A request has at most {MAX_VALUES:,} values."}, 413)
	address = request.environ.get("huf.address", "")
	name = address.removeprefix(ADDRESS).removesuffix(CARD)
	refusal = admission.find_admission_error(name, frappe.session.user, chat=True)
	if refusal is not None:
		return json_response({"error": refusal}, 404)
	agent = frappe.get_cached_doc("Agent", name)
	try:
		# The SDK takes a fraction of a second to import, and is optional.
		from huf.api.a2a_app import create_a2a_app
	except ModuleNotFoundError as error:
		if (error.name or "").partition(".")[0] not in ("a2a", "google"):
			raise
		return json_response({"error": NOT_INSTALLED}, 501)
	from huf.api.wire.asgi import respond

	if method and "/" not in str(method):
		# By the protocol, a request that names no version is of 0.3; but all methods of 0.3 have a slash.
		request.environ.setdefault("HTTP_A2A_VERSION", "1.0")
	path = CARD if address.endswith(CARD) else "/"
	left = threading.Event()
	app = create_a2a_app(agent, get_url(f"{ADDRESS}{quote(agent.name)}"), left)
	return respond(app, request, path, left)
