"""Diagnoses why a program does not work with this site's MCP server, from requests that a hook records."""

import frappe
from werkzeug.wrappers import Response

from huf.ai.mcp.server import diagnosis
from huf.ai.mcp.server.servers import list_servers
from huf.api.addresses import read_subpath


@frappe.whitelist(methods=["GET"])
def diagnose(server: str = ""):
	"""The diagnosis for the session user's programs at /mcp/SERVER; see `mcp.server.diagnosis.diagnose`."""
	return diagnosis.diagnose(str(server))


@frappe.whitelist(methods=["GET"])
def get_servers():
	"""The servers that the session user can enter in a program: [{slug, name, url}]."""
	return list_servers()


def record_exchange(request, response: Response) -> None:
	user = frappe.session.user or diagnosis.GUEST
	diagnosis.record_request(read_subpath("/mcp"), user, describe_exchange(request, response))


def describe_exchange(request, response: Response) -> dict:
	"""The facts about a request that the diagnosis keeps, without contents."""
	body = request.get_json(silent=True)
	method = str(body.get("method", ""))[:40] if isinstance(body, dict) else ""
	reply = response.get_json(silent=True) if response.mimetype == "application/json" else None
	reply = reply if isinstance(reply, dict) else {}
	error, result = reply.get("error"), reply.get("result")
	return {
		"method": method,
		"status": response.status_code,
		"code": error.get("code") if isinstance(error, dict) else None,
		"is_error": bool(isinstance(result, dict) and result.get("isError")),
		"has_token": "Authorization" in request.headers,
	}
