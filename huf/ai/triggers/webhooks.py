"""Accepts webhook deliveries: authenticates each by a secret and dispatches it once.

A sender without the secret learns nothing, not even whether the webhook exists.
"""

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
from huf.ai.triggers.webhook_signatures import Delivery, find_delivery_key

MAX_DELIVERY_BYTES = 1024 * 1024
WEBHOOK = "webhook"
FORM = "application/x-www-form-urlencoded"


class DeliveryRefused(Exception):
	"""There is no such webhook, or the secret or signature is wrong, or the signature is old."""


def accept_delivery(delivery: Delivery) -> dict:
	"""Dispatch a delivery and return {event, status, run, repeated, reason?}. Commits.

	Raises DeliveryRefused, or UsageError for an authenticated sender whose delivery cannot be processed.
	"""
	trigger, key = authenticate(delivery)
	if trigger.disabled:
		raise UsageError("This webhook is disabled.")
	payload = parse_body(delivery)
	source = SourceEvent(
		event=WEBHOOK,
		key=key or frappe.generate_hash(length=20),
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
	if delivery.content_type.startswith(FORM):
		return dict(parse_qsl(text, keep_blank_values=True))
	try:
		return parse_request_json(text)
	except ValueError:
		if "json" in delivery.content_type:
			raise UsageError("The body is not valid JSON.") from None
		return text
