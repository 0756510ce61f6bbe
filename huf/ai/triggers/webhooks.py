"""Accepts webhook deliveries: authenticates each by a secret and dispatches it once.

A sender without the secret learns nothing, not even whether the webhook exists.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import frappe
from frappe.utils.password import get_decrypted_password

from huf.ai.core.errors import UsageError
from huf.ai.storage import trigger_events
from huf.ai.triggers.conditions import Snapshot
from huf.ai.triggers.dispatch import SourceEvent, dispatch_events, evaluate_trigger
from huf.ai.triggers.registry import read_triggers

MAX_DELIVERY_BYTES = 1024 * 1024
SECRET_HEADER = "X-Huf-Secret"
SIGNATURE_HEADER = "X-Huf-Signature"
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

WEBHOOK = "webhook"
FORM = "application/x-www-form-urlencoded"


class DeliveryRefused(Exception):
	"""There is no such webhook, or the secret or signature is wrong."""


@dataclass(frozen=True)
class Delivery:
	"""What was sent: the slug of the address, headers (names in any case) and the raw body."""

	slug: str
	headers: Mapping[str, str]
	body: bytes
	content_type: str = ""


def accept_delivery(delivery: Delivery) -> dict:
	"""Dispatch a delivery and return {event, status, run, repeated, reason?}. Commits.

	Raises DeliveryRefused, or UsageError for an authenticated sender whose delivery cannot be processed.
	"""
	trigger = authenticate(delivery)
	if trigger.disabled:
		raise UsageError("This webhook is disabled.")
	payload = parse_body(delivery)
	sent_id = next((delivery.headers[name] for name in DELIVERY_HEADERS if delivery.headers.get(name)), None)
	source = SourceEvent(
		event=WEBHOOK,
		key=sent_id or frappe.generate_hash(length=20),
		user=trigger.owner,
		doc=Snapshot(payload if isinstance(payload, dict) else {}),
		payload=payload,
	)
	trigger_event = evaluate_trigger(trigger, source)
	known = trigger_events.read_trigger_event(trigger_events.trigger_event_name(trigger_event))
	if known:
		return describe_event(known, repeated=True)
	(event,) = dispatch_events([trigger_event])
	frappe.db.commit()
	return describe_event(trigger_events.read_trigger_event(event))


def describe_event(row, repeated: bool = False) -> dict:
	answer = {"event": row.name, "status": row.status, "run": row.run, "repeated": repeated}
	return {**answer, "reason": row.reason} if row.reason else answer


def authenticate(delivery: Delivery):
	"""The trigger of a delivery whose sender knows its secret. Raises DeliveryRefused."""
	found = read_triggers("t.trigger_type = 'Webhook' and t.webhook_slug = %s", (delivery.slug,))
	trigger = found[0] if found else None
	secret = trigger and get_decrypted_password(
		"Agent Trigger", trigger.name, "webhook_secret", raise_exception=False
	)
	# Do the same work for an unknown slug, so that the response time does not reveal which slugs exist.
	header = trigger.signature_header if trigger else None
	is_right = has_secret(secret or frappe.generate_hash(length=32), header, delivery)
	if not secret or not is_right:
		raise DeliveryRefused
	return trigger


def has_secret(secret: str, signature_header: str | None, delivery: Delivery) -> bool:
	"""Whether a delivery carries the secret, or an HMAC-SHA256 signature of its body made with it."""
	signed = delivery.headers.get(signature_header or SIGNATURE_HEADER)
	if signed or signature_header:
		digest = hmac.new(secret.encode(), delivery.body, hashlib.sha256).digest()
		signed = (signed or "").strip().removeprefix("sha256=")
		is_hex = is_equal(signed.lower(), digest.hex())
		return is_equal(signed, base64.b64encode(digest).decode()) or is_hex
	return is_equal(delivery.headers.get(SECRET_HEADER) or "", secret)


def is_equal(given: str, expected: str) -> bool:
	"""Compare in constant time."""
	return hmac.compare_digest(given.encode(), expected.encode())


def parse_body(delivery: Delivery) -> Any:
	"""The parsed JSON, the fields of a form as a dict, the text, or None for an empty body. Raises
	UsageError.
	"""
	text = delivery.body.decode("utf-8", "replace")
	if not text.strip():
		return None
	if delivery.content_type.startswith(FORM):
		return dict(parse_qsl(text, keep_blank_values=True))
	try:
		return json.loads(text)
	except ValueError:
		if "json" in delivery.content_type:
			raise UsageError("The body is not valid JSON.") from None
		return text
