"""Diagnoses MCP clients: which step fails (connect, authorize, list or call), and what to do.

Based on the client's last requests, which are cached without contents, and on what the user is offered.
"""

from typing import Any

import frappe
from frappe import _
from frappe.utils import get_url, now_datetime

from huf.ai.core.errors import UsageError
from huf.ai.mcp.server.servers import DEFAULT_SLUG, SERVER, ServerOffer, find_server
from huf.ai.mcp.server.tools import list_tools
from huf.ai.runs import admission
from huf.ai.storage.shared_values import share_value

MAX_REQUESTS = 20
LIFETIME_S = 24 * 3600
GUEST = "Guest"
SILENT = (
	"No request has arrived in the last day. Enter {url} in the program. Programs in the cloud reach only a "
	"public https address."
)
FOREIGN_HOST = "The program named a host that is not this site's. Set host_name to the public address."
NO_TOKEN = (
	"A program came without signing in. Choose OAuth in it, or add the header "
	"Authorization: Bearer <api key>:<api secret>."
)
BAD_TOKEN = (
	"A program's token was not accepted: it has expired, was revoked, or is for another address. Sign in "
	"again there."
)
NO_AGENT = "0 tools: no agent allows chat. Turn on Allow Chat for one, or make an MCP Server record."
NO_ROLE = "0 tools: no agent is open to you. Ask a Huf Manager for one of the roles that the agents name."
EMPTY = "0 tools: the MCP Server record {name} offers no agent and no tool. Add them under Offers."
CLOSED = "0 tools: nothing that {name} offers is open to you. Check the roles of its agents and tools."
NO_CALL = "No tool has been called in the last requests."
COUNT = "Tools that you are offered: {count}"
REFUSED = "The last call was refused with code {code}: list the tools again."
FAILED = "The tool reported an error; its run says why: /huf/runs"


def record_request(slug: str, user: str, request: dict[str, Any]) -> None:
	"""Cache the outcome of a request: {method, status, code, is_error, has_token}. For known servers only."""
	if slug and not frappe.db.exists(SERVER, {"slug": slug}):
		return
	kept = read_requests(slug, user)[1 - MAX_REQUESTS :]
	at = now_datetime().isoformat(" ", "seconds")
	share_value(make_diagnosis_key(slug, user), [*kept, {"at": at, **request}], LIFETIME_S)


def read_requests(slug: str, user: str) -> list[dict[str, Any]]:
	"""The cached requests, oldest first."""
	return frappe.cache.get_value(make_diagnosis_key(slug, user), expires=True) or []


def make_diagnosis_key(slug: str, user: str) -> str:
	return f"mcp_requests:{slug or DEFAULT_SLUG}:{user}"


def diagnose(slug: str) -> dict[str, Any]:
	"""{steps: [{step, ok, message}], requests: [{at, method, status, code, is_error}]} for the session user.

	`ok` is None for unknown steps.
	"""
	own, strange = read_requests(slug, frappe.session.user), read_requests(slug, GUEST)
	try:
		offer = find_server(slug)
	except UsageError as error:
		return {"steps": [step("connect", False, str(error))], "requests": own}
	steps = [
		check_connection(slug, own or strange),
		check_sign_in(own, strange),
		check_list(offer),
		check_call(own),
	]
	return {"steps": steps, "requests": own}


def step(name: str, ok: bool | None, message: str = "") -> dict[str, Any]:
	"""One step of the diagnosis; `ok` is None for unknown results."""
	return {"step": name, "ok": ok, "message": message}


def check_connection(slug: str, requests: list[dict]) -> dict[str, Any]:
	if not requests:
		return step("connect", None, _(SILENT).format(url=get_url(f"/mcp/{slug}".rstrip("/"))))
	is_foreign = requests[-1]["status"] in (403, 421)
	return step("connect", not is_foreign, _(FOREIGN_HOST) if is_foreign else "")


def check_sign_in(own: list[dict], strange: list[dict]) -> dict[str, Any]:
	if own or not strange:
		return step("authorize", bool(own) or None)
	return step("authorize", False, _(BAD_TOKEN if strange[-1]["has_token"] else NO_TOKEN))


def check_list(offer: ServerOffer) -> dict[str, Any]:
	count = len(list_tools(offer))
	return step("list", bool(count), _(COUNT).format(count=count) if count else explain_no_tools(offer))


def explain_no_tools(offer: ServerOffer) -> str:
	if offer.agents is None:
		return _(NO_ROLE if frappe.db.count("Agent", {"disabled": 0, "allow_chat": 1}) else NO_AGENT)
	if not offer.agents and not offer.tools:
		return _(EMPTY).format(name=offer.name)
	if offer.tools and offer.agent:
		refusal = admission.find_admission_error(offer.agent, frappe.session.user)
		if refusal is not None:
			return f"0 tools: {refusal}"
	return _(CLOSED).format(name=offer.name)


def check_call(own: list[dict]) -> dict[str, Any]:
	last = next((each for each in reversed(own) if each["method"] == "tools/call"), None)
	if last is None:
		return step("call", None, _(NO_CALL))
	if last["code"] is not None:
		return step("call", False, _(REFUSED).format(code=last["code"]))
	return step("call", not last["is_error"], _(FAILED) if last["is_error"] else "")
