"""Tokens that contain their purpose and expiry, sealed with the site's key and never stored."""

import json
import time
from typing import TYPE_CHECKING, Any

import frappe
from frappe.utils.password import get_encryption_key

if TYPE_CHECKING:
	from mcp.server.request_state import AESGCMRequestStateCodec


def seal(kind: str, lifetime_s: float | None, **claims: Any) -> str:
	"""A token with these claims; it is valid for `lifetime_s` seconds, None: without end."""
	expires = {"exp": int(time.time() + lifetime_s)} if lifetime_s is not None else {}
	payload = {"kind": kind, "site": frappe.local.site, "id": frappe.generate_hash(length=20)}
	return create_codec().seal(json.dumps({**payload, **expires, **claims}).encode())


def unseal(kind: str, token: str) -> dict | None:
	"""The claims of a valid token of this kind; None for any other."""
	codec = create_codec()
	from mcp.server.request_state import InvalidRequestState

	try:
		claims = json.loads(codec.unseal(token))
	except (InvalidRequestState, ValueError):
		return None
	is_valid = claims.get("kind") == kind and claims.get("site") == frappe.local.site
	return claims if is_valid and claims.get("exp", float("inf")) > time.time() else None


def create_codec() -> "AESGCMRequestStateCodec":
	# Loading the package takes long, and few requests need it. It is loaded as a whole before a module of it:
	# threads that begin with different modules would wait for each other, and fail.
	import mcp  # noqa: F401
	from mcp.server.request_state import AESGCMRequestStateCodec

	return AESGCMRequestStateCodec([get_encryption_key()])
