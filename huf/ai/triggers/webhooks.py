"""The door of webhooks: a delivery from outside, let in by a secret, and carried out once.

Who does not know the secret learns nothing, not even whether there is such a webhook.
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
from huf.ai.triggers.dispatch import Happening, decide, fire
from huf.ai.triggers.registry import read_triggers

LARGEST = 1024 * 1024
SECRET_HEADER = "X-Huf-Secret"
SIGNATURE_HEADER = "X-Huf-Signature"
DELIVERY_HEADERS = (
	*("X-Huf-Delivery", "Idempotency-Key", "Webhook-Id", "X-GitHub-Delivery", "X-Gitlab-Event-UUID"),
	"X-Shopify-Webhook-Id",
)
"""Where senders put the id that a delivery keeps when it is sent again; the first that is there counts."""

WEBHOOK = "webhook"
FORM = "application/x-www-form-urlencoded"


class Refused(Exception):
	"""A delivery that is not let in, for whatever reason."""


@dataclass(frozen=True)
class Delivery:
	"""What was sent: the slug of its address, headers in any case, and the body as it came."""

	slug: str
	headers: Mapping[str, str]
	body: bytes
	content_type: str = ""


def receive(delivery: Delivery) -> dict:
	"""Let a delivery in and write down what comes of it: {event, status, run, reason, repeated}.

	Raises Refused, or UsageError for a sender who is let in but cannot be served.
	"""
	trigger = check_secret(delivery)
	if trigger.disabled:
		raise UsageError("This webhook is disabled.")
	payload = read_body(delivery)
	sent = next((delivery.headers[name] for name in DELIVERY_HEADERS if delivery.headers.get(name)), None)
	happening = Happening(
		event=WEBHOOK,
		key=sent or frappe.generate_hash(length=20),
		user=trigger.owner,
		doc=Snapshot(payload if isinstance(payload, dict) else {}),
		payload=payload,
	)
	trigger_event = decide(trigger, happening)
	known = trigger_events.read_trigger_event(trigger_events.name_of(trigger_event))
	if known:
		return describe(known, repeated=True)
	(event,) = fire([trigger_event])
	frappe.db.commit()
	return describe(trigger_events.read_trigger_event(event))


def describe(row, repeated: bool = False) -> dict:
	told = {"event": row.name, "status": row.status, "run": row.run, "repeated": repeated}
	return {**told, "reason": row.reason} if row.reason else told


def check_secret(delivery: Delivery):
	"""The trigger of a delivery whose sender knows its secret. Raises Refused."""
	found = read_triggers("t.trigger_type = 'Webhook' and t.webhook_slug = %s", (delivery.slug,))
	trigger = found[0] if found else None
	secret = trigger and get_decrypted_password(
		"Agent Trigger", trigger.name, "webhook_secret", raise_exception=False
	)
	# The same work for an address that does not exist, so that the time it takes tells nothing either.
	header = trigger.signature_header if trigger else None
	is_right = knows(secret or frappe.generate_hash(length=32), header, delivery)
	if not secret or not is_right:
		raise Refused
	return trigger


def knows(secret: str, signature_header: str | None, delivery: Delivery) -> bool:
	"""Whether a delivery carries the secret, or the HMAC-SHA256 of its body made with it."""
	signed = delivery.headers.get(signature_header or SIGNATURE_HEADER)
	if signed or signature_header:
		digest = hmac.new(secret.encode(), delivery.body, hashlib.sha256).digest()
		signed = (signed or "").strip().removeprefix("sha256=")
		in_hex = is_equal(signed.lower(), digest.hex())
		return is_equal(signed, base64.b64encode(digest).decode()) or in_hex
	return is_equal(delivery.headers.get(SECRET_HEADER) or "", secret)


def is_equal(given: str, wanted: str) -> bool:
	return hmac.compare_digest(given.encode(), wanted.encode())


def read_body(delivery: Delivery) -> Any:
	"""JSON where the body is JSON, the fields of a form, else its text."""
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
