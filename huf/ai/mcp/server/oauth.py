"""The authorization server for MCP clients: the SDK's handlers over sealed tokens and MCP Grant records."""

from urllib.parse import parse_qs, urlsplit

import frappe
import mcp  # noqa: F401 (first as a whole, see huf.ai.core.sealed_tokens)
from frappe.utils import get_url
from mcp.server.auth.provider import (
	AccessToken,
	AuthorizationCode,
	AuthorizationParams,
	AuthorizeError,
	OAuthAuthorizationServerProvider,
	RefreshToken,
	RegistrationError,
	TokenError,
	construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken, ProtectedResourceMetadata
from pydantic import AnyHttpUrl, AnyUrl, ValidationError
from starlette.applications import Starlette

from huf.ai.mcp.server import grants
from huf.ai.mcp.server.client_documents import LOOPBACK, is_document_address, read_client_document

ISSUER_PATH = "/mcp-oauth"
CONSENT_PATH = f"{ISSUER_PATH}/consent"
RESOURCE_PATH = "/mcp"
RESOURCE_PATHS = (RESOURCE_PATH, "/a2a")
"""Resources for which tokens can be issued; by default the first."""
SCOPE = "mcp"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
BAD_REDIRECT = "Use https, or http on this computer, without a user name or a fragment."
AUTH_METHODS = ("none", "client_secret_post")
"""Frappe takes HTTP Basic for a user's API key, so it cannot name a client."""
MAX_NAME_CHARS = 80
REGISTERED = (
	"redirect_uris",
	"token_endpoint_auth_method",
	"grant_types",
	"scope",
	"client_secret",
	"client_name",
)
"""Fields of a program's registration that are kept."""
OPTIONS = ClientRegistrationOptions(enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE])


def issuer() -> str:
	return get_url(ISSUER_PATH)


def create_oauth_app() -> Starlette:
	"""The endpoints /authorize, /token and /register below ISSUER_PATH.

	Raises ValueError if the site has neither https nor a loopback address.
	"""
	routes = create_auth_routes(
		OAuthProvider(),
		AnyHttpUrl(issuer()),
		client_registration_options=OPTIONS,
	)
	return Starlette(routes=routes)


def describe_server() -> dict:
	"""Authorization server metadata (RFC 8414), with `iss` in authorization responses (RFC 9207)."""
	metadata = build_metadata(AnyHttpUrl(issuer()), None, OPTIONS, RevocationOptions())
	return {
		**metadata.model_dump(mode="json", exclude_none=True),
		"issuer": issuer(),
		"token_endpoint_auth_methods_supported": [*AUTH_METHODS],
		"authorization_response_iss_parameter_supported": True,
		"client_id_metadata_document_supported": True,
	}


def describe_resource(path: str) -> dict:
	"""Protected resource metadata (RFC 9728)."""
	metadata = ProtectedResourceMetadata(
		resource=AnyHttpUrl(get_url(path)),
		authorization_servers=[AnyHttpUrl(issuer())],
		scopes_supported=[SCOPE],
		resource_name="Huf",
	)
	return metadata.model_dump(mode="json", exclude_none=True)


def read_consent_request(sealed: str) -> dict | None:
	"""The authorization request in a sealed token; None if it is forged or has expired."""
	return grants.unseal(grants.REQUEST, sealed)


def allow(request: dict) -> str:
	"""Grant access: the URL to which the browser returns with a code of the session user."""
	kept = {key: request[key] for key in ("client", "client_name", "redirect_uri", "challenge", "resource")}
	code = grants.seal_grant(grants.CODE, user=frappe.session.user, explicit=request["explicit"], **kept)
	return construct_redirect_uri(request["redirect_uri"], code=code, state=request["state"], iss=issuer())


def name_issuer(address: str) -> str:
	"""The address of an authorization response with an error, with `iss` (RFC 9207), which the SDK leaves
	out; other addresses unchanged.
	"""
	given = parse_qs(urlsplit(address).query)
	return construct_redirect_uri(address, iss=issuer()) if "error" in given else address


def leads_elsewhere(address: str) -> bool:
	"""Whether it is neither this site's consent page nor a program on the user's computer."""
	target = urlsplit(address)
	is_local = target.scheme == "http" and target.hostname in LOOPBACK
	return not is_local and not address.startswith(f"{get_url(CONSENT_PATH)}?")


def deny(request: dict) -> str:
	return construct_redirect_uri(
		request["redirect_uri"], error="access_denied", state=request["state"], iss=issuer()
	)


class Client(OAuthClientInformationFull):
	"""An OAuth client. Loopback redirects may use any port (RFC 8252)."""

	def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
		if redirect_uri and without_port(redirect_uri) in map(without_port, self.redirect_uris or ()):
			return redirect_uri
		return super().validate_redirect_uri(redirect_uri)


def without_port(uri: AnyUrl) -> str:
	is_local = uri.scheme == "http" and uri.host in LOCAL_HOSTS
	return str(uri).replace(f":{uri.port}", "", 1) if is_local else str(uri)


def make_document_client(client_id: str, document: dict | None) -> Client | None:
	own = {"client_id": client_id, "token_endpoint_auth_method": "none", "scope": SCOPE}
	values = {**(document or {}), **own}
	try:
		client = Client.model_validate(values)
	except ValidationError:
		return None
	redirects = client.redirect_uris or ()
	return client if redirects and all(map(is_safe_redirect, redirects)) else None


def name_client(client: OAuthClientInformationFull) -> str:
	"""The client's name for the user, on one short line, with the host that vouches for it, if any."""
	line = "".join(each for each in " ".join((client.client_name or "").split()) if each.isprintable())
	name = line[:MAX_NAME_CHARS] or "A program"
	is_document = is_document_address(client.client_id or "")
	return f"{name} ({urlsplit(client.client_id).netloc})" if is_document else name


class OAuthProvider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
	"""The storage interface of the SDK's handlers."""

	async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
		if is_document_address(client_id):
			return make_document_client(client_id, await read_client_document(client_id))
		claims = grants.unseal(grants.CLIENT, client_id)
		return Client.model_validate({**claims["client"], "client_id": client_id}) if claims else None

	async def register_client(self, client_info: OAuthClientInformationFull) -> None:
		"""The client ID is the sealed registration itself, so that strangers cannot fill the database."""
		if not all(is_safe_redirect(uri) for uri in client_info.redirect_uris or ()):
			raise RegistrationError("invalid_redirect_uri", BAD_REDIRECT)
		if client_info.token_endpoint_auth_method not in AUTH_METHODS:
			client_info.token_endpoint_auth_method = "client_secret_post"
		described = client_info.model_dump(mode="json", exclude_none=True)
		values = {key: described[key] for key in REGISTERED if key in described}
		client_info.client_id = grants.seal_grant(grants.CLIENT, client=values)

	async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
		resource = (params.resource or get_url(RESOURCE_PATH)).rstrip("/")
		if not f"{resource}/".startswith(tuple(f"{get_url(path)}/" for path in RESOURCE_PATHS)):
			raise AuthorizeError("invalid_target", "This server has no such resource.")
		request = grants.seal_grant(
			grants.REQUEST,
			client=client.client_id,
			client_name=name_client(client),
			redirect_uri=str(params.redirect_uri),
			explicit=params.redirect_uri_provided_explicitly,
			challenge=params.code_challenge,
			state=params.state,
			resource=resource,
		)
		return construct_redirect_uri(get_url(CONSENT_PATH), request=request)

	async def load_authorization_code(
		self, client: OAuthClientInformationFull, authorization_code: str
	) -> AuthorizationCode | None:
		claims = grants.unseal(grants.CODE, authorization_code)
		if claims is None or claims["client"] != client.client_id:
			return None
		return AuthorizationCode(
			code=authorization_code,
			scopes=[SCOPE],
			expires_at=claims["exp"],
			client_id=claims["client"],
			code_challenge=claims["challenge"],
			redirect_uri=claims["redirect_uri"],
			redirect_uri_provided_explicitly=claims["explicit"],
			resource=claims["resource"],
			subject=claims["user"],
		)

	async def exchange_authorization_code(
		self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
	) -> OAuthToken:
		claims = grants.unseal(grants.CODE, authorization_code.code)
		kept = ("user", "client", "client_name", "resource")
		grant = claims and grants.insert_grant(claims["id"], **{key: claims[key] for key in kept})
		if not grant:
			raise TokenError("invalid_grant", "The code was used before.")
		return issue_tokens(grant, 0)

	async def load_refresh_token(
		self, client: OAuthClientInformationFull, refresh_token: str
	) -> RefreshToken | None:
		claims = grants.unseal(grants.REFRESH, refresh_token)
		if claims is None or not grants.find_grant(claims, client.client_id):
			return None
		return RefreshToken(
			token=refresh_token, client_id=client.client_id, scopes=[SCOPE], expires_at=claims["exp"]
		)

	async def exchange_refresh_token(
		self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
	) -> OAuthToken:
		claims = grants.unseal(grants.REFRESH, refresh_token.token)
		row = claims and grants.find_grant(claims, client.client_id)
		if not claims or not row or not grants.renew_grant(row, claims["number"]):
			raise TokenError("invalid_grant", "The refresh token was used before.")
		return issue_tokens(row.name, claims["number"] + 1)

	async def load_access_token(self, token: str) -> AccessToken | None:
		"""Never called: the endpoint reads its tokens itself, and there is no revocation endpoint."""
		return None

	async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
		"""Never called: users revoke access by deleting the MCP Grant."""


def is_safe_redirect(uri: AnyUrl) -> bool:
	"""As in OAuth 2.1: https, http on a loopback address, or the scheme of an installed program; no
	fragment, and no user name, which could pass for the host on the consent page.
	"""
	if uri.fragment is not None or uri.username or uri.password:
		return False
	if uri.scheme == "http":
		return uri.host in LOCAL_HOSTS
	return uri.scheme not in ("javascript", "data", "file", "blob", "vbscript", "about")


def issue_tokens(grant: str, number: int) -> OAuthToken:
	return OAuthToken(
		access_token=grants.seal_grant(grants.ACCESS, grant=grant),
		refresh_token=grants.seal_grant(grants.REFRESH, grant=grant, number=number),
		expires_in=grants.LIFETIME_S[grants.ACCESS],
		scope=SCOPE,
	)
