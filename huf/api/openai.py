"""Endpoints for OpenAI's clients, with agents as models: /v1/models and /v1/chat/completions.

A caller is a Frappe user, by API key: `Authorization: Bearer <api key>:<api secret>`. With the header
X-Conversation-Id, or `conversation_id` in `metadata`, Huf keeps the conversation and reads only the last
message; otherwise the conversation is what the caller sends. `user` names a person, not a conversation, and
is ignored. So are sampling parameters, which the agent sets.

`route` in `metadata` is auto, chat or agent, and the decision comes back as `route`: see `docs/router.md`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import frappe
from werkzeug.wrappers import Response

from huf.ai.chat.external import (
	build_external_request,
	find_repeated_run,
	follow_queued,
	follow_request,
	store_image,
)
from huf.ai.core.errors import TooManyRuns, UsageError
from huf.ai.core.events import RunEvent
from huf.ai.core.refusals import read_refusal
from huf.ai.core.times import to_utc
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs import admission
from huf.ai.runs.entry import run_agent
from huf.ai.storage.rows import digest
from huf.api.wire.json_body import BadRequest, json_response, read_flag, read_string, refusing_with
from huf.api.wire.openai import (
	NOT_ENDED,
	ONLY_TEXT_AND_IMAGES,
	encode_chunks,
	encode_completion,
	encode_model,
	find_failure,
	read_earlier_message,
	read_end,
	read_image_urls,
	read_message_text,
	read_run_result,
)
from huf.api.wire.openai_errors import AFTER_RUN, failure_status, openai_error
from huf.api.wire.sse import stream_data

CHANNEL = "openai"
MODELS = "/v1/models"
OWN_TOOLS = "An agent uses its own tools. Leave tools and functions out."
ONLY_TEXT = "An agent answers with text. Leave response formats out."
UNSUPPORTED = {"tools": OWN_TOOLS, "functions": OWN_TOOLS, "audio": "Audio is not supported."}


class ModelNotFound(BadRequest):
	"""The user has no agent of that name."""


class NotFound(Exception):
	"""The user has no such response or conversation."""


def describe_refusal(error: Exception) -> Response:
	if isinstance(error, ModelNotFound):
		return openai_error(404, str(error), "model_not_found")
	if isinstance(error, (NotFound, frappe.DoesNotExistError)):
		return openai_error(404, str(error), "not_found")
	if isinstance(error, BadRequest):
		return openai_error(400, str(error), "invalid_value")
	if isinstance(error, frappe.PermissionError):
		return openai_error(403, read_refusal(error) or "You may not do this.", "permission_denied")
	return openai_error(429 if isinstance(error, TooManyRuns) else 400, str(error))


refusing_as_openai = refusing_with(
	describe_refusal, BadRequest, NotFound, frappe.DoesNotExistError, frappe.PermissionError, UsageError
)


@frappe.whitelist(methods=["GET"])
def models():
	"""The agents the user may chat with, as models. Also at /v1/models, and one at /v1/models/NAME."""
	names = [agent.name for agent in admission.list_usable_agents(frappe.session.user, {"allow_chat": 1})]
	wanted = frappe.local.request.environ.get("huf.address", MODELS).removeprefix(MODELS).lstrip("/")
	if not wanted:
		return json_response({"object": "list", "data": [describe_model(name) for name in names]})
	if wanted not in names:
		return openai_error(404, describe_missing(wanted), "model_not_found")
	return json_response(describe_model(wanted))


def describe_model(name: str) -> dict:
	created = frappe.get_cached_doc("Agent", name).creation
	return encode_model(name, to_utc(created))


def describe_missing(name: str) -> str:
	return f"There is no agent {name!r} that you may use as a model. GET /v1/models lists them."


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
		return stream_data(encode_chunks(events, agent, usage))
	ended = read_end(events) if events else wait_for_end(request)
	if ended is None:
		return openai_error(AFTER_RUN, NOT_ENDED, "not_ended")
	if error := find_failure(ended):
		status, code = failure_status(ended["stop_reason"])
		return openai_error(status, error, code)
	return json_response(encode_completion(ended, agent))


def find_begun_run():
	"""The run, {name, agent}, of a request that its client sends again because it has lost the connection."""
	request = frappe.local.request
	is_repeated = request.headers.get("X-Stainless-Retry-Count", "0") != "0"
	return find_repeated_run(digest_request()) if is_repeated else None


def digest_request() -> str:
	request, user = frappe.local.request, frappe.session.user
	conversation = request.headers.get("X-Conversation-Id")
	return digest(user, request.path, conversation, request.get_data(as_text=True))


def wait_for_end(request: AgentRequest) -> dict | None:
	"""The fields as from `read_end`. Nobody reads along, so the model's answers are requested whole."""
	result = run_agent(request)
	is_behind = result.status is RunStatus.QUEUED and not result.error
	return read_end(follow_queued(result.run)) if is_behind else read_run_result(result)


def check_format(given: Any) -> None:
	"""Raises BadRequest for a response format other than text."""
	if given is not None and not (isinstance(given, dict) and given.get("type") == "text"):
		raise BadRequest(ONLY_TEXT)


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


def admit_as_model(model) -> None:
	"""Raises ModelNotFound."""
	try:
		admission.admit(str(model), frappe.session.user, chat=True)
	except (frappe.PermissionError, UsageError):
		raise ModelNotFound(describe_missing(model)) from None


def build_openai_request(model, message: dict, **options) -> AgentRequest:
	"""A request with a message in OpenAI's chat format, whose images are stored. Raises BadRequest."""
	files = tuple(map(keep_image, read_image_urls(message)))
	prompt = read_message_text(message, image_text="")
	return build_external_request(CHANNEL, model, prompt, attachments=files, **options)


def read_thread(metadata: dict) -> str | None:
	"""The caller's name for a conversation that Huf stores, if any."""
	request = frappe.local.request
	named = read_string(metadata.get("conversation_id"), "conversation_id", required=False)
	return named or (request.headers.get("X-Conversation-Id") if request else None)


def keep_image(url) -> str:
	"""Store a data URL as a File of the caller; returns the File's name. Raises BadRequest."""
	try:
		return store_image(url)
	except ValueError:
		raise BadRequest(ONLY_TEXT_AND_IMAGES) from None


@frappe.whitelist(allow_guest=True, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
def unknown():
	"""Any other address below /v1."""
	return openai_error(
		404, "Unknown address. Huf has /v1/models, /v1/chat/completions, /v1/responses, /v1/conversations."
	)
