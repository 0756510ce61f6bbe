"""Serves front ends that first ask whether a message is for the chat or for the agent, and runs the agent.

`routing/` decides; this module collects what it needs from the site and stores each decision.
"""

import time
from dataclasses import replace
from functools import lru_cache

import frappe

from huf.ai.concurrency.event_loops import run_coroutine
from huf.ai.core.errors import UsageError
from huf.ai.core.routed import Routed
from huf.ai.core.settings import get_settings
from huf.ai.core.types import AgentRequest, ModelReply, RunResult
from huf.ai.providers import litellm
from huf.ai.providers.masking import MaskedModel
from huf.ai.providers.site_masking import make_masker
from huf.ai.queries.chats import get_readable_conversation
from huf.ai.routing.continuity import Previous
from huf.ai.routing.escalation import Escalation, check_dynamic_escalation
from huf.ai.routing.patterns import Pattern
from huf.ai.routing.router import decide_route
from huf.ai.routing.types import Route, RouteDecision, Stage
from huf.ai.runs import admission
from huf.ai.runs.entry import run_agent
from huf.ai.storage import route_decisions
from huf.ai.storage.route_decisions import RecordedDecision
from huf.ai.storage.standalone_calls import budgeted_call

NO_AGENT = (
	"There is no agent here that you may use. "
	"A Huf Manager can choose one in Huf Settings, or allow an agent in chats."
)
MAX_ANSWER_TOKENS = 60
MODEL_TIMEOUT_S = 10
"""How long a person waits for the model's verdict; then the chat answers."""


def decide_for_user(
	message: str, has_attachments: bool = False, conversation: str | None = None
) -> RouteDecision:
	"""Decide the route of a message and store the decision. Raises PermissionError for another user's
	conversation.
	"""
	if conversation:
		get_readable_conversation(conversation)
	return decide_and_record(message, has_attachments, conversation, get_route_model())[0]


def decide_and_record(
	message: str, has_attachments: bool, conversation: str | None, ask: "RouteModel | None"
) -> tuple[RouteDecision, str]:
	"""(decision, name of its Agent Route Decision)"""
	settings, began = get_settings(), time.perf_counter()
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
	"""Lets the site's default model decide a route, and remembers the usage."""

	def __init__(self, provider: str, model: str):
		self.provider, self.model = provider, model
		self.reply: ModelReply | None = None

	def __call__(self, messages: list[dict]) -> str:
		"""The text of the answer, within the limits of user and site; the model reads no personal data."""
		call = litellm.connect(
			self.provider, self.model, {"temperature": 0, "max_tokens": MAX_ANSWER_TOKENS}, False
		)
		quick = replace(call, fixed={**call.fixed, "timeout": MODEL_TIMEOUT_S})
		masked = MaskedModel(quick, make_masker())
		with budgeted_call(masked.worst_case(messages, [])) as used:
			self.reply = run_coroutine(masked.complete(messages, [], lambda text: None))
			used.usage = self.reply.usage
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
	"""Log the settings once in a process, and again when they change (cached)."""
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
	"""Whether the agent should take over from a chat answer; never if the site has switched that off."""
	if not get_settings().enable_dynamic_escalation:
		return Escalation(False)
	return check_dynamic_escalation(response, get_user_language())


def run_objective(
	message: str,
	plan_hint: tuple[str, ...] = (),
	conversation: str | None = None,
	attachments: tuple[str, ...] = (),
) -> tuple[tuple[str, ...], RunResult]:
	"""Run the site's agent for a message; returns (the suggested steps, the result), and links the decision
	to the run.
	"""
	user = frappe.session.user
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
	)
	result = run_agent(request)
	route_decisions.link_run(decided.name, result.run, escalated=decided.route == Route.CHAT.value)
	return plan, result


def decide_for_run(message: str, conversation: str | None, has_attachments: bool = False) -> RecordedDecision:
	"""Decide and store without a model call, for a front end that runs the agent without asking first."""
	decision, name = decide_and_record(message, has_attachments, conversation, ask=None)
	return RecordedDecision(name, decision.route.value, decision.agent_score, decision.plan_hint)


def choose_agent(user: str) -> str:
	"""The agent of Huf Settings, else the first one allowed in chats that the user may use. Raises
	UsageError.
	"""
	if chosen := get_settings().router_agent:
		return admission.admit(chosen, user).name
	names = frappe.get_list(
		"Agent",
		filters={"disabled": 0, "allow_chat": 1},
		pluck="name",
		order_by="agent_name asc",
		limit_page_length=0,
	)
	for name in names:
		if admission.may_use(frappe.get_cached_doc("Agent", name), user):
			return name
	raise UsageError(NO_AGENT)
