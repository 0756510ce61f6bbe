"""The endpoint of OpenAI's Responses API, with agents as models; see `docs/front-ends.md`.

A response is a run, with the ID `resp_` + the run's name. Its conversation is the one that the caller names
(`conv_...`), or that of `previous_response_id`. `route` in `metadata` is auto, chat or agent: see
`docs/router.md`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import frappe

from huf.ai.chat import approvals
from huf.ai.chat.external import (
	answer_and_follow,
	drop_answered,
	follow_queued,
	follow_request,
)
from huf.ai.core.events import RunEvent
from huf.ai.core.types import AgentRequest
from huf.ai.runs.queue import enqueue_run
from huf.api.wire.json_body import BadRequest, json_response, read_flag
from huf.api.wire.openai_errors import failure_status, openai_error
from huf.api.wire.openai_requests import (
	CONVERSATION,
	OWN_TOOLS,
	admit_as_model,
	build_openai_request,
	check_format,
	digest_request,
	find_begun_run,
	read_metadata,
	read_response_run,
	refusing_as_openai,
)
from huf.api.wire.response_input import Input, find_referenced, read_input
from huf.api.wire.responses import RESPONSE, SERVER_LABEL, ResponseBuilder
from huf.api.wire.sse import stream_texts


@frappe.whitelist(methods=["POST"])
@refusing_as_openai
def create(model=None, input=None, stream=None, background=None, tools=None, metadata=None, **others):
	"""Run an agent, or answer a call that waits for approval. Also at /v1/responses."""
	asks, named = read_can_approve(tools), read_metadata(metadata)
	given = read_input(replace_references(input))
	is_background, text = read_flag(background, "background"), others.get("text")
	check_format(text.get("format") if isinstance(text, dict) else text)
	fields = {
		"background": is_background,
		"metadata": named,
		"previous_response_id": others.get("previous_response_id"),
		"instructions": others.get("instructions"),
	}
	if conversation := read_conversation_id(others.get("conversation")):
		fields["conversation"] = {"id": conversation}
	if given.message is None:
		builder, events = answer_approvals(given, fields)
	elif begun := find_begun_run():
		builder = ResponseBuilder(begun.agent, run=begun.name, asks=asks, fields=fields)
		events = follow_queued(begun.name)
	else:
		request = read_response_request(model, given, conversation, others, named.get("route"))
		request = replace(request, client_fields=fields, request_key=digest_request())
		builder = ResponseBuilder(request.agent, asks=asks, fields=fields)
		events = enqueue(request, builder) if is_background else follow_request(request)
	if read_flag(stream, "stream"):
		builder.run = ""
		return stream_texts(builder.stream(events))
	if is_background:
		return json_response(builder.as_dict("queued"))
	found = builder.collect(events)
	if found["error"]:
		# Calls that the run made count: the stored response has them.
		message = f"{found['error']['message']} GET /v1/responses/{found['id']} shows what was done."
		status, code = failure_status(found["metadata"].get("stop_reason"))
		return openai_error(status, message, code)
	return json_response(found)


def enqueue(request: AgentRequest, builder: ResponseBuilder) -> Iterator[RunEvent | None]:
	"""Queue a run. Returns its events, which come from its worker; reading them is optional."""
	run = enqueue_run(request).name
	builder.run = run
	return follow_queued(run)


def read_response_request(
	model, given: Input, conversation: str | None, others: dict, route: str | None
) -> AgentRequest:
	admit_as_model(model)
	previous = others.get("previous_response_id")
	if previous and conversation:
		raise BadRequest("Send previous_response_id or conversation, not both.")
	continued = read_response_run(str(previous)).conversation if previous else None
	request = build_openai_request(
		model,
		given.message or {},
		thread=conversation,
		conversation=continued,
		history=None if continued or conversation else given.earlier,
		route=route,
	)
	return add_instructions(request, others.get("instructions"))


def add_instructions(request: AgentRequest, instructions: Any) -> AgentRequest:
	"""Add the caller's instructions as user text: only the agent's own are system instructions."""
	if not instructions:
		return request
	if not isinstance(instructions, str):
		raise BadRequest("instructions must be text.")
	if request.history is None:
		return replace(request, prompt=f"{instructions}\n\n{request.prompt}")
	return replace(request, history=({"role": "user", "content": instructions}, *request.history))


def read_can_approve(tools: Any) -> bool:
	"""Whether the client can answer approvals: it lists the server `huf` as a tool. Raises BadRequest."""
	if not isinstance(tools or [], list):
		raise BadRequest(OWN_TOOLS)
	for tool in tools or ():
		if (
			not isinstance(tool, dict)
			or tool.get("type") != "mcp"
			or tool.get("server_label") != SERVER_LABEL
		):
			raise BadRequest(OWN_TOOLS)
	return bool(tools)


def answer_approvals(given: Input, fields: dict) -> tuple[ResponseBuilder, Iterator[RunEvent | None]]:
	"""Answer the drafts named by approval responses. The continued run becomes the response.

	Clients that resend the whole conversation repeat earlier answers, which are ignored.
	"""
	answers = drop_answered(list(given.approvals))
	read_response_run(f"{RESPONSE}{approvals.get_open_draft(answers[-1].draft, answers[-1].digest).run}")
	run, made, _, events = answer_and_follow(answers)
	agent = frappe.db.get_value("Agent Run", run, "agent")
	skipped = frozenset((call.step, call.call_id) for call in made)
	return ResponseBuilder(agent, run=run, asks=True, skipped=skipped, fields=fields), events


def replace_references(items: Any) -> Any:
	"""The input with messages in place of references to them, which the Vercel AI SDK sends. An answer has a
	reference for each of its steps, and is read once. Raises NotFound.
	"""
	if not isinstance(items, list):
		return items
	found: dict[Any, Any] = {}
	for number, item in enumerate(items):
		referenced = find_referenced(item)
		if referenced not in found:
			found[referenced or number] = read_referenced(*referenced) if referenced else item
	return list(found.values())


def read_referenced(run: str, role: str) -> dict:
	row = read_response_run(f"{RESPONSE}{run}")
	return {"role": role, "content": (row.prompt if role == "user" else row.response) or ""}


def read_conversation_id(given: Any) -> str | None:
	"""Raises BadRequest."""
	name = given.get("id") if isinstance(given, dict) else given
	if name is not None and not (isinstance(name, str) and name.startswith(CONVERSATION) and len(name) < 100):
		raise BadRequest(f"conversation must be an id that begins with {CONVERSATION}.")
	return name
