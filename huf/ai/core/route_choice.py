"""What a request carries about its route: the caller's choice, and the decision of the router."""

from dataclasses import dataclass
from enum import Enum


class RouteChoice(str, Enum):
	"""What a person chose for a message; without a choice the agent answers, and nothing is decided."""

	AUTO = "auto"
	CHAT = "chat"
	AGENT = "agent"


@dataclass(frozen=True)
class Routed:
	"""The router's decision behind a request: its confidence in the agent, the steps it suggests, the route
	taken.

	`is_chat`: the answer needs no tools, so the run has none. `decision`: the Agent Route Decision that the
	run belongs to; `replaces`: the chat's run from which the agent takes over.
	"""

	confidence: float
	plan: tuple[str, ...] = ()
	is_chat: bool = False
	decision: str | None = None
	replaces: str | None = None

	@property
	def is_escalated(self) -> bool:
		return self.replaces is not None

	@property
	def route(self) -> str:
		return "chat" if self.is_chat else "agent"
