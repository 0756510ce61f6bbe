"""REST of the chat page, and of front ends that ask whether a message is for the chat or for the agent.

Permissions are checked by what these call.
"""

import frappe

from huf.ai.chat import routed
from huf.ai.chat.messages import stream_chat
from huf.ai.core.errors import UsageError
from huf.ai.core.types import RunResult, RunStatus, StopReason
from huf.ai.queries import chats
from huf.ai.queries.event_stream import follow
from huf.ai.queries.run_store import tools_of
from huf.ai.runs.start import read_names
from huf.ai.storage.run_log import FAILED, WORDS
from huf.api.answers import BadRequest, as_error, as_json, read_flag, read_text, read_texts, refuse
from huf.api.sse import last_event, stream_response


@frappe.whitelist(methods=["POST"])
def stream(
	agent: str,
	prompt: str = "",
	conversation: str | None = None,
	attachments: list[str] | str | None = None,
):
	"""Say something; the run's events come as text/event-stream (see `huf.ai.core.types.EventKind`).

	`attachments`: Files by name or address.
	"""
	return stream_response(stream_chat(agent, prompt, conversation, read_names(attachments)))


@frappe.whitelist(methods=["GET"])
def rejoin(run: str, after: int = 0):
	"""Follow a run from the event after that number (or the header Last-Event-ID) to its end, as `stream` tells it.

	Where a `run_started` says `kept_steps`, the text of later steps is void: it is told again.
	"""
	frappe.get_doc("Agent Run", run).check_permission("read")
	return stream_response(follow(run, last_event() or after))


@frappe.whitelist(methods=["GET"])
def get_conversations(agent: str | None = None, start: int = 0, limit: int = 30):
	"""The user's own chats and those shared with them, newest first:

	[{name, title, agent, modified, total_messages, is_shared}].
	"""
	return chats.list_chats(frappe.session.user, agent, int(start), min(int(limit), 100))


@frappe.whitelist(methods=["POST"])
def rename_conversation(conversation: str, title: str):
	doc = frappe.get_doc("Agent Conversation", conversation)
	doc.check_permission("write")
	doc.title = title.strip()[:140] or doc.title
	doc.save()
	return doc.title


@frappe.whitelist(methods=["POST"])
def delete_conversation(conversation: str):
	frappe.delete_doc("Agent Conversation", conversation)


WAITS = "The run waits until a person has allowed one of its calls."
REFUSED = (BadRequest, UsageError, frappe.PermissionError)


@frappe.whitelist(methods=["POST"])
def route(message=None, hasAttachments=None, conversationId=None):
	"""Decide: {route, confidence, reasons, tool_needs, plan_hint}. Also at /api/chat/route.

	`conversationId` (optional) keeps the route of a task that goes on there. 400: the body is not as it should be.
	"""
	try:
		decision = routed.decide(
			read_text(message, "message"),
			read_flag(hasAttachments, "hasAttachments"),
			read_text(conversationId, "conversationId", required=False) or None,
		)
	except REFUSED as error:
		return refuse(error)
	return as_json(decision.as_dict())


@frappe.whitelist(methods=["POST"])
def agent_run(message=None, planHint=None, conversationId=None, attachments=None):
	"""Run the site's agent: {success, run_id, result, state}. Also at /api/chat/agent-run.

	A run that a limit stopped is answered with what there is of a result and success false; one that waits for a person's
	permission with 202 and the status waiting. `attachments`: Files by name or address. 400, 403, 409: nothing was begun; 500: the run failed; each with {error,
	code, suggestion}.
	"""
	try:
		objective = read_text(message, "message")
		plan = read_texts(planHint, "planHint")
		conversation = read_text(conversationId, "conversationId", required=False) or None
		plan, result = routed.run_objective(objective, plan, conversation, read_names(attachments))
	except REFUSED as error:
		return refuse(error)
	return describe_run(objective, plan, result)


def describe_run(objective: str, plan: tuple[str, ...], result: RunResult):
	if failed(result):
		error = (
			result.error or f"The run was stopped ({result.stop_reason.value}) before there was an answer."
		)
		return as_error(500, "AGENT_RUN_ERROR", error, f"Its steps are at /huf/runs/{result.run}.")
	waits = result.status is RunStatus.WAITING
	answer = result.response or {"error": result.error or (WAITS if waits else "The run was cancelled.")}
	state = {
		"objective": objective,
		"plan": plan,
		"toolsUsed": tools_of([result.run]).get(result.run, []),
		"stepsCompleted": result.steps,
		"status": "waiting" if waits else WORDS.get(result.status.value, FAILED),
	}
	body = {"success": result.success, "run_id": result.run, "result": answer, "state": state}
	return as_json(body, 202 if waits else 200)


def failed(result: RunResult) -> bool:
	"""Whether there is nothing to answer with but an error."""
	if result.status is RunStatus.FAILED or result.stop_reason is StopReason.TOOL_FAILURES:
		return True
	return result.status is RunStatus.STOPPED and not result.response


@frappe.whitelist(methods=["POST"])
def escalation_check(response=None):
	"""Whether a draft of a chat answer needs the agent: {shouldEscalate, reason?}. Also at /api/chat/escalation-check."""
	try:
		text = read_text(response, "response")
	except BadRequest as error:
		return refuse(error)
	return as_json(routed.check_escalation(text).as_dict())
