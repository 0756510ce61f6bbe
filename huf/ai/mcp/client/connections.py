"""Uses MCP Server Connection records: refreshes them from their servers, and calls their tools.

A tool is called only in the form that a person accepted: the server's listing is read before each call, and a
tool whose description or schema has changed is held back.
"""

import shlex
from typing import Any

import frappe

from huf.ai.core.contacts import record_contact
from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import OutcomeUnknown, ToolError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.stored_text import clip
from huf.ai.core.types import Effect
from huf.ai.mcp.client import session, session_pool, store
from huf.ai.mcp.client.definitions import ToolDefinition
from huf.ai.mcp.client.session import ServerTarget, ToolChanged

CONNECTION = store.CONNECTION
COMMANDS_KEY = "huf_mcp_servers"
"""In site_config.json: {name: {command, args, env}}, as desktop MCP clients write it."""
MAX_SERVER_CHARS = 110
"""Limit for a server's name and version: with the protocol's revision they fit into a Data field."""
HELD_BACK = (
	"{tool} of {server} is held back until a Huf Manager accepts its changed description. It was not called."
)


def get_command(name: str | None) -> dict:
	"""A command of the site's configuration. Raises UsageError."""
	known = frappe.local.conf.get(COMMANDS_KEY) or {}
	if name not in known:
		raise UsageError(
			f"site_config.json has no {shlex.quote(name or '')} under {COMMANDS_KEY}. "
			"The site's administrator can add it."
		)
	return {key: known[name][key] for key in ("command", "args", "env", "cwd") if key in known[name]}


def make_target(doc: Any) -> ServerTarget:
	"""The target of a connection, with its credentials. Raises UsageError."""
	if doc.transport == "Command":
		record_contact("mcp", doc.command)
		return ServerTarget(doc.name, command=get_command(doc.command), timeout_s=doc.timeout or 30)
	return ServerTarget(
		doc.name,
		url=doc.url,
		headers=read_auth_headers(doc),
		auth=make_connection_auth(doc),
		allow_private=bool(doc.allow_private_hosts),
		timeout_s=doc.timeout or 30,
		max_bytes=doc.max_bytes or 2_000_000,
	)


def read_auth_headers(doc: Any) -> dict[str, str]:
	"""The HTTP headers that authenticate with a server, decrypted."""
	if doc.auth == "Bearer":
		return {"Authorization": f"Bearer {doc.get_password('bearer_token')}"}
	if doc.auth == "Headers":
		return {row.header: row.get_password("value") for row in doc.headers}
	return {}


def make_connection_auth(doc: Any) -> Any:
	"""An httpx2 Auth for servers that use OAuth, else None."""
	if doc.auth != "OAuth":
		return None
	from huf.ai.mcp.client import sign_in

	return sign_in.make_oauth_auth(doc)


async def call_connection_tool(connection: str, tool: str, arguments: dict) -> dict:
	"""Call a tool of a connection for the current run: {text, structured, left_out}. Raises ToolError, or
	OutcomeUnknown for one that may have changed something.
	"""
	doc = frappe.get_cached_doc(CONNECTION, connection)
	row = find_accepted(doc, tool)
	accepted = ToolDefinition.parse(row.definition)
	try:
		result = await session_pool.call_pooled(make_target(doc), accepted, arguments, name_owner())
	except UsageError as error:
		raise ToolError(str(error)) from None
	except OutcomeUnknown as error:
		if row.effect == Effect.READ.value:
			raise ToolError(error.reason) from None
		raise
	except ToolChanged as changed:
		store.write_tool(connection, tool, changed.offered, "Changed" if changed.offered else "Gone")
		raise
	if row.status == "Gone":
		try:
			store.write_tool(connection, accepted.name, accepted, "Accepted")
		except Exception:  # such as a lock; the call was made, and the next one tries again
			frappe.db.rollback()
	return result


def name_owner() -> tuple[str, ...]:
	"""Identifies the sessions that this call may use: by site, user and conversation."""
	run = frappe.flags.huf_run
	conversation = frappe.db.get_value("Agent Run", run, "conversation") if run else None
	return (frappe.local.site, frappe.session.user, conversation or run or "")


def find_accepted(doc: Any, tool: str) -> Any:
	"""The row of a tool that may be called. Raises ToolError."""
	if doc.disabled:
		raise ToolError(f"The MCP server {doc.name} is disabled. It was not called.")
	row = find_chosen(doc, tool)
	if row is None:
		raise ToolError(f"{tool} is no longer chosen in {doc.name}. It was not called.")
	if row.status == "Changed":
		raise ToolError(HELD_BACK.format(tool=tool, server=doc.name))
	return row


def find_chosen(doc: Any, tool: str) -> Any:
	"""The row of a chosen and accepted tool, or None."""
	return next((r for r in doc.tools if r.tool_name == tool and r.chosen and r.definition), None)


def refresh_connection(name: str) -> dict:
	"""Connect to the server and store its tools: {ok, server, error, faults}. Commits.

	Raises PermissionError where the user may not change the connection.
	"""
	doc = get_permitted(CONNECTION, name, "write")
	frappe.db.commit()
	try:
		offer = run_coroutine(session.read_offer(make_target(doc)))
	except (ToolError, UsageError) as error:
		store.write_state(name, state="Failed", error=str(error)[:1000])
		frappe.db.commit()
		return {"ok": False, "server": None, "error": str(error), "faults": []}
	server = store_offer(name, offer)
	return {"ok": True, "server": server, "error": None, "faults": list(offer.faults)}


def store_offer(name: str, offer: session.Offer) -> str:
	"""Store a server's tools and its description of itself, and return the latter. Commits."""
	server = f"{clip(offer.server, MAX_SERVER_CHARS)}, MCP {offer.protocol}"
	faults = "\n".join(offer.faults)[:1000] or None
	store.write_offered(name, list(offer.tools), state="Connected", server=server, error=faults)
	frappe.get_doc(CONNECTION, name).save()
	frappe.db.commit()
	return server
