"""OAuth for MCP servers, by the SDK's providers. A person signs in with two requests of their browser.

`sign_in` leads to the authorization server, `finish_sign_in` takes its answer. The grant (client, tokens,
metadata) is stored as one secret of the connection.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode, urljoin

import httpx2
import mcp  # noqa: F401 (first as a whole, see huf.ai.core.sealed_tokens)
from mcp.client.auth import OAuthClientProvider, PKCEParameters
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import validate_authorization_response_iss
from mcp.shared.auth import (
	OAuthClientInformationFull,
	OAuthClientMetadata,
	OAuthMetadata,
	OAuthToken,
	ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.mcp.client.http_transport import GuardedTransport

SIGN_IN_TIMEOUT_S = 900
REFRESH_POLL_S = 0.1
"""How often a call looks for the tokens that another one refreshes."""
NOT_SIGNED_IN = "Nobody is signed in at this MCP server. A Huf Manager can sign in on its connection's page."


class Vault(Protocol):
	"""Storage of a grant, which is {} before a sign-in."""

	def read(self) -> dict: ...

	def write(self, grant: dict) -> None: ...

	def claim_refresh(self, refresh_token: str) -> bool:
		"""Whether the caller may use this token now: False if another call does, or has replaced it."""
		...


class SignInNeeded(ToolError):
	"""A person must sign in at the server. `url`: the page for it, if this call began the sign-in."""

	def __init__(self, url: str = ""):
		super().__init__(NOT_SIGNED_IN)
		self.url = url


@dataclass(frozen=True)
class OAuthClient:
	"""The client as configured in a connection; with an empty `client_id` it registers dynamically."""

	server_url: str
	redirect_uri: str = ""
	client_id: str | None = None
	client_secret: str | None = None
	scope: str | None = None
	issuer: str | None = None
	metadata_url: str | None = None

	@property
	def metadata(self) -> OAuthClientMetadata:
		return OAuthClientMetadata(
			client_name="Huf",
			redirect_uris=[AnyUrl(self.redirect_uri)],
			scope=self.scope or None,
			application_type="web",
		)


class GrantStorage:
	"""The SDK's token storage over a vault."""

	hides_tokens = False
	"""Whether the tokens are left out, while calls go on with the stored ones."""

	def __init__(self, vault: Vault, client: OAuthClient):
		self.vault, self.client = vault, client

	async def get_tokens(self) -> OAuthToken | None:
		tokens = None if self.hides_tokens else self.vault.read().get("tokens")
		return OAuthToken.model_validate(tokens) if tokens else None

	async def set_tokens(self, tokens: OAuthToken) -> None:
		expires_at = time.time() + tokens.expires_in if tokens.expires_in else None
		self.update(tokens=tokens.model_dump(mode="json"), expires_at=expires_at)

	async def get_client_info(self) -> OAuthClientInformationFull | None:
		configured = self.client
		if configured.client_id:
			return OAuthClientInformationFull(
				client_id=configured.client_id,
				client_secret=configured.client_secret or None,
				redirect_uris=[AnyUrl(configured.redirect_uri)],
				issuer=configured.issuer or None,
				token_endpoint_auth_method=self.choose_auth_method(),
			)
		known = self.vault.read().get("client")
		return OAuthClientInformationFull.model_validate(known) if known else None

	def choose_auth_method(self) -> str:
		"""How a configured secret is sent: as RFC 6749 prefers, unless the server says otherwise."""
		if not self.client.client_secret:
			return "none"
		metadata = self.vault.read().get("metadata") or {}
		supported = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
		return "client_secret_basic" if "client_secret_basic" in supported else "client_secret_post"

	async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
		self.update(client=client_info.model_dump(mode="json", exclude_none=True))

	def update(self, **values: Any) -> None:
		self.vault.write({**self.vault.read(), **values})


class SignInProvider(OAuthClientProvider):
	"""The authorization code flow, interrupted where a person is needed.

	Each call has a new session, so expiry and metadata come from the vault: an expired token is refreshed at
	its token endpoint instead of asking the person again. Of calls at once, one refreshes it: a refresh token
	may be good once, and a second use would end the grant.
	"""

	is_sign_in = False
	"""Whether a person is signing in. Calls that lack a token do not replace the state of their sign-in."""
	is_refreshing = False
	"""Whether the request for tokens that follows a 401 is a refresh."""

	def __init__(self, client: OAuthClient, vault: Vault):
		self.storage = GrantStorage(vault, client)
		super().__init__(
			client.server_url, client.metadata, self.storage, client_metadata_url=client.metadata_url
		)

	async def _initialize(self) -> None:
		await self.read_grant()
		await self.claim_refresh(lambda: not self.context.is_token_valid())

	async def claim_refresh(self, is_needed: Callable[[], bool]) -> bool:
		"""Wait until this call may refresh the token; False if it cannot be refreshed or need not be any
		more.
		"""
		while is_needed() and self.context.can_refresh_token():
			assert self.context.current_tokens
			if self.storage.vault.claim_refresh(self.context.current_tokens.refresh_token or ""):
				return True
			await asyncio.sleep(REFRESH_POLL_S)
			await self.read_grant()
		return False

	async def _perform_authorization(self) -> httpx2.Request:
		"""After a 401: refresh a token that the server has ended early. Raises SignInNeeded."""
		may_refresh = not self.is_sign_in and self.has_needed_scope()
		self.is_refreshing = may_refresh and await self.claim_refresh(lambda: True)
		return await (self._refresh_token() if self.is_refreshing else super()._perform_authorization())

	def has_needed_scope(self) -> bool:
		"""Whether the scope granted so far suffices: only a person can grant more."""
		needed, tokens = self.context.client_metadata.scope or "", self.context.current_tokens
		return tokens is not None and set(needed.split()) <= set((tokens.scope or needed).split())

	async def _handle_token_response(self, response: httpx2.Response) -> None:
		if not self.is_refreshing:
			await super()._handle_token_response(response)
		elif not await self._handle_refresh_response(response):
			raise SignInNeeded()

	async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
		try:
			return await super()._handle_refresh_response(response)
		finally:
			self.storage.update(refresh_until=None)

	async def read_grant(self) -> None:
		await super()._initialize()
		if self.storage.hides_tokens:
			return
		grant, context = self.storage.vault.read(), self.context
		context.token_expiry_time = grant.get("expires_at")
		if grant.get("metadata"):
			context.oauth_metadata = OAuthMetadata.model_validate(grant["metadata"])
		if grant.get("resource"):
			context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(grant["resource"])

	async def _perform_authorization_code_grant(self) -> tuple[str, str]:
		"""Interrupt the flow; for a person who signs in, store the state that the callback needs. Raises
		SignInNeeded.
		"""
		if not self.is_sign_in:
			raise SignInNeeded()
		context, pkce, state = self.context, PKCEParameters.generate(), secrets.token_urlsafe(32)
		assert context.client_info is not None
		redirect_uri = self.storage.client.redirect_uri
		query = {
			"response_type": "code",
			"client_id": context.client_info.client_id,
			"redirect_uri": redirect_uri,
			"state": state,
			"code_challenge": pkce.code_challenge,
			"code_challenge_method": "S256",
		}
		if context.should_include_resource_param(context.protocol_version):
			query["resource"] = context.get_resource_url()
		if scope := context.client_metadata.scope:
			query["scope"] = scope
			if "offline_access" in scope.split():
				query["prompt"] = "consent"
		metadata = context.oauth_metadata
		base = context.get_authorization_base_url(context.server_url)
		endpoint = str(metadata.authorization_endpoint) if metadata else urljoin(base, "/authorize")
		self.storage.update(
			metadata=dump_token(metadata),
			resource=dump_token(context.protected_resource_metadata),
			pending={
				"state": state,
				"verifier": pkce.code_verifier,
				"expires_at": time.time() + SIGN_IN_TIMEOUT_S,
				"redirect_uri": redirect_uri,
				"scope": scope,
				"protocol": context.protocol_version,
			},
		)
		raise SignInNeeded(f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}")

	async def exchange(self, http: httpx2.AsyncClient, code: str, state: str, iss: str | None) -> None:
		"""Exchange the authorization server's code for tokens. Raises UsageError, OAuthFlowError."""
		pending = self.storage.vault.read().get("pending") or {}
		expected, expires_at = pending.get("state") or "", pending.get("expires_at") or 0
		if not expected or not secrets.compare_digest(state, expected) or time.time() > expires_at:
			raise UsageError("This sign-in did not start here, or started too long ago. Start it again.")
		self.storage.update(pending=None)
		await self.read_grant()
		self.context.protocol_version = pending["protocol"]
		self.context.client_metadata.scope = pending["scope"]
		validate_authorization_response_iss(iss, self.context.oauth_metadata)
		request = await self._exchange_token_authorization_code(code, pending["verifier"])
		await self._handle_token_response(await http.send(request))


def dump_token(model: Any) -> dict | None:
	return model.model_dump(mode="json", exclude_none=True) if model else None


def make_provider(client: OAuthClient, vault: Vault, is_client_credentials: bool) -> httpx2.Auth:
	if not is_client_credentials:
		return SignInProvider(client, vault)
	return ClientCredentialsOAuthProvider(
		client.server_url,
		GrantStorage(vault, client),
		client_id=client.client_id or "",
		client_secret=client.client_secret or "",
		scope=client.scope or None,
		issuer=client.issuer,
	)


async def exchange_code(
	provider: SignInProvider,
	make_guard: Callable[[], GuardedTransport],
	code: str,
	state: str,
	iss: str | None,
) -> None:
	"""Finish a sign-in. Raises UsageError with what went wrong."""
	async with httpx2.AsyncClient(transport=make_guard()) as http:
		try:
			await provider.exchange(http, code, state, iss)
		except UsageError:
			raise
		except Exception as error:  # the boundary around an authorization server and the SDK
			raise UsageError(f"The sign-in failed: {str(error)[:500]}") from None
