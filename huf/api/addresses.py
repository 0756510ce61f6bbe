"""The short addresses of other front ends, each led to a whitelisted function.

Frappe knows /api/method and /api/resource and takes everything else for a page. It calls the hook `before_request` before it
looks at the path, so there an address of the table becomes /api/method/<function>; the function's own rules hold: its verbs,
its guests, the CSRF token. Such a function answers with a Werkzeug Response, for a body without Frappe's `message`
around it. Nothing but the path is changed.
"""

import frappe

ADDRESSES: tuple[tuple[str, str], ...] = (
	("/api/chat/route", "huf.api.chat.route"),
	("/api/chat/agent-run", "huf.api.chat.agent_run"),
	("/api/chat/escalation-check", "huf.api.chat.escalation_check"),
	("/agent/chat", "huf.api.agent.chat"),
	("/agent/stream", "huf.api.agent.stream"),
	("/copilotkit/action", "huf.api.copilotkit.action"),
	("/copilotkit/stream", "huf.api.copilotkit.stream"),
	("/v1/models", "huf.api.openai.models"),
	("/v1/models/*", "huf.api.openai.models"),
	("/v1/chat/completions", "huf.api.openai.chat_completions"),
	("/v1/*", "huf.api.openai.unknown"),
)
"""(path, function); the first that fits counts. A path that ends in /* stands for all below it; its function finds the
whole path as `huf.address` in the environment of the request."""


def lead_to_function() -> None:
	request = frappe.local.request
	function = find_function(request.path)
	if function:
		request.environ["huf.address"] = request.path.rstrip("/")
		request.path = f"/api/method/{function}"
		request.environ["PATH_INFO"] = request.path


def find_function(path: str) -> str | None:
	"""The function for a path, with or without a slash at its end."""
	path = path.rstrip("/")
	return next((function for address, function in ADDRESSES if fits(address, path)), None)


def fits(address: str, path: str) -> bool:
	return path.startswith(address[:-1]) if address.endswith("/*") else path == address
