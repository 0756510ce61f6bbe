"""Signs a manager in at the MCP server of a connection by OAuth. Imports the SDK, so import it on use."""

from typing import Any
from urllib.parse import urlsplit

import frappe
from frappe.utils import get_url

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.mcp.client import session
from huf.ai.mcp.client.http_transport import GuardedTransport
from huf.ai.mcp.client.oauth import OAuthClient, SignInNeeded, SignInProvider, exchange_code, make_provider
from huf.ai.mcp.client.session import ServerTarget
from huf.ai.mcp.client.store import CONNECTION, ConnectionVault

CALLBACK = "/api/method/huf.api.mcp_connection.callback"
CLIENT_METADATA = "/api/method/huf.api.mcp_connection.client_metadata"


def make_oauth_auth(doc: Any) -> Any:
	"""The `httpx2.Auth` of a connection with OAuth."""
	return make_provider(make_client(doc), ConnectionVault(doc.name), doc.grant == "Client Credentials")


def make_client(doc: Any) -> OAuthClient:
	metadata_url = get_url(CLIENT_METADATA)
	return OAuthClient(
		doc.url,
		redirect_uri=get_url(CALLBACK),
		client_id=doc.client_id,
		client_secret=doc.get_password("client_secret", raise_exception=False) if doc.client_id else None,
		scope=doc.scope,
		issuer=doc.issuer,
		# Authorization servers fetch this URL, so it must be public.
		metadata_url=metadata_url if urlsplit(metadata_url).scheme == "https" else None,
	)


def sign_in(doc: Any, target: ServerTarget) -> str | None:
	"""The URL where the person signs in; None if the server requires no sign-in. Raises UsageError."""
	vault = ConnectionVault(doc.name)
	if isinstance(target.auth, SignInProvider):
		# Otherwise the server would accept the stored tokens, and ask for no sign-in.
		target.auth.is_sign_in = target.auth.storage.hides_tokens = True
	try:
		run_coroutine(session.read_offer(target))
	except SignInNeeded as needed:
		# The tokens work until the person has signed in again, which they may not do.
		begun = vault.read()
		begun["pending"]["user"] = frappe.session.user
		vault.write(begun)
		return needed.url
	except ToolError as error:
		raise UsageError(str(error)) from None
	return None


def finish_sign_in(state: str, code: str, iss: str | None) -> str:
	"""Take an authorization server's answer; return the connection's name.

	Raises UsageError, PermissionError.
	"""
	for name in frappe.get_list(CONNECTION, {"auth": "OAuth"}, pluck="name", order_by="modified desc"):
		pending = ConnectionVault(name).read().get("pending") or {}
		# Another user's account would otherwise become that of the connection.
		if (pending.get("state"), pending.get("user")) == (state, frappe.session.user):
			break
	else:
		raise UsageError("This sign-in did not start here, or started too long ago. Start it again.")
	doc = get_permitted(CONNECTION, name, "write")
	provider = SignInProvider(make_client(doc), ConnectionVault(name))

	def make_guard() -> GuardedTransport:
		return GuardedTransport(bool(doc.allow_private_hosts), doc.max_bytes, doc.timeout)

	run_coroutine(exchange_code(provider, make_guard, code, state, iss))
	return name


def describe_client() -> dict:
	"""The Client ID Metadata Document of this site."""
	return {
		"client_id": get_url(CLIENT_METADATA),
		"client_name": "Huf",
		"redirect_uris": [get_url(CALLBACK)],
		"grant_types": ["authorization_code", "refresh_token"],
		"response_types": ["code"],
		"token_endpoint_auth_method": "none",
		"application_type": "web",
	}
