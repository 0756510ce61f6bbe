"""Value types of the router: routes, stages, tool needs, decisions. Pure."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

DEFAULT_THRESHOLD = 0.65
"""Default confidence from which on the agent is chosen."""


class Route(str, Enum):
	CHAT = "chat"
	AGENT = "agent"

	@property
	def other(self) -> "Route":
		return Route.CHAT if self is Route.AGENT else Route.AGENT


class Stage(str, Enum):
	"""Which stage decided. Conversation: a task in progress keeps its route."""

	CONVERSATION = "conversation"
	HEURISTICS = "heuristics"
	CLASSIFIER = "classifier"
	MODEL = "model"
	FALLBACK = "fallback"


class Need:
	"""Names of tools an answer would need, as in `RouteDecision.tool_needs`."""

	WEB_SEARCH = "web_search"
	OPEN_URL = "open_url"
	READ_FILE = "read_file"
	GENERATE_FILE = "generate_file"
	EXECUTE_CODE = "execute_code"
	FIND_RECORDS = "find_records"
	CHANGE_RECORDS = "change_records"
	SEND_MESSAGE = "send_message"
	EXPLICIT_AGENT = "explicit_agent"


@dataclass(frozen=True)
class RouteDecision:
	"""`confidence` (0 to 1) belongs to `route`, `other_confidence` to the other route."""

	route: Route
	confidence: float
	reasons: tuple[str, ...] = ()
	tool_needs: tuple[str, ...] = ()
	plan_hint: tuple[str, ...] = ()
	stage: Stage = Stage.CLASSIFIER
	other_confidence: float = 0.0
	language: str = "en"

	@property
	def other_route(self) -> Route:
		return self.route.other

	@property
	def agent_score(self) -> float:
		"""Confidence of the agent's route, whichever route was chosen."""
		return self.confidence if self.route is Route.AGENT else self.other_confidence

	def as_dict(self) -> dict[str, Any]:
		"""The response of /api/chat/route."""
		return {
			"route": self.route.value,
			"confidence": self.confidence,
			"reasons": list(self.reasons),
			"tool_needs": list(self.tool_needs),
			"plan_hint": list(self.plan_hint),
		}
