"""Finds the MCP server at an address, and what it offers to the session user.

Without an MCP Server record, /mcp offers every agent that the user may chat with and all knowledge that they
may search.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import frappe
from frappe.utils import get_url

from huf.ai.core.errors import UsageError
from huf.ai.runs import admission

SERVER = "MCP Server"
DEFAULT_SLUG = "default"
NEVER, IF_POSSIBLE, ALWAYS = "Never", "If Possible", "Always"
MISSING = "There is no MCP server at this address that you may use."


@dataclass(frozen=True)
class ServerOffer:
	"""What a server offers. `tools`: names of Agent Tool Function records, which run as tools of `agent`.

	`background`: whether calls become tasks (NEVER, IF_POSSIBLE, ALWAYS). `agents`, `sources` and `packs`:
	None means all that the user may use. `skills`: agents whose instructions every user of the server may
	read. `undo`: whether users may undo runs.
	"""

	name: str = "Huf"
	instructions: str | None = None
	agent: str | None = None
	tools: tuple[str, ...] = ()
	background: Mapping[str, str] = field(default_factory=dict)
	agents: tuple[str, ...] | None = None
	doctypes: tuple[str, ...] = ()
	sources: tuple[str, ...] | None = None
	packs: tuple[str, ...] | None = None
	skills: tuple[str, ...] = ()
	undo: bool = False


def find_server(slug: str) -> ServerOffer:
	"""The server at /mcp/SLUG, or at /mcp for "". Raises UsageError if there is none for this user."""
	name = frappe.db.get_value(SERVER, {"slug": slug or DEFAULT_SLUG})
	if name is None and slug in ("", DEFAULT_SLUG):
		return ServerOffer()
	doc = frappe.get_cached_doc(SERVER, name) if name else None
	if doc is None or not doc.enabled or not frappe.has_permission(SERVER, "read", doc=doc):
		raise UsageError(MISSING)

	def list_offers(offer_type: str) -> tuple[str, ...]:
		return tuple(row.offer for row in doc.offers if row.offer_type == offer_type)

	return ServerOffer(
		doc.server_name,
		doc.instructions,
		doc.agent,
		list_offers("Agent Tool Function"),
		{row.offer: row.background for row in doc.offers},
		list_offers("Agent"),
		list_offers("DocType"),
		list_offers("Knowledge Source"),
		list_offers("Agent Pack"),
		tuple(row.offer for row in doc.offers if row.offer_type == "Agent" and row.as_skill),
		bool(doc.offer_undo),
	)


def list_servers() -> list[dict]:
	"""{slug, name, url} of each server that the user may use. The server at /mcp comes first; its slug is
	"".
	"""
	rows = frappe.get_list(
		SERVER, {"enabled": 1}, ["slug", "server_name"], order_by="server_name asc", limit_page_length=0
	)
	names = {row.slug: row.server_name for row in rows}
	first = names.pop(DEFAULT_SLUG, "Huf")
	servers = [{"slug": "", "name": first, "url": get_url("/mcp")}]
	return servers + [
		{"slug": slug, "name": name, "url": get_url(f"/mcp/{slug}")} for slug, name in names.items()
	]


def list_agents(offer: ServerOffer) -> list:
	"""The offered Agent documents that the user may chat with, by name."""
	offered = {} if offer.agents is None else {"name": ["in", offer.agents]}
	return admission.list_usable_agents(frappe.session.user, {"allow_chat": 1, **offered})
