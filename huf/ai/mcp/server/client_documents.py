"""OAuth clients that identify themselves by the URL of a Client ID Metadata Document instead of registering.

Strangers choose the URLs, so only public hosts are contacted, within limits of size, time and number.
"""

import time
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import frappe
from frappe.utils import get_url

from huf.ai.core.errors import ToolError
from huf.ai.storage.shared_values import share_value
from huf.ai.tools.http import send_request

LOOPBACK = ("localhost", "127.0.0.1", "::1")
TIMEOUT_S = 5
MAX_DOCUMENT_CHARS = 10_000
CLIENT_FIELDS = ("redirect_uris", "client_name")
MAX_FETCHES_PER_MINUTE = 30
DOCUMENT_TTL_S, FAULT_TTL_S = 3600, 60


def is_document_address(client_id: str) -> bool:
	try:
		parts = urlsplit(client_id)
	except ValueError:
		return False
	is_plain = not (
		parts.fragment or parts.username or parts.password or {".", ".."} & {*parts.path.split("/")}
	)
	is_secure = parts.scheme == "https" or (parts.scheme == "http" and is_local(client_id))
	return is_plain and is_secure and bool(parts.hostname) and len(parts.path) > 1


def is_local(address: str) -> bool:
	"""Whether the URL, this site and who asks are all on this machine, as in development.

	The site's address alone proves nothing: without `host_name` it is what the request names.
	"""
	request = getattr(frappe.local, "request", None)
	if not request or request.remote_addr not in LOOPBACK or "X-Forwarded-For" in request.headers:
		return False
	return {urlsplit(each).hostname for each in (address, get_url())} <= {*LOOPBACK}


async def read_client_document(client_id: str) -> dict[str, Any] | None:
	"""The name and redirect URIs of a client, cached for an hour; None if its document is missing or
	invalid.
	"""
	key = f"mcp_client_document:{sha256(client_id.encode()).hexdigest()}"
	found = frappe.cache.get_value(key, expires=True)
	if found is None and may_fetch():
		found = await fetch_document(client_id) or {}
		share_value(key, found, DOCUMENT_TTL_S if found else FAULT_TTL_S)
	return found or None


def may_fetch() -> bool:
	key = f"mcp_client_fetches:{int(time.time()) // 60}"
	count = frappe.cache.get_value(key, expires=True) or 0
	share_value(key, count + 1, 60)
	return count < MAX_FETCHES_PER_MINUTE


async def fetch_document(client_id: str) -> dict[str, Any] | None:
	async def refuse_redirects(address: str) -> None:
		if address != client_id:
			raise ToolError("The address of a Client ID Metadata Document must not redirect.")

	frappe.db.rollback()
	try:
		answer = await send_request(
			"GET",
			client_id,
			timeout=TIMEOUT_S,
			allow_private=is_local(client_id),
			before_each=refuse_redirects,
		)
		document, is_found = answer["body"], answer["status"] == 200
		is_usable = is_found and is_valid(document, client_id)
		return {key: document.get(key) for key in CLIENT_FIELDS} if is_usable else None
	except (ToolError, RecursionError):
		return None


def is_valid(document: Any, client_id: str) -> bool:
	"""Whether the document belongs to this client, is small, and contains no secret, because everybody can
	read it.
	"""
	return (
		isinstance(document, dict)
		and len(str(document)) <= MAX_DOCUMENT_CHARS
		and document.get("client_id") == client_id
		and not document.get("client_secret")
		and document.get("token_endpoint_auth_method", "none") == "none"
		and isinstance(document.get("client_name"), str | None)
		and is_list_of_texts(document.get("redirect_uris"))
	)


def is_list_of_texts(value: Any) -> bool:
	"""Values nested more deeply could not be cached."""
	return isinstance(value, list) and all(isinstance(each, str) for each in value)
