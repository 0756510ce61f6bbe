"""Routes a request: by the caller's choice to the chat, which has no tools, or to the agent; by its task to a
mode and a model tier.

In Auto `routing/` decides; this module collects its inputs from the site and stores the decision. If a chat
answers that it lacks tools or current data, the agent answers instead, once; its streamed answer is held back
until that is certain.
"""

import re
import time
from dataclasses import replace
from functools import lru_cache

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.events import EventKind, RunEvent
from huf.ai.core.json_text import make_encodable
from huf.ai.core.route_choice import RouteChoice, Routed
from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.types import AgentRequest, ModelReply, RunStatus
from huf.ai.loop.model import ignore_text
from huf.ai.providers import litellm
from huf.ai.providers.masking import MaskedModel, make_masker
from huf.ai.routing.continuity import Previous
from huf.ai.routing.escalation import Escalation, check_dynamic_escalation
from huf.ai.routing.patterns import Pattern
from huf.ai.routing.router import decide_route
from huf.ai.routing.tiers import choose_task
from huf.ai.routing.types import Route, RouteDecision, Stage
from huf.ai.runs import admission
from huf.ai.storage import route_decisions
from huf.ai.storage.conversations import ConversationManager
from huf.ai.storage.standalone_calls import complete_within_budget

MAX_ANSWER_TOKENS = 60
MODEL_TIMEOUT_S = 10
"""How long a person waits for the model's decision; then the chat answers."""
SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")


def route_request(request: AgentRequest) -> AgentRequest:
	"""The request with its route, and the mode and tier of its task. In Auto the router decides, and its
	decision is stored before anything else.
	"""
	request, choice = route_task(replace(request, choice=None)), request.choice
	if choice is RouteChoice.CHAT:
		return replace(request, routed=Routed(0, is_chat=True))
	if choice is not RouteChoice.AUTO:
		return request
	agent = admission.admit(request.agent, request.user, request.from_chat)
	conversation = request.conversation or find_session(request, agent)
	decision, name = decide_and_record(
		request.prompt, bool(request.attachments), conversation, get_route_model()
	)
	is_chat = decision.route is Route.CHAT
	return replace(request, routed=Routed(decision.agent_score, decision.plan_hint, is_chat, name))


def find_session(request: AgentRequest, agent) -> str | None:
	"""The conversation of its session that a request without one continues, or None."""
	if request.history is not None or not agent.persist_conversation:
		return None
	session = request.channel, request.external_id, request.user, request.shared
	is_new, conversation = ConversationManager(agent.name, *session).find_active()
	return None if is_new else conversation


def may_escalate(request: AgentRequest) -> bool:
	"""Whether the agent may take over; not if a person chose the chat."""
	return bool(request.routed and request.routed.is_chat and request.routed.decision)


def find_takeover(request: AgentRequest, result: dict) -> AgentRequest | None:
	"""The agent's request if the chat's answer needs the agent and it may run now, else None.

	It replaces the chat's messages in their conversation.
	"""
	if not (may_escalate(request) and needs_agent(result) and may_start(request, result["provider"])):
		return None
	routed = request.routed and replace(request.routed, is_chat=False, replaces=result["run"])
	return replace(request, conversation=result["conversation"], external_id=None, routed=routed)


def needs_agent(result: dict) -> bool:
	is_answer = result["status"] == RunStatus.SUCCESS.value and result["response"]
	return bool(is_answer) and check_escalation(result["response"]).should_escalate


def may_start(request: AgentRequest, provider: str | None) -> bool:
	"""Whether the request is admitted. Otherwise the chat's answer stays: it is better than an error."""
	try:
		admission.admit(request.agent, request.user, request.from_chat)
		admission.check_stops(request, provider)
	except (UsageError, frappe.PermissionError):
		return False
	return True


def route_task(request: AgentRequest) -> AgentRequest:
	"""The request with a mode and a tier, if the agent chooses by task. What was chosen before is kept."""
	agent = find_cached("Agent", request.agent)
	if not agent or not agent.choose_by_task or request.model or (request.mode and request.tier):
		return request
	task = choose_task(request.prompt or "", get_settings().cloud_tasks)
	return replace(request, mode=request.mode or task.mode, tier=request.tier or task.tier)


def decide_and_record(
	message: str, has_attachments: bool, conversation: str | None, ask: "RouteModel | None"
) -> tuple[RouteDecision, str]:
	"""(decision, name of its Agent Route Decision)"""
	settings, began, message = get_settings(), time.perf_counter(), make_encodable(message)
	threshold = settings.router_confidence_threshold
	log_settings(threshold, settings.enable_dynamic_escalation)
	decision = decide_route(
		message,
		has_attachments,
		language=get_user_language(),
		threshold=threshold,
		patterns=read_site_patterns(),
		previous=read_previous(conversation),
		ask=ask,
	)
	took = round((time.perf_counter() - began) * 1000)
	known = {"has_attachments": int(has_attachments), "conversation": conversation, "threshold": threshold}
	cost = ask.figures() if ask else {}
	name = route_decisions.insert_decision(
		message, {**decision_fields(decision), **known, **cost, "duration_ms": took}
	)
	log_decision(decision, took)
	return decision, name


def decision_fields(decision: RouteDecision) -> dict:
	return {
		**decision.as_dict(),
		"stage": decision.stage.value,
		"language": decision.language,
		"other_route": decision.other_route.value,
		"other_confidence": decision.other_confidence,
	}


def read_previous(conversation: str | None) -> Previous | None:
	route, at_work = route_decisions.read_last_route(conversation) if conversation else (None, False)
	return Previous(Route(route), at_work) if route else None


def get_user_language() -> str:
	return (frappe.local.lang or "en")[:2]


def read_site_patterns() -> tuple[Pattern, ...]:
	"""The site's patterns in Huf Settings."""
	return tuple(
		Pattern(
			row.language or "",
			row.pattern,
			Route(row.route),
			row.tool_need or "",
			row.confidence,
			row.reason or row.pattern,
		)
		for row in frappe.get_cached_doc("Huf Settings").route_patterns
	)


class RouteModel:
	"""Lets the site's default model decide a route, and keeps the usage."""

	def __init__(self, provider: str, model: str):
		self.provider, self.model = provider, model
		self.reply: ModelReply | None = None

	def __call__(self, messages: list[dict]) -> str:
		"""The model's answer, within the limits of user and site. Personal data is masked."""
		call = litellm.build_call_arguments(
			self.provider, self.model, {"temperature": 0, "max_tokens": MAX_ANSWER_TOKENS}, False
		)
		quick = replace(call, fixed={**call.fixed, "timeout": MODEL_TIMEOUT_S})
		masked = MaskedModel(quick, make_masker())
		worst = masked.worst_case(messages, [])
		self.reply = complete_within_budget(worst, lambda: masked.complete(messages, [], ignore_text))
		return self.reply.text

	def figures(self) -> dict:
		"""Fields of the decision's row; empty if the model was not called."""
		if self.reply is None:
			return {}
		usage = self.reply.usage
		return {
			"model": self.model,
			"input_tokens": usage.input_tokens,
			"output_tokens": usage.output_tokens,
			"cost": usage.cost or 0,
			"cost_known": int(usage.cost is not None),
		}


def get_route_model() -> RouteModel | None:
	model = get_settings().default_model
	if not model:
		return None
	provider = frappe.get_cached_value("AI Model", model, "provider")
	return RouteModel(provider, model) if provider else None


@lru_cache(maxsize=8)
def log_settings(threshold: float, escalates: bool) -> None:
	"""Log the settings once per process and after each change. Cached."""
	is_dynamic = str(escalates).lower()
	frappe.logger("huf").info(
		"[Router] Initialized with threshold=%s, dynamicEscalation=%s", threshold, is_dynamic
	)


def log_decision(decision: RouteDecision, took: int) -> None:
	log = frappe.logger("huf")
	if decision.stage is Stage.FALLBACK:
		log.error("[Router] %s (%sms)", decision.reasons[0], took)
		return
	by = "Heuristic match" if decision.stage is Stage.HEURISTICS else f"Decided by {decision.stage.value}"
	need = decision.tool_needs[0] if decision.tool_needs else "no_tools"
	log.info(
		"[Router] %s: %s → %s (confidence=%s) (%sms)",
		by,
		need,
		decision.route.value,
		decision.confidence,
		took,
	)


def check_escalation(response: str) -> Escalation:
	"""Whether the agent should take over after a chat's answer; never if the site has disabled that."""
	if not get_settings().enable_dynamic_escalation:
		return Escalation(False)
	return check_dynamic_escalation(response, get_user_language())


class HeldChat:
	"""The buffered events of a chat's answer.

	With `can_void`, events are passed on up to the last complete sentence, unless the text so far needs the
	agent. Without it, for readers that cannot retract text, all are held until the end.
	"""

	def __init__(self, can_void: bool):
		self.can_void = can_void
		self.events: list[RunEvent] = []
		self.text = ""
		self.checked = self.passed_on = 0

	def add(self, event: RunEvent) -> list[RunEvent]:
		"""Add an event; returns the events that can be passed on now, in order."""
		self.events.append(event)
		if event.kind is EventKind.TEXT_VOID:
			return self.begin_again()
		if not self.can_void or event.kind is not EventKind.TEXT_DELTA:
			return []
		self.text += event.data["text"]
		end = max((found.end() for found in SENTENCE_END.finditer(self.text, self.checked)), default=0)
		if end <= self.checked:
			return []
		self.checked = end
		return [] if check_escalation(self.text[:end]).should_escalate else self.release(end)

	def begin_again(self) -> list[RunEvent]:
		"""Discard the answer, because another model answers: its event is passed on only if text was."""
		void = (EventKind.TEXT_DELTA, EventKind.REASONING_DELTA)
		kept = [each for each in self.events if each.kind not in void]
		released, self.events = (kept, []) if self.passed_on else ([], kept)
		self.text, self.checked, self.passed_on = "", 0, 0
		return released

	def release(self, end: int) -> list[RunEvent]:
		"""Release the events whose text lies before `end`; a piece that extends beyond it waits for its
		sentence.
		"""
		count = 0
		for event in self.events:
			length = len(event.data["text"]) if event.kind is EventKind.TEXT_DELTA else 0
			if self.passed_on + length > end:
				break
			self.passed_on, count = self.passed_on + length, count + 1
		released, self.events = self.events[:count], self.events[count:]
		return released

	def void(self, last: RunEvent) -> list[RunEvent]:
		"""The event that retracts the text passed on so far, after the chat has ended with `last`."""
		return [RunEvent(EventKind.TEXT_VOID, last.run, {"step": 1}, last.number)] if self.passed_on else []
