"""The interface between the loop and language models."""

from collections.abc import Callable
from typing import Protocol

from huf.ai.core.costs import WorstCase
from huf.ai.core.types import ModelReply, Tool
from huf.ai.loop.context_window import Room


class OnText(Protocol):
	"""Receives an answer as it streams: pieces of its text, and of the reasoning before it."""

	def __call__(self, text: str, is_reasoning: bool = False) -> None: ...


def ignore_text(text: str, is_reasoning: bool = False) -> None:
	"""An `OnText` for answers that nobody reads while they stream."""


class Model(Protocol):
	"""A model of a provider, as a run calls it."""

	@property
	def retries(self) -> int:
		"""How often a failed call may be retried."""

	@property
	def is_local(self) -> bool:
		"""Whether its input stays on the organisation's machines."""

	@property
	def reports_prompt_tokens(self) -> bool:
		"""Whether the usage of a reply counts the messages as the loop sent them."""

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		"""Call the model once, with messages in OpenAI's form. Raises ModelError.

		`max_tokens` limits the answer if a budget applies.
		"""

	def worst_case(
		self, messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)
	) -> WorstCase | None:
		"""The most that this call can use. None means unknown: such a call is refused if a limit applies.

		`counted`: how many of the messages have been counted by the provider, and their tokens.
		"""

	def room(self, tools: list[Tool]) -> Room | None:
		"""The room for messages beside these tools; None means unlimited."""


class SchemaModel(Model, Protocol):
	"""A model whose replies can be constrained to a JSON schema."""

	async def complete_json(
		self, messages: list[dict], schema: dict, max_tokens: int | None = None
	) -> ModelReply:
		"""A reply that conforms to the schema, if the server supports that. Raises ModelError."""


Escalate = Callable[[bool], Model | None]
"""Returns a larger model, or None. The argument says whether the current one is unreachable."""


def no_larger_model(is_unreachable: bool) -> Model | None:
	return None


class WrappedModel:
	"""Base class of models that change what another one, their `model`, reads and answers."""

	model: Model

	@property
	def retries(self) -> int:
		return self.model.retries

	@property
	def is_local(self) -> bool:
		return self.model.is_local

	def room(self, tools: list[Tool]) -> Room | None:
		return self.model.room(tools)


class FreeModel:
	"""Base class of stand-ins for models that cost nothing: no retries, no usage, no context window."""

	name = ""
	retries = 0
	is_local = True
	reports_prompt_tokens = False

	def worst_case(
		self, messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)
	) -> WorstCase:
		return WorstCase(self.name)

	def room(self, tools: list[Tool]) -> Room | None:
		return None
