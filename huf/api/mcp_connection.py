"""Endpoints about MCP Server Connections, for people who configure agents."""

import json
from urllib.parse import quote

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.mcp.client import connections


@frappe.whitelist(methods=["POST"])
def refresh(connection: str):
	"""Test a connection and read its tools; see `huf.ai.mcp.client.connections.refresh_connection`."""
	return connections.refresh_connection(connection)


@frappe.whitelist(methods=["POST"])
def check(connection: str):
	"""Check a connection step by step; see `run_connection_check` in mcp/client/connection_check.py."""
	from huf.ai.mcp.client import connection_check

	return connection_check.run_connection_check(connection)


@frappe.whitelist(methods=["POST"])
def sign_in(connection: str):
	"""Begin a sign-in at the server by OAuth. Returns the URL to open, or None if the server requires no
	sign-in.
	"""
	from huf.ai.mcp.client import sign_in

	doc = get_permitted(connections.CONNECTION, connection, "write")
	return sign_in.sign_in(doc, connections.make_target(doc))


@frappe.whitelist(methods=["GET"])
def callback(state: str = "", code: str = "", iss: str | None = None, error: str = ""):
	"""The redirect URI for authorization servers. Redirects to the connection's page."""
	from huf.ai.mcp.client.sign_in import finish_sign_in

	if error or not code:
		raise UsageError(f"The sign-in was refused: {error[:200] or 'there is no code'}.")
	connection = finish_sign_in(state, code, iss)
	frappe.local.flags.redirect_location = f"/huf/records/{quote(connections.CONNECTION)}/{quote(connection)}"
	raise frappe.Redirect


@frappe.whitelist(methods=["GET"], allow_guest=True)
def client_metadata():
	"""The Client ID Metadata Document, for authorization servers that require no registration."""
	from werkzeug.wrappers import Response

	from huf.ai.mcp.client.sign_in import describe_client

	return Response(json.dumps(describe_client()), mimetype="application/json")
