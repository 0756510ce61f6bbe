"""Endpoints of OpenAI's Responses API for stored responses and conversations, which are read from runs."""

import json
import time
from typing import Any

import frappe
from werkzeug.wrappers import Response

from huf.ai.chat import approvals
from huf.ai.core.stored_text import shorten_id
from huf.ai.core.times import to_utc
from huf.ai.queries.event_stream import replay_events
from huf.ai.storage.shared_values import share_value
from huf.api.addresses import read_subpath
from huf.api.wire.json_body import BadRequest, json_response, read_flag, read_string
from huf.api.wire.openai_requests import (
	CHANNEL,
	CONVERSATION,
	NotFound,
	read_metadata,
	read_response_run,
	refusing_as_openai,
)
from huf.api.wire.response_input import APPROVAL, MESSAGE, PROMPT
from huf.api.wire.responses import STATUSES, ResponseBuilder

RESPONSES, CONVERSATIONS = "/v1/responses/", "/v1/conversations/"
OPEN = ("queued", "in_progress")
DEFAULT_ITEMS, MAX_ITEMS = 20, 100
NEW_CONVERSATION_S = 24 * 3600
"""How long a conversation without a response is known."""
ORDERS = {"asc": ">=", "desc": "<="}
NOT_CHANGED = (
	"Only responses add to a conversation: create one with it. Its items and metadata cannot be set."
)
NOT_OFFERED = (
	"Huf does not offer this. At /v1/responses/ID: GET, DELETE, GET .../input_items, POST .../cancel."
)
NO_ITEM = "Huf does not offer this. At /v1/conversations/ID: GET, DELETE, GET .../items."
NOT_STREAMED = "A stored response cannot be streamed again. Leave stream out."


@frappe.whitelist(methods=["GET", "POST", "DELETE"])
@refusing_as_openai
def response(**others):
	"""GET and DELETE /v1/responses/ID, GET ID/input_items, POST ID/cancel."""
	method, (name, action) = frappe.local.request.method, read_path(RESPONSES)
	if method == "POST" and action != "cancel":
		raise NotFound(NOT_OFFERED)
	row = read_response_run(name)
	if method == "GET" and action == "input_items":
		return json_response(encode_list([encode_input(row)]))
	if method == "POST":
		approvals.cancel_run(row.name)
		return json_response(describe_run(row.name))
	if method == "DELETE" and not action:
		return delete_stored(row, name, "response")
	if method == "GET" and not action:
		if read_flag(others.get("stream"), "stream"):
			raise BadRequest(NOT_STREAMED)
		return json_response(describe_run(row.name))
	raise NotFound(NOT_OFFERED)


def describe_run(run: str) -> dict:
	"""The response for the recorded state of a run."""
	frappe.db.rollback()
	row = frappe.get_doc("Agent Run", run)
	created = to_utc(row.creation).timestamp()
	fields = {"background": row.mode == "Background", **json.loads(row.client_fields or "{}")}
	builder = ResponseBuilder(row.agent, run=run, asks=True, fields=fields, created_at=created)
	status = STATUSES[row.status]
	is_open = status in OPEN
	events = replay_events(run, with_end=not is_open)
	found = builder.collect(events)
	return {**found, "status": status}


def encode_input(row: Any) -> dict:
	part = {"type": "input_text", "text": row.prompt or ""}
	return {
		"id": f"{MESSAGE}{row.name}_{PROMPT}",
		"type": "message",
		"role": "user",
		"status": "completed",
		"content": [part],
	}


def encode_list(items: list[dict], has_more: bool = False) -> dict:
	first, last = (items[0]["id"], items[-1]["id"]) if items else (None, None)
	return {"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": has_more}


def read_path(prefix: str) -> tuple[str, str]:
	"""(ID, rest of the path) of the request."""
	name, _, action = read_subpath(prefix).partition("/")
	return name, action


def delete_stored(doc: Any, name: str, kind: str) -> Response:
	if doc:
		doc.delete()
		frappe.db.commit()
	return json_response({"id": name, "object": f"{kind}.deleted", "deleted": True})


# --- conversations ---


@frappe.whitelist(methods=["POST"])
@refusing_as_openai
def create_conversation(metadata=None, items=None, **others):
	"""Return a new conversation; it is stored with its first response, and cached until then. Also at
	/v1/conversations.
	"""
	if items:
		raise BadRequest("A conversation begins with its first response. Leave items out.")
	name = f"{CONVERSATION}{frappe.generate_hash(length=24)}"
	created = encode_conversation(name, time.time(), read_metadata(metadata))
	share_value(new_conversation_key(name), created, NEW_CONVERSATION_S)
	return json_response(created)


@frappe.whitelist(methods=["GET", "POST", "DELETE"])
@refusing_as_openai
def conversation(**others):
	"""GET and DELETE /v1/conversations/ID, GET ID/items."""
	method, (name, action) = frappe.local.request.method, read_path(CONVERSATIONS)
	if method == "POST":
		raise BadRequest(NOT_CHANGED)
	doc, key = find_conversation(name), new_conversation_key(name)
	created = frappe.cache.get_value(key, expires=True)
	if not (doc or created):
		raise NotFound(f"There is no conversation {name!r}.")
	if method == "DELETE" and not action:
		share_value(key, None, 1)
		return delete_stored(doc, name, "conversation")
	if action == "items":
		options = read_list_options(others)
		items, has_more = list_conversation_items(doc.name, **options) if doc else ([], False)
		return json_response(encode_list(items, has_more))
	if action:
		raise NotFound(NO_ITEM)
	if doc:
		created = encode_conversation(name, to_utc(doc.creation).timestamp(), {})
	return json_response(created)


def new_conversation_key(name: str) -> str:
	return f"huf_conversation:{frappe.session.user}:{name}"


def find_conversation(name: str) -> Any:
	"""The user's stored conversation with that ID, or None; the newest if several agents use it."""
	filters = {"channel": CHANNEL, "external_id": shorten_id(name), "owner": frappe.session.user}
	found = frappe.get_list("Agent Conversation", filters=filters, pluck="name", order_by="creation desc")
	return frappe.get_doc("Agent Conversation", found[0]) if found else None


def read_list_options(given: dict) -> dict:
	"""The part of a list that is asked for, as OpenAI's clients name it. Raises BadRequest."""
	limit, order = str(given.get("limit") or DEFAULT_ITEMS), str(given.get("order") or "desc")
	if not (limit.isdecimal() and 1 <= int(limit[:9]) <= MAX_ITEMS) or order not in ORDERS:
		raise BadRequest(f"limit must be 1 to {MAX_ITEMS}, and order asc or desc.")
	return {
		"limit": int(limit),
		"order": order,
		"after": read_string(given.get("after"), "after", required=False),
	}


def list_conversation_items(conversation: str, limit: int, order: str, after: str) -> tuple[list[dict], bool]:
	"""(at most `limit` items of a conversation that follow the item `after`; whether there are more). Raises
	BadRequest.
	"""
	filters: dict[str, Any] = {"conversation": conversation}
	if after:
		filters["creation"] = [ORDERS[order], find_creation(conversation, after)]
	rows = frappe.get_list(
		"Agent Run",
		filters=filters,
		fields=["name", "prompt", "status"],
		order_by=f"creation {order}, name {order}",
		limit_page_length=limit + 2,
	)
	found: list[dict] = []
	for row in rows:
		items = [encode_input(row), *describe_run(row.name)["output"]]
		found += items if order == "asc" else items[::-1]
		ids = [each["id"] for each in found]
		if after in ids:
			found, after = found[ids.index(after) + 1 :], ""
		if not after and len(found) > limit:
			break
	return ([] if after else found[:limit]), len(found) > limit


def find_creation(conversation: str, item: str) -> Any:
	"""When the run of an item began. Raises BadRequest."""
	kind, _, rest = item.partition("_")
	name = rest.partition("_")[0]
	run = frappe.db.get_value("Agent Draft", name, "run") if f"{kind}_" == APPROVAL else name
	created = frappe.db.get_value("Agent Run", {"name": run, "conversation": conversation}, "creation")
	if created is None:
		raise BadRequest(f"There is no item {item!r} in this conversation.")
	return created


def encode_conversation(name: str, created: float, metadata: dict) -> dict:
	return {"id": name, "object": "conversation", "created_at": int(created), "metadata": metadata}
