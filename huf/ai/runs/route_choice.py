"""Routes a request: by the caller's choice to the chat, which has no tools, or to the agent; by its task to a
mode and a model tier.

If a chat answers that it lacks tools or current data, the agent answers instead, once.
"""

from dataclasses import replace

import frappe

from huf.ai.core.routed import RouteChoice, Routed
from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.types import AgentRequest, RunResult, RunStatus
from huf.ai.routing.tiers import choose_task
from huf.ai.routing.types import Route
from huf.ai.runs import admission
from huf.ai.runs.routing import check_escalation, decide_and_record, get_route_model
from huf.ai.storage.conversations import ConversationManager


def route_request(request: AgentRequest) -> AgentRequest:
	"""The request with its route. In Auto the router decides, and its decision is stored before anything
	else.
	"""
	choice, request = request.choice, replace(request, choice=None)
	if choice is RouteChoice.CHAT:
		return replace(request, routed=Routed(0, is_chat=True))
	if choice is not RouteChoice.AUTO:
		return request
	admission.admit(request.agent, request.user, request.from_chat)
	decision, name = decide_and_record(
		request.prompt, bool(request.attachments), request.conversation, get_route_model()
	)
	is_chat = decision.route is Route.CHAT
	return replace(request, routed=Routed(decision.agent_score, decision.plan_hint, is_chat, name))


def may_escalate(request: AgentRequest) -> bool:
	"""Whether the agent may take over; not if a person chose the chat."""
	return bool(request.routed and request.routed.is_chat and request.routed.decision)


def find_takeover(request: AgentRequest, result: RunResult) -> AgentRequest | None:
	"""The agent's request if the chat's answer needs the agent, else None."""
	if may_escalate(request) and needs_agent(result.as_dict()):
		return take_over(request, result.run, result.conversation)
	return None


def needs_agent(result: dict) -> bool:
	is_answer = result["status"] == RunStatus.SUCCESS.value and result["response"]
	return bool(is_answer) and check_escalation(result["response"]).should_escalate


def take_over(request: AgentRequest, run: str, conversation: str) -> AgentRequest:
	"""The agent's request in the same conversation, from which the chat's answer is removed. Commits."""
	conversations = ConversationManager(request.agent, user=request.user)
	conversations.conversation = conversation
	conversations.remove_messages(run)
	frappe.db.commit()
	routed = request.routed and replace(request.routed, is_chat=False, is_escalated=True)
	return replace(request, conversation=conversation, external_id=None, routed=routed)


def route_task(request: AgentRequest) -> AgentRequest:
	"""The request with a mode and a tier, if the agent chooses by task. What was chosen before is kept."""
	agent = find_cached("Agent", request.agent)
	if not agent or not agent.choose_by_task or request.mode or request.model:
		return request
	task = choose_task(request.prompt or "", get_settings().cloud_tasks)
	return replace(request, mode=task.mode, tier=task.tier)
