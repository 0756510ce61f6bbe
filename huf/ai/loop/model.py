"""What the loop expects of a language model of any provider."""

from collections.abc import Callable
from typing import Protocol

from huf.ai.core.costs import WorstCase
from huf.ai.core.types import ModelReply, Tool
from huf.ai.loop.context_window import Room


class OnText(Protocol):
	"""Receives an answer piece by piece, as it streams in: its text, and the reasoning before it."""

	def __call__(self, text: str, is_reasoning: bool = False) -> None: ...


def ignore_text(text: str, is_reasoning: bool = False) -> None:
	"""For answers that nobody follows."""


class Model(Protocol):
	"""One model of one provider, ready to be called many times in a run."""

	@property
	def retries(self) -> int:
		"""How often a failed call may be made again."""

	@property
	def is_local(self) -> bool:
		"""Whether what it reads stays on the organisation's machines."""

	@property
	def reports_prompt_tokens(self) -> bool:
		"""Whether the usage of a reply counts the messages as the loop sent them."""

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		"""Call the model once, with messages in OpenAI's form. Raises ModelError.

		`max_tokens` bounds the answer where a budget holds.
		"""

	def worst_case(
		self, messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)
	) -> WorstCase | None:
		"""The most that this call can use; None: unknown, so it is not made where a limit holds.

		`counted`: how many of the messages have been counted by the provider, and their tokens.
		"""

	def room(self, tools: list[Tool]) -> Room | None:
		"""How much can be sent beside these tools; None: any amount."""


class SchemaModel(Model, Protocol):
	"""A model that can be held to a JSON schema."""

	async def complete_json(
		self, messages: list[dict], schema: dict, max_tokens: int | None = None
	) -> ModelReply:
		"""A reply that fits the schema where the server can do that, else any. Raises ModelError."""


Escalate = Callable[[bool], Model | None]
"""Returns a larger model, or None. The argument says whether the present one cannot be reached."""


def no_larger_model(is_unreachable: bool) -> Model | None:
	return None


class FreeModel:
	"""Base of what takes the place of a model at no cost: no retries, no usage, no context window."""

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
