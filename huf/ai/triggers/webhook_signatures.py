"""Authenticates webhook deliveries and finds the key that repetitions share: `docs/webhooks.md`."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass

MAX_AGE_S = 300
SECRET_HEADER = "X-Huf-Secret"
TIMESTAMPED = (
	("Webhook-Signature", "Webhook-Id", "Webhook-Timestamp"),
	("X-Huf-Signature", "X-Huf-Delivery", "X-Huf-Timestamp"),
)
"""Headers of a signature, and of the delivery id and the Unix time that it covers besides the body. The first
row is the specification Standard Webhooks.
"""
DELIVERY_HEADERS = (
	"X-Huf-Delivery",
	"Idempotency-Key",
	"Webhook-Id",
	"X-GitHub-Delivery",
	"X-Gitlab-Event-UUID",
	"X-Shopify-Webhook-Id",
)
"""Where senders put an id that stays the same when a delivery is repeated; the first header present counts.
"""


@dataclass(frozen=True)
class Delivery:
	"""What was sent: the slug of the address, headers (names in any case) and the raw body."""

	slug: str
	headers: Mapping[str, str]
	body: bytes
	content_type: str = ""


def find_delivery_key(secret: str, signature_header: str | None, delivery: Delivery) -> str | None:
	"""The key of an authentic delivery: equal for repetitions, "" for one that has no id. None: refused.

	`signature_header`: accept only deliveries signed in this header.
	"""
	for header, *signed_headers in TIMESTAMPED:
		if delivery.headers.get(header) and (signature_header or header).lower() == header.lower():
			return verify_timestamped(secret, header, signed_headers, delivery)
	if signature_header:
		# The sender signs no id. By the body alone a recorded delivery cannot run again under a new id.
		signature = delivery.headers.get(signature_header) or ""
		digest = hashlib.sha256(delivery.body).hexdigest()
		return f"body {digest}" if is_signature(signature, secret.encode(), delivery.body) else None
	if not is_equal(delivery.headers.get(SECRET_HEADER) or "", secret):
		return None
	return next((found for name in DELIVERY_HEADERS if (found := delivery.headers.get(name))), "")


def verify_timestamped(secret: str, header: str, signed: list[str], delivery: Delivery) -> str | None:
	sent_id, sent_at = (delivery.headers.get(name) or "" for name in signed)
	content = f"{sent_id}.{sent_at}.".encode() + delivery.body
	signatures = delivery.headers[header].split()
	is_right = any(is_signature(each, decode_secret(secret), content) for each in signatures[:10])
	is_recent = sent_at.isdecimal() and len(sent_at) < 12 and abs(time.time() - int(sent_at)) <= MAX_AGE_S
	return sent_id if is_right and is_recent and sent_id else None


def is_signature(given: str, key: bytes, content: bytes) -> bool:
	"""Whether a text is the HMAC-SHA256 of the content, in hex or base64, with or without its version."""
	digest = hmac.new(key, content, hashlib.sha256).digest()
	given = given.strip().removeprefix("sha256=").removeprefix("v1,")
	is_hex = is_equal(given.lower(), digest.hex())
	return is_equal(given, base64.b64encode(digest).decode()) or is_hex


def decode_secret(secret: str) -> bytes:
	"""The key of a secret; Standard Webhooks writes keys as `whsec_` and base64."""
	if secret.startswith("whsec_"):
		try:
			return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
		except binascii.Error:
			pass
	return secret.encode()


def is_equal(given: str, expected: str) -> bool:
	"""Compare in constant time."""
	return hmac.compare_digest(given.encode(), expected.encode())
