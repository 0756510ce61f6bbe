"""Serves front ends that first ask whether a message is for the chat or for the agent, and runs the agent."""

import json
from typing import Any

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.route_choice import Routed
from huf.ai.core.settings import get_settings
from huf.ai.core.types import AgentRequest
from huf.ai.queries.chats import get_readable_conversation
from huf.ai.routing.types import Route, RouteDecision
from huf.ai.runs import admission
from huf.ai.runs.entry import run_once
from huf.ai.runs.repetition import read_idempotency_key, wait_for_sent_run
from huf.ai.runs.routing import decide_and_record, get_route_model
from huf.ai.storage import route_decisions
from huf.ai.storage.route_decisions import RecordedDecision

NOT_ALLOWED = (
	"You may not use the agent that answers here. "
	"A Huf Manager can choose another one in Huf Settings, or allow you to use it."
)
NO_AGENT = (
	"There is no agent here that you may use. "
	"A Huf Manager can choose one in Huf Settings, or allow an agent in chats."
)


def decide_for_user(
	message: str, has_attachments: bool = False, conversation: str | None = None
) -> RouteDecision:
	"""Decide the route of a message and store the decision.

	Raises PermissionError for users who may use no agent, and for another user's conversation.
	"""
	# A decision may need a model call, which users without a role of Huf may not cause.
	frappe.has_permission("Agent", "read", throw=True)
	if conversation:
		get_readable_conversation(conversation)
	return decide_and_record(message, has_attachments, conversation, get_route_model())[0]


def run_objective(
	message: str,
	plan_hint: tuple[str, ...] = (),
	conversation: str | None = None,
	attachments: tuple[str, ...] = (),
	idempotency_key: str | None = None,
) -> tuple[tuple[str, ...], dict[str, Any]]:
	"""Run the site's agent for a message; returns (the suggested steps, what `run_agent_sync` returns), and
	links the decision to the run. `idempotency_key`: see `run_agent_sync`.

	Raises PermissionError for users who may not use the agent, and for another user's conversation.
	"""
	user, key = frappe.session.user, read_idempotency_key(idempotency_key)
	if key and (sent := wait_for_sent_run(key)):
		return tuple(json.loads(frappe.db.get_value("Agent Run", sent["run"], "plan") or "[]")), sent
	if conversation:
		get_readable_conversation(conversation)
	agent = choose_agent(user)
	decided = route_decisions.find_decision(message, user) or decide_for_run(
		message, conversation, bool(attachments)
	)
	plan = plan_hint or decided.plan_hint
	request = AgentRequest(
		agent=agent,
		prompt=message,
		user=user,
		conversation=conversation,
		external_id=None if conversation else frappe.generate_hash(length=10),
		routed=Routed(decided.agent_score, plan),
		attachments=attachments,
		idempotency_key=key,
	)
	result = run_once(request)
	route_decisions.link_run(decided.name, result["run"], escalated=decided.route == Route.CHAT.value)
	return plan, result


def decide_for_run(message: str, conversation: str | None, has_attachments: bool) -> RecordedDecision:
	"""Decide and store without a model call, for a front end that runs the agent without asking first."""
	decision, name = decide_and_record(message, has_attachments, conversation, ask=None)
	return RecordedDecision(name, decision.route.value, decision.agent_score, decision.plan_hint)


def choose_agent(user: str) -> str:
	"""The agent of Huf Settings, else the first one allowed in chats that the user may use.

	Raises UsageError, or PermissionError without the agent's name, which the user may not see.
	"""
	if chosen := get_settings().router_agent:
		try:
			return admission.admit(chosen, user).name
		except frappe.PermissionError:
			raise frappe.PermissionError(NOT_ALLOWED) from None
	agents = admission.list_usable_agents(user, {"allow_chat": 1})
	if not agents:
		raise UsageError(NO_AGENT)
	return agents[0].name
