"""Where webhooks are delivered: POST /api/method/huf.api.webhook.receive?slug=..., or /agent/hook/<slug>."""

import json

import frappe
from werkzeug.wrappers import Response

from huf.ai.core.errors import UsageError
from huf.ai.triggers import webhooks
from huf.ai.triggers.webhooks import LARGEST, Delivery, Refused

PAGE = "agent/hook/"
NOT_LET_IN = "There is no such webhook, or the secret is wrong."


@frappe.whitelist(allow_guest=True, xss_safe=True, methods=["POST"])
def receive():
	"""Take a delivery for the webhook of the query's `slug`.

	Answers 202 with {event, status, run, repeated, reason?}; a delivery whose id was seen before is answered with the
	event it had then. 403: no such webhook, or a wrong secret or signature. 409: it cannot be served. 413: too large.
	"""
	return answer(frappe.local.request.args.get("slug") or "")


class HookPage:
	"""The short address, as a renderer of pages."""

	def __init__(self, path: str, http_status_code: int | None = None):
		self.path = path.strip("/")

	def can_render(self) -> bool:
		return self.path.startswith(PAGE)

	def render(self) -> Response:
		if frappe.local.request.method != "POST":
			return as_json({"error": "Deliver by POST."}, 405)
		return answer(self.path.removeprefix(PAGE))


def answer(slug: str) -> Response:
	request = frappe.local.request
	if (request.content_length or 0) > LARGEST:
		return as_json({"error": f"A delivery has {LARGEST} bytes at most."}, 413)
	delivery = Delivery(slug, request.headers, request.get_data(), request.content_type or "")
	if len(delivery.body) > LARGEST:
		return as_json({"error": f"A delivery has {LARGEST} bytes at most."}, 413)
	try:
		return as_json(webhooks.receive(delivery), 202)
	except Refused:
		return as_json({"error": NOT_LET_IN}, 403)
	except UsageError as error:
		return as_json({"error": str(error)}, 409)


def as_json(body: dict, status: int) -> Response:
	return Response(json.dumps(body), status=status, mimetype="application/json")
