"""Endpoints of the chat page, and of front ends that route messages to a chat or the agent.

Permissions are checked here or by the functions that are called.
"""

import re
from typing import Any

import frappe

from huf.ai.chat import routed
from huf.ai.chat.messages import stream_chat
from huf.ai.core.documents import get_permitted
from huf.ai.core.request_values import clamp_count, clamp_start
from huf.ai.core.types import OPEN_STATUSES, RunStatus, StopReason
from huf.ai.queries import chats
from huf.ai.queries.event_stream import follow_while_permitted
from huf.ai.queries.run_store import list_tools_by_run
from huf.ai.runs.entry import parse_names
from huf.ai.runs.routing import check_escalation
from huf.ai.storage.chats import list_versions_of_chat
from huf.ai.storage.events import EXTERNAL_FAILED, EXTERNAL_STATUSES
from huf.api.wire.json_body import (
	json_error,
	json_response,
	read_flag,
	read_string,
	read_strings,
	refusing,
)
from huf.api.wire.sse import stream_events

APPROVAL_PENDING = "The run waits until a person approves one of its calls."
QUEUED = "The run is queued: it begins when the last run of its conversation has ended. Do not send it again."
NO_ANSWER = {RunStatus.WAITING.value: APPROVAL_PENDING, RunStatus.QUEUED.value: QUEUED}
EVENT_ID = re.compile("[0-9]{1,18}")


@frappe.whitelist(methods=["POST"])
def stream(
	agent: str,
	prompt: str = "",
	conversation: str | None = None,
	attachments: list | str | None = None,
	is_test: bool = False,
	route: str | None = None,
	model: str | None = None,
	idempotency_key: str | None = None,
):
	"""Send a message and stream the run's events (see `huf.ai.core.events.EventKind`).

	`attachments`: Files, by name or URL. A new chat that `is_test` is not listed among the user's chats.
	`route`: auto (the router decides, see `docs/router.md`), chat (without tools) or agent (the default).
	`model`: one of the models that the agent allows in chats, instead of its own. `idempotency_key`: 16 to 64
	letters, digits and hyphens; if the same user sends a message again with the same key, the events of its
	run follow and nothing is run again.
	"""
	files = parse_names(attachments)
	events = stream_chat(agent, prompt, conversation, files, is_test, route, model, idempotency_key)
	return stream_events(events)


@frappe.whitelist(methods=["GET"])
def rejoin(run: str, after: int = 0):
	"""Stream a run's events to its end, from the one after `after` or the header Last-Event-ID.

	It ends with the session or the permission. After a `run_started` with `kept_steps`, drop the text of
	later steps: those steps run again.
	"""
	get_permitted("Agent Run", run)
	return stream_events(follow_while_permitted(run, read_last_event_id() or after))


def read_last_event_id() -> int:
	"""The number in the header that a browser sends when it reconnects; 0 without one."""
	request = getattr(frappe.local, "request", None)
	sent = request.headers.get("Last-Event-ID", "") if request else ""
	return int(sent) if EVENT_ID.fullmatch(sent) else 0


@frappe.whitelist(methods=["GET"])
def get_conversations(agent: str | None = None, start: int = 0, limit: int = 30):
	"""The user's chats and those shared with them, newest first.

	[{name, title, agent, modified, total_messages, is_shared}]
	"""
	return chats.list_chats(frappe.session.user, agent, clamp_start(start), clamp_count(limit, 100))


@frappe.whitelist(methods=["POST"])
def rename_conversation(conversation: str, title: str):
	doc = get_permitted("Agent Conversation", conversation, "write")
	doc.title = title.strip()[:140] or doc.title
	doc.save()
	return doc.title


@frappe.whitelist(methods=["POST"])
def delete_conversation(conversation: str):
	"""Delete a chat with all its versions."""
	for name in [row.name for row in list_versions_of_chat(conversation)] or [conversation]:
		frappe.delete_doc("Agent Conversation", name)


@frappe.whitelist(methods=["POST"])
@refusing
def route(message=None, hasAttachments=None, conversationId=None):
	"""Decide whether the chat or the agent answers a message. Also at /api/chat/route.

	With `conversationId`, a task in progress there keeps its route. Returns {route, confidence, reasons,
	tool_needs, plan_hint}; status 400 for a malformed body.
	"""
	decision = routed.decide_for_user(
		read_string(message, "message"),
		read_flag(hasAttachments, "hasAttachments"),
		read_string(conversationId, "conversationId", required=False) or None,
	)
	return json_response(decision.as_dict())


@frappe.whitelist(methods=["POST"])
@refusing
def agent_run(message=None, planHint=None, conversationId=None, attachments=None, idempotency_key=None):
	"""Run the site's agent. Also at /api/chat/agent-run. `attachments`: Files, by name or URL. A call that is
	repeated with its `idempotency_key` runs nothing, and gets the result of the first.

	Returns {success, run_id, result, state}. A run that a limit stopped has its partial result and success
	false; one that waits for approval, or is queued, has status 202. Errors are {error, code, suggestion}:
	400, 403 or 409 if nothing was started, 500 if the run failed.
	"""
	objective = read_string(message, "message")
	plan = read_strings(planHint, "planHint")
	conversation = read_string(conversationId, "conversationId", required=False) or None
	key = read_string(idempotency_key, "idempotency_key", required=False)
	plan, result = routed.run_objective(objective, plan, conversation, parse_names(attachments), key)
	return run_response(objective, plan, result)


def run_response(objective: str, plan: tuple[str, ...], result: dict[str, Any]):
	run, status = result["run"], result["status"]
	if is_without_answer(result):
		reason = result["stop_reason"] or status
		error = result["error"] or f"The run was stopped before it had an answer ({reason})."
		return json_error(500, "AGENT_RUN_ERROR", error, f"Its steps are at /huf/runs/{run}.")
	is_open = status in OPEN_STATUSES
	no_answer = NO_ANSWER.get(status, "The run was cancelled.")
	# A queued run has no results yet when its call is repeated.
	answer = result.get("response") or {"error": result.get("error") or no_answer}
	state = {
		"objective": objective,
		"plan": plan,
		"toolsUsed": list_tools_by_run([run]).get(run, []),
		"stepsCompleted": result.get("steps", 0),
		"status": "waiting" if is_open else EXTERNAL_STATUSES.get(status, EXTERNAL_FAILED),
	}
	body = {"success": result["success"], "run_id": run, "result": answer, "state": state}
	return json_response(body, 202 if is_open else 200)


def is_without_answer(result: dict[str, Any]) -> bool:
	status = result["status"]
	if status == RunStatus.FAILED.value or result.get("stop_reason") == StopReason.TOOL_FAILURES.value:
		return True
	return status == RunStatus.STOPPED.value and not result["response"]


@frappe.whitelist(methods=["POST"])
@refusing
def escalation_check(response=None):
	"""Whether a drafted chat answer needs the agent: {shouldEscalate, reason?}.

	Also at /api/chat/escalation-check.
	"""
	return json_response(check_escalation(read_string(response, "response")).as_dict())
