"""What the model of one run is shown at each step: the transcript as it fits, and the tools it may call."""

from dataclasses import dataclass

from huf.ai.core.errors import RunStopped
from huf.ai.core.types import Ask, Outcome, StopReason, Tool, ToolResult, Usage
from huf.ai.loop.context_window import Room, TooLong, fit
from huf.ai.loop.tool_results import MIN_SHOWN_CHARS, PIECE, READ_MORE, reader

MARGIN = 100
"""Characters of the line above a piece."""


@dataclass(frozen=True)
class Shown:
	"""What is sent. `counted`: how many of the messages a provider has counted the tokens of, and how many these are."""

	messages: list[dict]
	tools: list[Tool]
	counted: tuple[int, int] = (0, 0)


class View:
	"""An outcome as its model sees it; begun before anything is added to the opening.

	`by_name` are the tools that can be called. `read_more` is among them from the first, so that a run that is taken up
	again can go on reading; it is offered once a result is not shown whole.
	"""

	def __init__(self, outcome: Outcome, tools: list[Tool], ask: Ask):
		self.outcome, self.tools = outcome, tools
		self.asked = len(outcome.messages) - 1
		self.by_name = {READ_MORE: reader(self.seen)} | {tool.name: tool for tool in tools}
		self.with_more = list(self.by_name.values())
		self.room = self.measure(ask)
		self.sent = Shown(outcome.messages, tools)
		self.known: tuple[Shown, int] | None = None

	def hand_over(self, ask: Ask) -> Ask:
		"""Go on with another model, which has a window of its own."""
		self.room, self.known = self.measure(ask), None
		return ask

	def seen(self) -> list[ToolResult]:
		return self.outcome.tool_results

	def measure(self, ask: Ask) -> Room | None:
		self.counts = getattr(ask, "counts", True)
		room = getattr(ask, "room", lambda tools: Room())(self.with_more)
		if room is None:
			return None
		if READ_MORE not in {tool.name for tool in self.tools}:
			piece = min(PIECE, max(MIN_SHOWN_CHARS, room.allowed) - MARGIN)
			self.by_name[READ_MORE] = reader(self.seen, piece)
		return room

	def show(self) -> Shown:
		"""Raises RunStopped where it does not fit, whatever is left out."""
		messages, tools = self.outcome.messages, self.tools
		if self.room:
			fitted = fit(messages, self.asked, self.room)
			if isinstance(fitted, TooLong):
				raise RunStopped(StopReason.CONTEXT_BUDGET, str(fitted))
			messages, tools = fitted.messages, self.with_more if fitted.partial else tools
		self.sent = Shown(list(messages), tools, self.counted(messages, tools))
		return self.sent

	def note(self, usage: Usage) -> None:
		"""What the provider said of the messages that were sent."""
		if usage.input_tokens and self.counts:
			self.known = Shown(list(self.sent.messages), self.sent.tools), usage.input_tokens

	def counted(self, messages: list[dict], tools: list[Tool]) -> tuple[int, int]:
		"""What it said counts on where these messages begin with those."""
		if self.known is None:
			return 0, 0
		before, tokens = self.known
		same = tools is before.tools and messages[: len(before.messages)] == before.messages
		return (len(before.messages), tokens) if same else (0, 0)
