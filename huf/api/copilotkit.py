"""REST for CopilotKit and other clients of AG-UI: /copilotkit/action (JSON) and /copilotkit/stream (AG-UI events).

The server's history is the truth: of the messages a client sends only the last is read, where it is the person's. The agent
is named in the address (?agent=NAME), in `forwardedProps.agent` or as `agent`; else it is the site's own.
"""

import json
from collections.abc import Iterator

import frappe
from ag_ui.core import RunAgentInput
from pydantic import ValidationError

from huf.ai.chat.external import (
	answer_draft,
	call_tool,
	find_live_run,
	find_thread,
	follow_request,
	request_for,
)
from huf.ai.core.errors import UsageError
from huf.ai.core.types import AgentRequest, CallStatus, RunEvent, RunResult
from huf.ai.queries.event_stream import follow
from huf.ai.queries.runs import calls_of, tool_results
from huf.ai.runs.start import run_agent
from huf.ai.storage.conversations import ConversationManager
from huf.api import agui
from huf.api.answers import BadRequest, as_json, read_text, refuse
from huf.api.sse import as_stream

CHANNEL = "copilotkit"
CHAT = "chat"
MAX_MESSAGES = 200
REFUSED = (BadRequest, UsageError, frappe.PermissionError)


@frappe.whitelist(methods=["POST"])
def action(action=None, agent=None, message=None, messages=None, arguments=None, threadId=None):
	"""Have the agent answer (action "chat"), or have one of its tools called (its name and `arguments`).

	Gives {success, response, tool_results: [{tool, arguments, result}], run, threadId, ...} for "chat", and {success,
	result, run, ...} for a tool; 202 where a person has to allow something first. Also at /copilotkit/action.
	"""
	try:
		if read_text(action, "action") == CHAT:
			request = request_for(CHANNEL, agent, read_said(message, messages), thread=threadId)
			result = run_agent(request)
			told = {**result.as_dict(), "tool_results": tool_results(result.run)}
		else:
			request = request_for(CHANNEL, agent, "", thread=threadId)
			result = call_tool(request, action, read_arguments(arguments))
			told = told_of_call(result)
	except REFUSED as error:
		return refuse(error)
	return as_json({**told, "threadId": request.external_id}, 202 if result.draft else 200)


def told_of_call(result: RunResult) -> dict:
	"""How the call went; a run in which it failed has come to its end all the same."""
	told = {key: result.as_dict().get(key) for key in ("success", "run", "conversation", "status", "error")}
	if result.draft:
		return {**told, "draft": result.draft}
	made, called = calls_of([result.run]), tool_results(result.run)
	if not made or made[-1].status != CallStatus.SUCCESS.value:
		return {**told, "success": False, "error": made[-1].error_message if made else result.error}
	return {**told, "result": called[-1]["result"]}


def read_said(message, messages) -> str:
	"""The message, or the last of messages; the others are on record here."""
	if message is None and isinstance(messages, list) and messages and isinstance(messages[-1], dict):
		message = messages[-1].get("content")
	return read_text(message, "message")


def read_arguments(arguments) -> dict:
	if isinstance(arguments, str):
		try:
			arguments = json.loads(arguments)
		except ValueError:
			raise BadRequest("arguments is no JSON.") from None
	if not isinstance(arguments or {}, dict):
		raise BadRequest("arguments must be an object.")
	return arguments or {}


@frappe.whitelist(methods=["POST"])
def stream():
	"""Run an agent, or go on with a run that waits, as AG-UI tells it. Also at /copilotkit/stream.

	Takes a RunAgentInput. Without a new message of the person it joins the thread: what was said, then the run that goes on
	there, if one does.
	"""
	try:
		wanted = RunAgentInput.model_validate(
			{key: value for key, value in frappe.local.form_dict.items() if key != "cmd"}
		)
	except ValidationError as error:
		return refuse(BadRequest(f"The body is no RunAgentInput: {error.errors()[0]['msg']}"))
	try:
		return as_stream(map(agui.encode, tell(wanted)))
	except REFUSED as error:
		return refuse(error)


def tell(wanted: RunAgentInput) -> Iterator:
	"""AG-UI events. Raises at once what keeps a run from starting; an answer that does not count is a RUN_ERROR."""
	wire = agui.Wire(wanted.thread_id, wanted.run_id, wanted.state)
	said = last_said(wanted)
	request = request_for(CHANNEL, name_agent(wanted), said or "", thread=wanted.thread_id)
	if wanted.resume:
		return resume(wire, wanted)
	if said:
		return follow_on(wire, follow_request(request))
	return join(wire, request)


def follow_on(wire: agui.Wire, events: Iterator[RunEvent | None]) -> Iterator:
	yield wire.begin()
	yield from wire.translate(events)


def resume(wire: agui.Wire, wanted: RunAgentInput) -> Iterator:
	entry = wanted.resume[0]
	name, _, digest = entry.interrupt_id.partition(".")
	answer = entry.payload if isinstance(entry.payload, dict) else {"approved": entry.payload is True}
	allowed = entry.status == "resolved" and answer.get("approved") is True
	draft, made, events = answer_draft(name, digest, allowed, answer.get("arguments"), answer.get("reason"))
	wire.know(draft.run, [(call.step, call.call_id) for call in made], (draft.step, draft.call_id))
	return follow_on(wire, events)


def join(wire: agui.Wire, request: AgentRequest) -> Iterator:
	"""What was said in the thread, and the run that goes on there from its beginning."""
	conversation = find_thread(request.agent, CHANNEL, request.external_id)
	run = find_live_run(conversation) if conversation else None
	yield wire.begin()
	yield agui.as_snapshot(read_history(request, conversation, run), conversation or "")
	if run:
		yield from wire.translate(follow(run.name))
	else:
		yield wire.end()


def read_history(request: AgentRequest, conversation: str | None, run) -> list[dict]:
	"""Messages in OpenAI's form; of the run that goes on only what the person said."""
	if not conversation:
		return []
	manager = ConversationManager(request.agent, user=request.user)
	manager.conversation = conversation
	asked = [{"role": "user", "content": run.prompt}] if run else []
	return [*manager.get_conversation_history(MAX_MESSAGES, [run.name] if run else []), *asked]


def last_said(wanted: RunAgentInput) -> str | None:
	last = wanted.messages[-1] if wanted.messages else None
	if last is None or last.role != "user":
		return None
	if isinstance(last.content, str):
		return last.content
	if any(part.type != "text" for part in last.content):
		raise BadRequest("Only text can be sent.")
	return "\n".join(part.text for part in last.content)


def name_agent(wanted: RunAgentInput) -> str | None:
	forwarded = wanted.forwarded_props if isinstance(wanted.forwarded_props, dict) else {}
	return frappe.local.request.args.get("agent") or forwarded.get("agent")
