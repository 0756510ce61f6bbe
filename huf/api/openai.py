"""Endpoints for OpenAI's clients, with agents as models: /v1/models and /v1/chat/completions.

A caller is a Frappe user, by API key: `Authorization: Bearer <api key>:<api secret>`. With the header
X-Conversation-Id, or `conversation_id` in `metadata`, Huf keeps the conversation and reads only the last
message; otherwise the conversation is what the caller sends. `user` names a person, not a conversation, and
is ignored. So are sampling parameters, which the agent sets.

`route` in `metadata` is auto, chat or agent, and the decision comes back as `route`: see `docs/router.md`.
"""

from collections.abc import Iterator
from dataclasses import replace

import frappe

from huf.ai.chat.external import follow_queued, follow_request
from huf.ai.core.errors import RunLost
from huf.ai.core.events import RunEvent
from huf.ai.core.times import to_utc
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs import admission
from huf.ai.runs.entry import run_agent
from huf.ai.storage.jobs import enqueue_job
from huf.api.addresses import read_subpath
from huf.api.wire.json_body import BadRequest, json_response, read_flag, read_string
from huf.api.wire.openai import (
	ENDS,
	NOT_ENDED,
	encode_chunks,
	encode_completion,
	encode_model,
	find_failure,
	read_earlier_message,
	read_end,
	read_run_result,
)
from huf.api.wire.openai_errors import AFTER_RUN, failure_status, openai_error
from huf.api.wire.openai_requests import (
	OWN_TOOLS,
	admit_as_model,
	build_openai_request,
	check_format,
	describe_missing,
	digest_request,
	find_begun_run,
	refusing_as_openai,
)
from huf.api.wire.sse import stream_data

MODELS = "/v1/models"
UNSUPPORTED = {"tools": OWN_TOOLS, "functions": OWN_TOOLS, "audio": "Audio is not supported."}


@frappe.whitelist(methods=["GET"])
def models():
	"""The agents the user may chat with, as models. Also at /v1/models, and one at /v1/models/NAME."""
	if not frappe.has_permission("Agent", "read"):
		return openai_error(403, admission.NEEDS_ROLE)
	names = [agent.name for agent in admission.list_usable_agents(frappe.session.user, {"allow_chat": 1})]
	wanted = read_subpath(MODELS)
	if not wanted:
		return json_response({"object": "list", "data": [describe_model(name) for name in names]})
	if wanted not in names:
		return openai_error(404, describe_missing(wanted), "model_not_found")
	return json_response(describe_model(wanted))


def describe_model(name: str) -> dict:
	created = frappe.get_cached_doc("Agent", name).creation
	return encode_model(name, to_utc(created))


@frappe.whitelist(methods=["POST"])
@refusing_as_openai
def chat_completions(
	model=None, messages=None, stream=None, stream_options=None, metadata=None, n=None, **others
):
	"""Run an agent, with its tools, and return its text. Also at /v1/chat/completions."""
	if unsupported := [why for name, why in UNSUPPORTED.items() if others.get(name)]:
		raise BadRequest(unsupported[0])
	if n not in (None, 1):
		raise BadRequest("An agent returns one answer. Leave n out.")
	check_format(others.get("response_format"))
	is_stream = read_flag(stream, "stream")
	events: Iterator[RunEvent | None] | None
	if begun := find_begun_run():
		agent, events = begun.agent, follow_queued(begun.name)
	else:
		request = replace(read_completion_request(model, messages, metadata), request_key=digest_request())
		agent, events = request.agent, follow_request(request) if is_stream else None
	if events and is_stream:
		usage = isinstance(stream_options, dict) and bool(stream_options.get("include_usage"))
		return stream_data(encode_chunks(cancel_unread(events), agent, usage))
	ended = read_end(events) if events else wait_for_end(request)
	if ended is None:
		return openai_error(AFTER_RUN, NOT_ENDED, "not_ended")
	if error := find_failure(ended):
		status, code = failure_status(ended["stop_reason"])
		return openai_error(status, error, code)
	return json_response(encode_completion(ended, agent))


def cancel_unread(events: Iterator[RunEvent | None]) -> Iterator[RunEvent | None]:
	"""The events of a run, which is cancelled if its reader leaves before the end: no OpenAI client could
	rejoin it. One who leaves before the first event may send the request again.
	"""
	run = ""
	try:
		for event in events:
			yield event
			if event:
				run = "" if event.kind in ENDS else event.run
	except GeneratorExit:
		if run:
			# In a job, because here the run may be in a transaction.
			enqueue_job("huf.ai.chat.approvals.cancel_run", run=run)
		raise


def wait_for_end(request: AgentRequest) -> dict | None:
	"""The fields as from `read_end`. Nobody reads along, so the model's answers are requested whole."""
	try:
		result = run_agent(request)
	except RunLost as lost:
		return read_end(follow_queued(lost.run))
	is_behind = result.status is RunStatus.QUEUED and not result.error
	return read_end(follow_queued(result.run)) if is_behind else read_run_result(result)


def read_completion_request(model, messages, metadata) -> AgentRequest:
	admit_as_model(model)
	if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages) or not messages:
		raise BadRequest("messages must be a list of messages, each with role and content.")
	*earlier, last = messages
	if last.get("role") != "user":
		raise BadRequest("The last message must be the user's.")
	named = metadata if isinstance(metadata, dict) else {}
	thread = read_thread(named)
	history = None if thread else tuple(filter(None, map(read_earlier_message, earlier)))
	return build_openai_request(model, last, thread=thread, history=history, route=named.get("route"))


def read_thread(metadata: dict) -> str | None:
	"""The caller's name for a conversation that Huf stores, if any."""
	request = frappe.local.request
	named = read_string(metadata.get("conversation_id"), "conversation_id", required=False)
	return named or (request.headers.get("X-Conversation-Id") if request else None)


@frappe.whitelist(allow_guest=True, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
def unknown():
	"""Any other address below /v1."""
	return openai_error(
		404, "Unknown address. Huf has /v1/models, /v1/chat/completions, /v1/responses, /v1/conversations."
	)
