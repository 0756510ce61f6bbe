"""Accepts webhook deliveries: authenticates each by a secret or signature and dispatches it once, by the key
that its repetitions share: `docs/webhooks.md`.

A sender without the secret learns nothing, not even whether the webhook exists.
"""

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import frappe
from frappe.utils.password import get_decrypted_password

from huf.ai.core.errors import UsageError
from huf.ai.core.request_values import parse_request_json
from huf.ai.storage import trigger_events
from huf.ai.triggers.conditions import Snapshot
from huf.ai.triggers.dispatch import SourceEvent, dispatch_events, evaluate_trigger
from huf.ai.triggers.registry import read_triggers

MAX_DELIVERY_BYTES = 1024 * 1024
WEBHOOK = "webhook"
FORM = "application/x-www-form-urlencoded"
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


class DeliveryRefused(Exception):
	"""There is no such webhook, or the secret or signature is wrong, or the signature is old."""


@dataclass(frozen=True)
class Delivery:
	"""What was sent: the slug of the address, headers (names in any case) and the raw body."""

	slug: str
	headers: Mapping[str, str]
	body: bytes
	content_type: str = ""


class InvalidBody(UsageError):
	"""The body is not the JSON that its content type says it is."""


def accept_delivery(delivery: Delivery) -> dict:
	"""Dispatch a delivery and return {event, status, run, repeated, reason?}. Commits.

	Raises DeliveryRefused, or UsageError for an authenticated sender whose delivery cannot be processed.
	"""
	trigger, key = authenticate(delivery)
	if trigger.disabled:
		raise UsageError("This webhook is disabled. Enable its trigger, then send the delivery again.")
	payload = parse_body(delivery)
	source = SourceEvent(
		event=WEBHOOK,
		key=key or frappe.generate_hash(length=20),
		user=trigger.owner,
		doc=Snapshot(payload if isinstance(payload, dict) else {}),
		payload=payload,
	)
	trigger_event = evaluate_trigger(trigger, source)
	if key:
		# Of two deliveries with one id at the same moment, the second waits here, and then sees the first.
		frappe.db.commit()
		frappe.db.get_value("Agent Trigger", trigger.name, "name", for_update=True)
	known = trigger_events.read_trigger_event(trigger_events.trigger_event_name(trigger_event))
	if known:
		return describe_event(known, repeated=True)
	(event,) = dispatch_events([trigger_event])
	frappe.db.commit()
	return describe_event(trigger_events.read_trigger_event(event))


def describe_event(row, repeated: bool = False) -> dict:
	answer = {"event": row.name, "status": row.status, "run": row.run, "repeated": repeated}
	return {**answer, "reason": row.reason} if row.reason else answer


def authenticate(delivery: Delivery) -> tuple[Any, str]:
	"""(trigger, key) of a delivery whose sender knows the secret. Raises DeliveryRefused."""
	found = read_triggers("t.trigger_type = 'Webhook' and t.webhook_slug = %s", (delivery.slug,))
	trigger = found[0] if found else None
	# Do the same work for an unknown slug, so that the response time hardly reveals which slugs exist.
	name = trigger.name if trigger else ""
	secret = get_decrypted_password("Agent Trigger", name, "webhook_secret", raise_exception=False)
	header = trigger.signature_header if trigger else None
	key = find_delivery_key(secret or frappe.generate_hash(length=32), header, delivery)
	if not secret or key is None:
		raise DeliveryRefused
	return trigger, key


def parse_body(delivery: Delivery) -> Any:
	"""The parsed JSON, the fields of a form as a dict, the text, or None for an empty body. Raises
	UsageError.
	"""
	text = delivery.body.decode("utf-8", "replace")
	if not text.strip():
		return None
	kind = delivery.content_type.lower()
	if kind.startswith(FORM):
		return dict(parse_qsl(text, keep_blank_values=True))
	try:
		return parse_request_json(text)
	except ValueError:
		if "json" in kind:
			raise InvalidBody("The body is not valid JSON.") from None
		return text


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
		except ValueError:  # also for letters that are not ASCII
			pass
	return secret.encode()


def is_equal(given: str, expected: str) -> bool:
	"""Compare in constant time."""
	return hmac.compare_digest(given.encode(), expected.encode())
