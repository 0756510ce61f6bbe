"""Endpoints of OpenAI's Responses API for stored responses and conversations, which are read from runs."""

import time
from typing import Any

import frappe

from huf.ai.chat import approvals
from huf.ai.core.times import to_utc
from huf.ai.queries.event_stream import replay_events
from huf.ai.storage.conversations import shorten_id
from huf.api.responses import (
	CHANNEL,
	CONVERSATION,
	NotFound,
	read_metadata,
	read_response_run,
	refusing_as_openai,
)
from huf.api.wire.json_body import BadRequest, json_response
from huf.api.wire.responses import STATUSES, ResponseBuilder

RESPONSES, CONVERSATIONS = "/v1/responses/", "/v1/conversations/"
OPEN = ("queued", "in_progress")
MAX_RUNS = 100


@frappe.whitelist(methods=["GET", "POST", "DELETE"])
@refusing_as_openai
def response(**others):
	"""GET and DELETE /v1/responses/ID, GET ID/input_items, POST ID/cancel."""
	method, (name, action) = frappe.local.request.method, read_path(RESPONSES)
	row = read_response_run(name)
	if method == "GET" and action == "input_items":
		return json_response(encode_list([encode_input(row)]))
	if method == "POST" and action == "cancel":
		approvals.cancel_run(row.name)
		return json_response(describe_run(row.name))
	if method == "DELETE" and not action:
		frappe.delete_doc("Agent Run", row.name)
		frappe.db.commit()
		return json_response({"id": name, "object": "response.deleted", "deleted": True})
	if method == "GET" and not action:
		return json_response(describe_run(row.name))
	raise NotFound("Unknown address.")


def describe_run(run: str) -> dict:
	"""The response for the recorded state of a run."""
	frappe.db.rollback()
	row = frappe.get_doc("Agent Run", run)
	created = to_utc(row.creation).timestamp()
	fields = {"background": row.mode == "Background"}
	builder = ResponseBuilder(row.agent, run=run, asks=True, fields=fields, created_at=created)
	status = STATUSES[row.status]
	is_open = status in OPEN
	events = replay_events(run, with_end=not is_open)
	found = builder.collect(events)
	return {**found, "status": status}


def encode_input(row: Any) -> dict:
	part = {"type": "input_text", "text": row.prompt or ""}
	return {
		"id": f"msg_{row.name}_in",
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
	path = frappe.local.request.environ.get("huf.address", "").removeprefix(prefix)
	name, _, action = path.partition("/")
	return name, action


# --- conversations ---


@frappe.whitelist(methods=["POST"])
@refusing_as_openai
def create_conversation(metadata=None, items=None, **others):
	"""Return a new conversation ID; the conversation is created with its first response. Also at
	/v1/conversations.
	"""
	if items:
		raise BadRequest("A conversation begins with its first response. Leave items out.")
	name = f"{CONVERSATION}{frappe.generate_hash(length=24)}"
	return json_response(encode_conversation(name, time.time(), read_metadata(metadata)))


@frappe.whitelist(methods=["GET", "DELETE"])
@refusing_as_openai
def conversation(**others):
	"""GET and DELETE /v1/conversations/ID, GET ID/items."""
	method, (name, action) = frappe.local.request.method, read_path(CONVERSATIONS)
	doc = find_conversation(name)
	if method == "DELETE" and not action:
		frappe.delete_doc("Agent Conversation", doc.name)
		frappe.db.commit()
		return json_response({"id": name, "object": "conversation.deleted", "deleted": True})
	if action == "items":
		return json_response(encode_list(*list_conversation_items(doc.name)))
	if action:
		raise NotFound("Unknown address.")
	return json_response(encode_conversation(name, to_utc(doc.creation).timestamp(), {}))


def find_conversation(name: str) -> Any:
	"""The user's conversation with that ID; the newest if several agents use it. Raises NotFound."""
	filters = {"channel": CHANNEL, "external_id": shorten_id(name), "owner": frappe.session.user}
	found = frappe.get_list("Agent Conversation", filters=filters, pluck="name", order_by="creation desc")
	if not found:
		raise NotFound(f"There is no conversation {name!r} with a response.")
	return frappe.get_doc("Agent Conversation", found[0])


def list_conversation_items(conversation: str) -> tuple[list[dict], bool]:
	"""(the messages of the first MAX_RUNS runs of a conversation, oldest first; whether there are more)."""
	rows = frappe.get_list(
		"Agent Run",
		filters={"conversation": conversation},
		fields=["name", "prompt", "status"],
		order_by="creation asc",
		limit_page_length=MAX_RUNS + 1,
	)
	found = []
	for row in rows[:MAX_RUNS]:
		found += [encode_input(row), *describe_run(row.name)["output"]]
	return found, len(rows) > MAX_RUNS


def encode_conversation(name: str, created: float, metadata: dict) -> dict:
	return {"id": name, "object": "conversation", "created_at": int(created), "metadata": metadata}
