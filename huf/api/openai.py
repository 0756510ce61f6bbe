"""OpenAI's wire: agents appear as models, at /v1/models and /v1/chat/completions.

A caller is a Frappe user by API key: `Authorization: Bearer <api key>:<api secret>`. With the header X-Conversation-Id, or
`conversation_id` in `metadata`, the conversation is kept here and only the last message is read; otherwise it is what the
caller sends. `user` names a person and no conversation, so it is not used for that. What a caller writes as the system is
taken as the person's word. Pictures of the last message are shown to the agent, those before it where the conversation is
kept here. How the model samples is the agent's affair: such parameters are ignored.
"""

import json
import time
from collections.abc import Iterator

import frappe
from werkzeug.wrappers import Response

from huf.ai.chat.external import follow_request, keep_picture, request_for
from huf.ai.core.errors import UsageError
from huf.ai.core.types import AgentRequest, EventKind, RunEvent, RunStatus, StopReason
from huf.ai.runs import admission
from huf.ai.runs.start import run_agent
from huf.api.agent import get_agents
from huf.api.answers import BadRequest, as_json
from huf.api.keys import as_error, error_body
from huf.api.shown import Shown
from huf.api.sse import as_stream

CHANNEL = "openai"
MODELS = "/v1/models"
OWN_TOOLS = "An agent has tools of its own. Send none."
REFUSED = {"tools": OWN_TOOLS, "functions": OWN_TOOLS, "audio": "Sound can be neither sent nor given."}
ONLY = "The content of a message must be text, or pictures as data URLs (image_url)."
PICTURE = "image_url"
SHOWN_BEFORE = "[A picture that is no longer shown]"
WAITS = "This waits until a person has allowed {tool}: /huf/runs/{run}"


class ModelMissing(BadRequest):
	"""There is no agent of that name for this user."""


@frappe.whitelist(methods=["GET"])
def models():
	"""The agents the user may chat with, as models. Also at /v1/models, and one at /v1/models/NAME."""
	listed = {each["name"]: describe_model(each["name"]) for each in get_agents()}
	wanted = frappe.local.request.environ.get("huf.address", MODELS).removeprefix(MODELS).lstrip("/")
	if not wanted:
		return as_json({"object": "list", "data": list(listed.values())})
	return as_json(listed[wanted]) if wanted in listed else as_error(404, missing(wanted), "model_not_found")


def describe_model(name: str) -> dict:
	created = frappe.get_cached_doc("Agent", name).creation
	stamp = int(frappe.utils.get_datetime(created).timestamp())
	return {"id": name, "object": "model", "created": stamp, "owned_by": "huf"}


def missing(name: str) -> str:
	return f"There is no agent {name!r} that you may use as a model. GET /v1/models lists them."


@frappe.whitelist(methods=["POST"])
def chat_completions(
	model=None, messages=None, stream=None, stream_options=None, metadata=None, n=None, **others
):
	"""Have an agent answer. Also at /v1/chat/completions. Its tools are used here; only the text is told."""
	try:
		if unfit := [why for name, why in REFUSED.items() if others.get(name)]:
			raise BadRequest(unfit[0])
		if n not in (None, 1):
			raise BadRequest("An agent gives one answer: leave n out.")
		request = read_request(model, messages, metadata)
		if stream:
			usage = isinstance(stream_options, dict) and bool(stream_options.get("include_usage"))
			return as_stream(as_chunks(follow_request(request), request.agent, usage))
		return complete(request)
	except ModelMissing as error:
		return as_error(404, str(error), "model_not_found")
	except BadRequest as error:
		return as_error(400, str(error), "invalid_value")
	except UsageError as error:
		return as_error(429 if error.http_status_code == 429 else 400, str(error))


# --- what is asked ---


def read_request(model, messages, metadata) -> AgentRequest:
	try:
		admission.admit(str(model), frappe.session.user, chat=True)
	except (frappe.PermissionError, UsageError):
		raise ModelMissing(missing(model)) from None
	if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages) or not messages:
		raise BadRequest("messages must be a list of messages, each with role and content.")
	*before, last = messages
	if last.get("role") != "user":
		raise BadRequest("The last message must be the user's.")
	thread = read_thread(metadata)
	history = None if thread else tuple(filter(None, map(read_message, before)))
	said, pictures = (
		read_content(last, shown=""),
		[part for part in parts_of(last) if part["type"] == PICTURE],
	)
	files = tuple(map(keep, pictures))
	return request_for(CHANNEL, model, said, thread=thread, history=history, attachments=files)


def read_thread(metadata) -> str | None:
	named = metadata.get("conversation_id") if isinstance(metadata, dict) else None
	request = frappe.local.request
	return named or (request.headers.get("X-Conversation-Id") if request else None)


def read_message(message: dict) -> dict | None:
	"""One of the history as a model is told it; None where there is nothing to tell."""
	text = read_content(message) if message.get("content") else ""
	if not text or message.get("role") not in ("user", "system", "developer", "assistant"):
		return None
	return {"role": "assistant" if message["role"] == "assistant" else "user", "content": text}


def read_content(message: dict, shown: str = SHOWN_BEFORE) -> str:
	"""The words of a message; `shown` stands for each picture."""
	said = (str(part.get("text") or "") if part["type"] == "text" else shown for part in parts_of(message))
	return "\n".join(filter(None, said))


def parts_of(message: dict) -> list[dict]:
	content = message.get("content")
	parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
	if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
		raise BadRequest(ONLY)
	if any(part.get("type") not in ("text", PICTURE) for part in parts):
		raise BadRequest(ONLY)
	return parts


def keep(part: dict) -> str:
	"""A picture as a File of the caller's; gives its name."""
	sent = part.get(PICTURE)
	url = sent.get("url") if isinstance(sent, dict) else sent
	try:
		return keep_picture(url)
	except ValueError:
		raise BadRequest(ONLY) from None


# --- what is answered ---


def complete(request: AgentRequest) -> Response:
	result = run_agent(request)
	told = result.as_dict()
	if failed(told):
		return as_error(500, failure(told), "agent_error")
	waiting = waits(told["draft"]["tool"], result.run) if result.draft else ""
	content = "\n\n".join(filter(None, (result.response, waiting)))
	message = {"role": "assistant", "content": content, "refusal": None}
	choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(told)}
	run = {"run": result.run, "conversation": result.conversation}
	head = head_of("chat.completion", result.run, request.agent)
	return as_json({**head, "choices": [choice], "usage": usage_of(told), "metadata": run})


def as_chunks(events: Iterator[RunEvent | None], agent: str, with_usage: bool) -> Iterator[str | None]:
	"""The data of each server-sent event. Text that a run took back cannot be: what replaces it comes in a new paragraph."""
	shown, head, waiting = Shown(), {}, ""
	for event in events:
		if event is None:
			yield None
			continue
		if not head:
			head = head_of("chat.completion.chunk", event.run, agent) | (
				{"usage": None} if with_usage else {}
			)
			yield chunk(head, {"role": "assistant", "content": ""})
		if event.kind is EventKind.DRAFT_CREATED:
			waiting = waits(event.data["tool"], event.run)
		text = shown.take(event)
		if event.kind is EventKind.RUN_WAITING:
			text += ("\n\n" if shown.text else "") + waiting
		if text:
			yield chunk(head, {"content": text})
		if event.kind in (EventKind.RUN_FINISHED, EventKind.RUN_WAITING):
			if failed(event.data):
				yield json.dumps(error_body(500, failure(event.data), "agent_error"))
				break
			yield chunk(head, {}, finish_reason(event.data))
			if with_usage:
				yield json.dumps({**head, "choices": [], "usage": usage_of(event.data)})
	yield "[DONE]"


def head_of(kind: str, run: str, agent: str) -> dict:
	return {"id": f"chatcmpl-{run}", "object": kind, "created": int(time.time()), "model": agent}


def chunk(head: dict, delta: dict, reason: str | None = None) -> str:
	choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
	return json.dumps({**head, "choices": [choice]}, ensure_ascii=False)


def failed(told: dict) -> bool:
	return told["status"] in (RunStatus.FAILED.value, RunStatus.CANCELLED.value) or (
		told["status"] == RunStatus.STOPPED.value and not told["response"]
	)


def failure(told: dict) -> str:
	return told["error"] or f"The run ended without an answer ({told['stop_reason']})."


def waits(tool: str, run: str) -> str:
	return WAITS.format(tool=tool, run=run)


def finish_reason(told: dict) -> str:
	"""A run that a limit ended has, to OpenAI, run out of length."""
	return "stop" if told["stop_reason"] in (None, StopReason.FINAL_ANSWER.value) else "length"


def usage_of(told: dict) -> dict:
	asked, answered = told["input_tokens"] or 0, told["output_tokens"] or 0
	return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


@frappe.whitelist(allow_guest=True, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
def unknown():
	"""Everything else below /v1."""
	return as_error(404, "There is nothing here. Huf has /v1/models and /v1/chat/completions.")
