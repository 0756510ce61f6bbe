"""Builds the input of each model call: the transcript, fitted to the window, and the tools."""

from dataclasses import dataclass

from huf.ai.core.errors import RunStopped
from huf.ai.core.types import Outcome, StopReason, Tool, Usage
from huf.ai.loop.context_window import Room, TooLong, fit
from huf.ai.loop.model import Model
from huf.ai.loop.tool_results import MIN_EXCERPT_CHARS, PIECE_CHARS, READ_MORE, make_reader

HEADER_CHARS = 100
"""Room for the line above a piece of a result."""


@dataclass(frozen=True)
class ModelInput:
	"""The input of one model call.

	`counted`: how many of its messages the provider has counted before, and their tokens.
	"""

	messages: list[dict]
	tools: list[Tool]
	counted: tuple[int, int] = (0, 0)


class TranscriptView:
	"""An outcome as its model sees it; made before anything is added to the opening messages.

	`tools_by_name` are the tools that can be called. `read_more` is among them from the first step, so that a
	resumed run can go on reading; the model is offered it once a result is not sent whole.
	"""

	def __init__(self, outcome: Outcome, tools: list[Tool], model: Model):
		self.outcome, self.tools = outcome, tools
		self.prompt_at = len(outcome.messages) - 1
		# The reader refers to the outcome, not to this view: a cycle would keep the messages until a garbage
		# collection.
		self.results = lambda: outcome.tool_results
		self.tools_by_name = {READ_MORE: make_reader(self.results)} | {tool.name: tool for tool in tools}
		self.tools_with_reader = list(self.tools_by_name.values())
		self.sent = ModelInput(outcome.messages, tools)
		self.counted_input: tuple[ModelInput, int] | None = None
		self.switch_model(model)

	def switch_model(self, model: Model) -> Model:
		"""Continue with this model and its window; return it."""
		self.reports_tokens, self.counted_input = model.reports_prompt_tokens, None
		self.room: Room | None = model.room(self.tools_with_reader)
		if self.room and READ_MORE not in {tool.name for tool in self.tools}:
			piece = min(PIECE_CHARS, max(MIN_EXCERPT_CHARS, self.room.allowed) - HEADER_CHARS)
			self.tools_by_name[READ_MORE] = make_reader(self.results, piece)
		return model

	def fit(self, with_tools: bool = True) -> ModelInput:
		"""The input of the next call; without tools if only an answer is wanted.

		Raises RunStopped if it does not fit, even after all cuts.
		"""
		messages, tools = self.outcome.messages, self.tools
		if self.room:
			fitted = fit(messages, self.prompt_at, self.room)
			if isinstance(fitted, TooLong):
				raise RunStopped(StopReason.CONTEXT_BUDGET, str(fitted))
			messages, tools = fitted.messages, self.tools_with_reader if fitted.is_partial else tools
		tools = tools if with_tools else []
		self.sent = ModelInput(list(messages), tools, self.find_counted(messages, tools))
		return self.sent

	def count_tokens(self, usage: Usage) -> None:
		"""Remember what the provider counted for the messages that were sent last."""
		if usage.input_tokens and self.reports_tokens:
			self.counted_input = ModelInput(list(self.sent.messages), self.sent.tools), usage.input_tokens

	def find_counted(self, messages: list[dict], tools: list[Tool]) -> tuple[int, int]:
		"""The provider's last count still holds where these messages begin with those."""
		if self.counted_input is None:
			return 0, 0
		before, tokens = self.counted_input
		is_prefix = tools is before.tools and messages[: len(before.messages)] == before.messages
		return (len(before.messages), tokens) if is_prefix else (0, 0)
