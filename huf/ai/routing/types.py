"""What the router says, and the words it says it in. Plain frozen data."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

THRESHOLD = 0.65
"""How sure the router has to be of the agent, where nobody says otherwise."""


class Route(str, Enum):
	CHAT = "chat"
	AGENT = "agent"

	@property
	def other(self) -> "Route":
		return Route.CHAT if self is Route.AGENT else Route.AGENT


class Stage(str, Enum):
	"""Who decided. Conversation: a task that goes on keeps its route."""

	CONVERSATION = "conversation"
	HEURISTICS = "heuristics"
	CLASSIFIER = "classifier"
	MODEL = "model"
	FALLBACK = "fallback"


class Need:
	"""Tools an answer would need, as `tool_needs` names them."""

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
class Decision:
	"""`confidence` is that of `route`, `other_confidence` what the other route would have had; both 0 to 1."""

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
		"""How much speaks for the agent, whatever was decided."""
		return self.confidence if self.route is Route.AGENT else self.other_confidence

	def as_dict(self) -> dict[str, Any]:
		"""The answer of /api/chat/route."""
		return {
			"route": self.route.value,
			"confidence": self.confidence,
			"reasons": list(self.reasons),
			"tool_needs": list(self.tool_needs),
			"plan_hint": list(self.plan_hint),
		}
