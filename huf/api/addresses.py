"""Short addresses for other front ends, each mapped to a whitelisted function.

Frappe serves /api/method and /api/resource and takes every other path for a page. The hook `before_request`
runs before Frappe reads the path, so it can rewrite an address of this table to /api/method/<function>. The
function's own rules apply: its HTTP methods, guest access, the CSRF token. It returns a Werkzeug Response,
because Frappe would wrap other values in `message`.
"""

import frappe

ADDRESSES: tuple[tuple[str, str], ...] = (
	("/api/chat/route", "huf.api.chat.route"),
	("/api/chat/agent-run", "huf.api.chat.agent_run"),
	("/api/chat/escalation-check", "huf.api.chat.escalation_check"),
	("/agent/chat", "huf.api.agent.chat"),
	("/agent/stream", "huf.api.agent.stream"),
	("/agent/approval", "huf.api.approval_link.answer"),
	("/copilotkit/action", "huf.api.copilotkit.action"),
	("/copilotkit/stream", "huf.api.copilotkit.stream"),
	("/v1/models", "huf.api.openai.models"),
	("/v1/models/*", "huf.api.openai.models"),
	("/v1/chat/completions", "huf.api.openai.chat_completions"),
	("/v1/responses", "huf.api.responses.create"),
	("/v1/responses/*", "huf.api.response_records.response"),
	("/v1/conversations", "huf.api.response_records.create_conversation"),
	("/v1/conversations/*", "huf.api.response_records.conversation"),
	("/v1", "huf.api.openai.unknown"),
	("/v1/*", "huf.api.openai.unknown"),
	("/.well-known/oauth-protected-resource/mcp", "huf.api.mcp_oauth.describe_resource"),
	("/.well-known/oauth-protected-resource/mcp/*", "huf.api.mcp_oauth.describe_resource"),
	("/.well-known/oauth-authorization-server/mcp-oauth", "huf.api.mcp_oauth.describe_server"),
	("/mcp-oauth/.well-known/oauth-authorization-server", "huf.api.mcp_oauth.describe_server"),
	("/mcp-oauth/consent", "huf.api.mcp_oauth.consent"),
	("/mcp-oauth/*", "huf.api.mcp_oauth.serve"),
	("/.well-known/oauth-protected-resource/a2a", "huf.api.mcp_oauth.describe_resource"),
	("/a2a/*", "huf.api.a2a.serve"),
	("/mcp", "huf.api.mcp.serve"),
	("/mcp/*", "huf.api.mcp.serve"),
)
"""(path, function); the first match counts.

A path that ends in /* matches everything below it; `read_subpath` returns what was below.
"""


OWN_PATHS = ("/api/method/huf.", "/agent/hook/")
"""Paths that name a function of Huf without the table."""


def rewrite_path() -> None:
	request = frappe.local.request
	function = find_function(request.path)
	if function or request.path.startswith(OWN_PATHS):
		# Frappe would run the function that an argument `cmd` names instead. Programs may send a field of
		# that name.
		form = frappe.local.form_dict
		form.pop("cmd", None)
	if function:
		request.environ["huf.address"] = request.path.rstrip("/")
		request.path = f"/api/method/{function}"
		request.environ["PATH_INFO"] = request.path


def read_subpath(prefix: str) -> str:
	"""The original address of the request below `prefix`, without slashes at its ends."""
	return frappe.local.request.environ.get("huf.address", prefix).removeprefix(prefix).strip("/")


def find_function(path: str) -> str | None:
	"""The function for a path, with or without a trailing slash."""
	path = path.rstrip("/")
	return next((function for address, function in ADDRESSES if matches(address, path)), None)


def matches(address: str, path: str) -> bool:
	return path.startswith(address[:-1]) if address.endswith("/*") else path == address
