"""Endpoints for CopilotKit and other clients of AG-UI: /copilotkit/action (JSON) and /copilotkit/stream
(AG-UI events).

The server's history counts: of a client's messages only the last is read, if it is the user's. The agent is
named in the URL (?agent=NAME), in `forwardedProps.agent` or as `agent`; by default the site's agent answers.
"""

from collections.abc import Iterator
from typing import Any

import frappe
from ag_ui.core import DataSource, ImagePart, ResumeEntry, RunAgentInput, TextPart
from pydantic import ValidationError

from huf.ai.chat.approvals import ApprovalResponse, DraftOutdated
from huf.ai.chat.external import (
	answer_and_follow,
	build_external_request,
	drop_answered,
	find_live_run,
	find_thread,
	follow_queued,
	follow_request,
	run_tool_call,
	store_image,
)
from huf.ai.chat.run_states import may_read_run
from huf.ai.core.errors import UsageError
from huf.ai.core.events import RunEvent
from huf.ai.core.json_text import MAX_VALUES, has_many_values, parse_json
from huf.ai.core.request_values import read_json_object
from huf.ai.core.types import OPEN_STATUSES, AgentRequest, CallStatus
from huf.ai.queries.runs import list_tool_calls, read_tool_results
from huf.ai.runs.entry import run_once
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.drafts import describe_draft, notice_below, read_pending_drafts
from huf.api.wire.agui import (
	RunEncoder,
	describe_finished,
	encode_event,
	encode_history,
	encode_message,
)
from huf.api.wire.json_body import BadRequest, json_response, read_string, refusing
from huf.api.wire.sse import stream_data

CHANNEL = "copilotkit"
CHAT = "chat"
MAX_MESSAGES = 200
ANY_JSON = ("state", "forwardedProps")
"""Keys of a RunAgentInput whose values are not validated."""
ONLY_TEXT_AND_IMAGES = "Only text and images can be sent, images with their data."


@frappe.whitelist(methods=["POST"])
@refusing
def action(
	action=None,
	agent=None,
	message=None,
	messages=None,
	arguments=None,
	threadId=None,
	route=None,
	idempotency_key=None,
):
	"""Run the agent (action "chat"), or call one of its tools (the tool's name and `arguments`).

	Also at /copilotkit/action. A call that is repeated with its `idempotency_key` runs nothing, and gets the
	result of the first.

	Returns {success, response, tool_results: [{tool, arguments, result}], run, threadId, ...} for "chat" and
	{success, result, run, ...} for a tool; status 202 if a person has to approve something first, or the run
	is queued.
	"""
	agent = read_string(agent, "agent", required=False)
	key = read_string(idempotency_key, "idempotency_key", required=False)
	# A repeated call returns the same thread.
	thread = read_string(threadId, "threadId", required=False) or key
	if read_string(action, "action") == CHAT:
		prompt = read_message(message, messages)
		request = build_external_request(
			CHANNEL, agent, prompt, thread=thread, route=route, idempotency_key=key
		)
		result = run_once(request)
		body = describe_finished(result)
	else:
		request = build_external_request(CHANNEL, agent, "", thread=thread, idempotency_key=key)
		result = run_tool_call(request, action, read_arguments(arguments))
		body = describe_call(result)
	status = 202 if result["status"] in OPEN_STATUSES else 200
	return json_response({**body, "threadId": request.external_id}, status)


def describe_call(result: dict) -> dict:
	"""The outcome of a directly called tool.

	Its failure is reported as such, though the run itself succeeded.
	"""
	body = {key: result.get(key) for key in ("success", "run", "conversation", "status", "error")}
	if result["status"] in OPEN_STATUSES:
		return {**body, **({"draft": result["draft"]} if result.get("draft") else {})}
	calls = list_tool_calls([result["run"]])
	if not calls or calls[-1].status != CallStatus.SUCCESS.value:
		error = read_call_error(calls[-1].error_message) if calls else result["error"]
		return {**body, "success": False, "error": error}
	return {**body, "result": read_tool_results(result["run"])[-1]["result"]}


def read_call_error(text: str | None) -> str | None:
	"""The message of a failed call, whose record is what a model reads: {"error": message}."""
	try:
		return parse_json(text or "")["error"]
	except (ValueError, TypeError, KeyError):
		return text


def read_message(message, messages) -> str:
	"""The message, or the last of the messages; earlier ones are stored on the server."""
	if message is None and isinstance(messages, list) and messages and isinstance(messages[-1], dict):
		if messages[-1].get("role", "user") != "user":
			raise BadRequest("The last of the messages is not the user's.")
		message = messages[-1].get("content")
	return read_string(message, "message")


def read_arguments(arguments) -> dict:
	"""The arguments of an action, from an object or its JSON. Raises BadRequest."""
	try:
		return read_json_object(arguments or {}, "arguments")
	except UsageError as error:
		raise BadRequest(str(error)) from None


@frappe.whitelist(methods=["POST"])
@refusing
def stream():
	"""Run an agent, or resume a waiting run, and stream AG-UI events. Also at /copilotkit/stream.

	Takes a RunAgentInput. Without a new user message it joins the thread: the messages so far, then the
	events of the open run, if there is one.
	"""
	given = {key: value for key, value in frappe.local.form_dict.items() if key != "cmd"}
	if isinstance(given.get("messages"), list):
		# Earlier ones are not read; among them may be one that was refused, which the client sends again.
		given["messages"] = given["messages"][-1:]
	if has_many_values({key: value for key, value in given.items() if key not in ANY_JSON}):
		raise BadRequest(f"Besides state, the body may have at most {MAX_VALUES:,} values.")
	try:
		run_input = RunAgentInput.model_validate(given)
	except ValidationError as error:
		raise BadRequest(f"The body is not a RunAgentInput: {describe_fault(error)}") from None
	return stream_data(map(encode_event, start_events(run_input)))


def describe_fault(error: ValidationError) -> str:
	"""The first field that does not fit, and why."""
	first = error.errors()[0]
	return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def start_events(run_input: RunAgentInput) -> Iterator:
	"""The AG-UI events for the input.

	Raises before the first event if no run can be started or resumed.
	"""
	encoder = RunEncoder(run_input.thread_id, run_input.run_id, read_waited_for, run_input.state)
	prompt, images = read_last_message(run_input)
	forwarded = read_forwarded(run_input)
	request = build_external_request(
		CHANNEL,
		read_agent_name(run_input),
		prompt,
		thread=run_input.thread_id,
		attachments=() if run_input.resume else keep_images(images),
		route=forwarded.get("route"),
		idempotency_key=read_string(forwarded.get("idempotency_key"), "idempotency_key", required=False),
	)
	if run_input.resume:
		try:
			return resume_with_answers(encoder, run_input.resume)
		except DraftOutdated as error:
			# Clients keep an interrupt until a stream has ended without it, and send nothing else until then.
			if not find_thread(request.agent, CHANNEL, run_input.thread_id):
				raise
			return join_thread(encoder, request, run_input.thread_id, str(error))
	if prompt or images:
		return encode_run(encoder, follow_request(request))
	return join_thread(encoder, request, run_input.thread_id)


def encode_run(encoder: RunEncoder, events: Iterator[RunEvent | None]) -> Iterator:
	yield encoder.begin()
	yield from encoder.encode(events)


def read_waited_for(run: str) -> tuple[list[dict], str]:
	"""The drafts that a run waits for now; without any, a notice of those of a run that it called."""
	pending = [describe_draft(each) for each in read_pending_drafts(run)]
	return pending, "" if pending else notice_below(run)


def resume_with_answers(encoder: RunEncoder, entries: list[ResumeEntry]) -> Iterator:
	"""Answer the drafts named by the interrupts. The run resumes once all of its drafts are answered.

	An approver who may not read the run gets no event of it.
	"""
	answers = drop_answered([read_resume_answer(entry) for entry in entries])
	run, calls, drafts, events = answer_and_follow(answers)
	made = [(call.step, call.call_id) for call in calls]
	if not may_read_run(run):
		return iter((encoder.begin(), encoder.end({"answered": [each.draft for each in answers]})))
	encoder.skip_calls(run, made, [(draft.step, draft.call_id) for draft in drafts])
	return encode_run(encoder, events)


def read_resume_answer(entry: ResumeEntry) -> ApprovalResponse:
	"""Raises BadRequest."""
	name, _, digest = entry.interrupt_id.partition(".")
	answer: dict[str, Any] = (
		entry.payload if isinstance(entry.payload, dict) else {"approved": entry.payload is True}
	)
	approved = entry.status == "resolved" and answer.get("approved") is True
	arguments = read_arguments(answer["arguments"]) if answer.get("arguments") is not None else None
	reason = read_string(answer.get("reason"), "reason", required=False)
	return ApprovalResponse(name, digest, approved, arguments, reason)


def join_thread(encoder: RunEncoder, request: AgentRequest, thread: str, notice: str = "") -> Iterator:
	"""The thread's messages and a notice, then the open run's events from its beginning."""
	conversation = find_thread(request.agent, CHANNEL, thread)
	run = find_live_run(conversation) if conversation else None
	yield encoder.begin()
	yield encode_history(read_history_before(run, request, conversation), conversation or "")
	if notice:
		yield from encode_message(f"{encoder.ids['run_id']}-notice", notice)
	if run:
		yield from encoder.encode(follow_queued(run.name))
	else:
		yield encoder.end()


def read_history_before(run, request: AgentRequest, conversation: str | None) -> list[dict]:
	"""Messages in OpenAI's format; of the open run only the prompt, because its events follow."""
	if not conversation:
		return []
	manager = ConversationManager(request.agent, user=request.user, conversation=conversation)
	prompt = [{"role": "user", "content": run.prompt}] if run else []
	return [*manager.get_conversation_history(MAX_MESSAGES, [run.name] if run else []), *prompt]


def read_last_message(run_input: RunAgentInput) -> tuple[str, list[str]]:
	"""(text, images as data URLs) of the last message, both empty if it is not the user's. Raises
	BadRequest.
	"""
	last = run_input.messages[-1] if run_input.messages else None
	if last is None or last.role != "user":
		return "", []
	if isinstance(last.content, str):
		return last.content, []
	texts = [part.text for part in last.content if isinstance(part, TextPart)]
	sources = [part.source for part in last.content if isinstance(part, ImagePart)]
	images = [
		f"data:{each.mime_type};base64,{each.value}" for each in sources if isinstance(each, DataSource)
	]
	if len(texts) + len(images) < len(last.content):
		raise BadRequest(ONLY_TEXT_AND_IMAGES)
	return "\n".join(texts), images


def keep_images(images: list[str]) -> tuple[str, ...]:
	"""Store images as Files of the caller; returns their names. Raises BadRequest."""
	try:
		return tuple(map(store_image, images))
	except ValueError:
		raise BadRequest(ONLY_TEXT_AND_IMAGES) from None


def read_agent_name(run_input: RunAgentInput) -> str | None:
	"""The agent named in the URL or in `forwardedProps`. Raises BadRequest."""
	forwarded = read_string(read_forwarded(run_input).get("agent"), "agent", required=False)
	return frappe.local.request.args.get("agent") or forwarded


def read_forwarded(run_input: RunAgentInput) -> dict:
	return run_input.forwarded_props if isinstance(run_input.forwarded_props, dict) else {}
