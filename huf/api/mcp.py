"""The endpoint of the Model Context Protocol: /mcp, and /mcp/SLUG for an MCP Server record.

A caller is a Frappe user, by API key (`Authorization: Bearer <api key>:<api secret>`, or Frappe's own
`token`) or by an OAuth token.
"""

import threading
from ipaddress import ip_address
from urllib.parse import urlsplit

import frappe
from werkzeug.wrappers import Response

from huf.ai.core.errors import UsageError
from huf.ai.core.json_text import MAX_VALUES, has_many_values
from huf.ai.mcp.server.servers import find_server
from huf.api.addresses import read_subpath
from huf.api.wire.json_body import SIGN_IN, json_response

ADDRESS = "/mcp"
METHODS = ["GET", "POST", "DELETE"]
FOREIGN_HOST = "This is not the site's address. Set host_name in site_config.json to the public address."


@frappe.whitelist(allow_guest=True, xss_safe=True, methods=METHODS)
def serve(**_):
	"""Answer one MCP request. Also at /mcp. Returns JSON, or server-sent events if the caller wants
	progress.
	"""
	request = frappe.local.request
	if frappe.session.user == "Guest":
		return Response(SIGN_IN, 401) if list_trusted_hosts(request) else Response(FOREIGN_HOST, 421)
	if request.method != "POST":
		# There are no streams without a request, and no sessions to end.
		return Response(status=405, headers={"Allow": "POST"})
	if has_many_values(list_validated(frappe.local.form_dict)):
		return json_response({"error": f"A request has at most {MAX_VALUES:,} values."}, 413)
	try:
		offer = find_server(read_subpath(ADDRESS))
	except UsageError as error:
		return json_response({"error": str(error)}, 404)
	# The SDK takes a fraction of a second to import.
	from huf.ai.mcp.server.http import create_mcp_app
	from huf.api.wire.asgi import respond

	app = create_mcp_app(offer, list_trusted_hosts(request), wants_progress(request))
	return respond(app, request, request.environ.get("huf.address", ADDRESS), threading.Event())


def list_validated(body: dict) -> list:
	"""What the SDK validates of a request: of a tool's call, not its arguments."""
	params = body.get("params")
	if body.get("method") != "tools/call" or not isinstance(params, dict):
		return [body]
	return [value for key, value in params.items() if key != "arguments"]


def list_trusted_hosts(request) -> list[str]:
	"""The request's host, if it is a name of this site or cannot be the result of DNS rebinding."""
	name = urlsplit(f"//{request.host}").hostname or ""
	conf = frappe.conf
	domains = [each.get("domain") if isinstance(each, dict) else each for each in conf.domains or ()]
	named = urlsplit(conf.host_name if "//" in (conf.host_name or "") else f"//{conf.host_name}").hostname
	is_own = name in ("localhost", frappe.local.site, named, *domains) or is_address(name)
	return [request.host] if is_own else []


def is_address(name: str) -> bool:
	try:
		return bool(ip_address(name))
	except ValueError:
		return False


def wants_progress(request) -> bool:
	body = request.get_json(silent=True)
	params = body.get("params") if isinstance(body, dict) else None
	meta = params.get("_meta") if isinstance(params, dict) else None
	return isinstance(meta, dict) and "progressToken" in meta
