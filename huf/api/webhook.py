"""Receives webhooks: POST /api/method/huf.api.webhook.receive?slug=..., or /agent/hook/<slug>."""

import frappe
from werkzeug.wrappers import Response

from huf.ai.core.errors import UsageError
from huf.ai.triggers import webhooks
from huf.ai.triggers.webhooks import MAX_DELIVERY_BYTES, Delivery, DeliveryRefused, InvalidBody
from huf.api.wire.json_body import json_response

PAGE = "agent/hook/"
WRONG_SECRET = "There is no such webhook, or the secret is wrong, or the signature is wrong or old."
TOO_LARGE = f"A delivery may have at most {MAX_DELIVERY_BYTES} bytes."


@frappe.whitelist(allow_guest=True, xss_safe=True, methods=["POST"])
def receive():
	"""Receive a delivery for the webhook `slug`.

	Returns 202 with {event, status, run, repeated, reason?}; a repeated delivery ID returns the event of the
	first. 403: unknown webhook, wrong secret, or wrong or old signature. 409: the trigger cannot run. 413:
	the body is too large.
	"""
	return accept(frappe.local.request.args.get("slug") or "")


class HookPage:
	"""A page renderer (hook `page_renderer`) for the short address."""

	def __init__(self, path: str, http_status_code: int | None = None):
		self.path = path.strip("/")

	def can_render(self) -> bool:
		return self.path.startswith(PAGE)

	def render(self) -> Response:
		if frappe.local.request.method != "POST":
			return json_response({"error": "Deliver by POST."}, 405)
		return accept(self.path.removeprefix(PAGE))


def accept(slug: str) -> Response:
	request = frappe.local.request
	if (request.content_length or 0) > MAX_DELIVERY_BYTES:
		return json_response({"error": TOO_LARGE}, 413)
	delivery = Delivery(slug, request.headers, request.get_data(), request.content_type or "")
	if len(delivery.body) > MAX_DELIVERY_BYTES:
		return json_response({"error": TOO_LARGE}, 413)
	try:
		return json_response(webhooks.accept_delivery(delivery), 202)
	except DeliveryRefused:
		return json_response({"error": WRONG_SECRET}, 403)
	except UsageError as error:
		return json_response({"error": str(error)}, 400 if isinstance(error, InvalidBody) else 409)
