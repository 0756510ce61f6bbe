"""Answers a message by its route: as a chat without tools, or by the agent with all of them.

A chat answer that says it lacks tools or current data is replaced by the agent's, once.
"""

from collections.abc import Generator, Iterator
from dataclasses import replace
from enum import Enum

import frappe

from huf.ai.chat.routed import check_escalation, decide_and_record, get_route_model
from huf.ai.core.errors import UsageError
from huf.ai.core.routed import Routed
from huf.ai.core.types import AgentRequest, EventKind, RunEvent, RunResult, RunStatus
from huf.ai.routing.types import Route
from huf.ai.runs.entry import run_agent, stream_agent
from huf.ai.storage import route_decisions
from huf.ai.storage.conversations import ConversationManager


class RouteChoice(str, Enum):
	"""What a person chose for a message; without a choice the agent answers, and nothing is decided."""

	AUTO = "auto"
	CHAT = "chat"
	AGENT = "agent"


def read_choice(choice: str | None) -> RouteChoice | None:
	"""The choice that a caller named. Raises UsageError."""
	if not choice:
		return None
	try:
		return RouteChoice(choice)
	except ValueError:
		raise UsageError("route must be auto, chat or agent.") from None


def route_request(request: AgentRequest, choice: RouteChoice | None) -> AgentRequest:
	"""The request with its route. Auto decides, and stores the decision before anything else is on record."""
	if choice is RouteChoice.CHAT:
		return replace(request, routed=Routed(0, is_chat=True))
	if choice is not RouteChoice.AUTO:
		return request
	decision, name = decide_and_record(
		request.prompt, bool(request.attachments), request.conversation, get_route_model()
	)
	is_chat = decision.route is Route.CHAT
	return replace(request, routed=Routed(decision.agent_score, decision.plan_hint, is_chat, name))


def may_escalate(request: AgentRequest) -> bool:
	"""A chat that a person chose stays one."""
	return bool(request.routed and request.routed.is_chat and request.routed.decision)


def run_routed(request: AgentRequest, choice: RouteChoice | None) -> RunResult:
	"""As `run_agent`, by the route; an escalated chat returns the agent's result."""
	request = route_request(request, choice)
	result = run_agent(request)
	if may_escalate(request) and needs_agent(result.as_dict()):
		return run_agent(take_over(request, result.run, result.conversation))
	return result


def stream_routed(
	request: AgentRequest, choice: RouteChoice | None
) -> Generator[RunEvent | None, None, None]:
	"""As `stream_agent`, by the route. A chat that may be escalated emits nothing before it has ended, since
	its answer may be replaced.
	"""
	request = route_request(request, choice)
	events: Iterator[RunEvent | None] = stream_agent(request)
	if may_escalate(request):
		held: list[RunEvent] = []
		for event in events:
			if event and event.kind is EventKind.RUN_QUEUED:
				yield event
				return
			if event:
				held.append(event)
			yield None
		last, events = held[-1], iter(held)
		if last.kind is EventKind.RUN_FINISHED and needs_agent(last.data):
			events = stream_agent(take_over(request, last.run, last.data["conversation"]))
	yield from map(add_decision, events)


def add_decision(event: RunEvent | None) -> RunEvent | None:
	"""The last event of a run says which decision it belongs to."""
	if not event or event.kind is not EventKind.RUN_FINISHED:
		return event
	decision = route_decisions.read_decisions([event.run]).get(event.run)
	return replace(event, data={**event.data, "route": decision}) if decision else event


def needs_agent(result: dict) -> bool:
	is_answer = result["status"] == RunStatus.SUCCESS.value and result["response"]
	return bool(is_answer) and check_escalation(result["response"]).should_escalate


def take_over(request: AgentRequest, run: str, conversation: str) -> AgentRequest:
	"""The agent's request in the same conversation, without the answer of the chat. Commits."""
	conversations = ConversationManager(request.agent, user=request.user)
	conversations.conversation = conversation
	conversations.remove_messages(run)
	frappe.db.commit()
	routed = request.routed and replace(request.routed, is_chat=False, is_escalated=True)
	return replace(request, conversation=conversation, external_id=None, routed=routed)
