"""Serves the site over real HTTP to MCP clients.

HUF_MCP_URL names a running server of this site, such as `bench serve`; otherwise one is started here.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import frappe
import frappe.app
from werkzeug.serving import make_server

from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.factories import make, make_agent, make_tool, unique
from huf.tests.mcp_fixture import tools

SERVED_URL = os.environ.get("HUF_MCP_URL", "").rstrip("/")


def make_fixture_server() -> str:
	"""An MCP Server record with the tools of the suite; returns its slug."""
	offers = []
	for function in (*tools.SYNCHRONOUS, *tools.BACKGROUND):
		name = function.__name__
		if not frappe.db.exists("Agent Tool Function", name):
			path = f"{tools.__name__}.{name}"
			needs_approval = name == "confirm_delete"
			effect = "write" if needs_approval else "read"
			make_tool(
				"Custom Function",
				name,
				function_path=path,
				effect=effect,
				requires_approval=int(needs_approval),
			)
		offers.append(
			{
				"offer_type": "Agent Tool Function",
				"offer": name,
				"background": tools.BACKGROUND.get(function, "Never"),
			}
		)
	agent = make_agent(
		None, tuple(each["offer"] for each in offers), instructions="Call the tool that is asked for."
	)
	offers.append({"offer_type": "Agent", "offer": agent, "as_skill": 1})
	server = make("MCP Server", server_name=unique("Conformance"), agent=agent, offers=offers)
	frappe.db.commit()
	return server.slug


@contextmanager
def serve_site() -> Iterator[str]:
	"""The address of a server for requests with their own credentials."""
	if SERVED_URL:
		yield SERVED_URL
	else:
		with serve() as address:
			yield address


@contextmanager
def serve(user: str | None = None) -> Iterator[str]:
	"""The address of a server in this process; with `user`, requests without a key get this user's."""
	key = f"token {make_key(user)}:{SECRET}" if user else None
	frappe.app._site, frappe.app._sites_path = frappe.local.site, frappe.local.sites_path

	def application(environ, start_response):
		if key:
			environ.setdefault("HTTP_AUTHORIZATION", key)
		return frappe.app.application(environ, start_response)

	server = make_server("127.0.0.1", 0, application, threaded=True)
	thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
	thread.start()
	try:
		yield f"http://127.0.0.1:{server.server_port}"
	finally:
		server.shutdown()
		thread.join()
		server.server_close()
