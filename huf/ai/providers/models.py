"""Chooses an agent's model; reads limits and prices from AI Model and AI Provider. Calls no provider."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import frappe

from huf.ai.core.attachments import MAX_IMAGE_TOKENS, count_images
from huf.ai.core.errors import UsageError
from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.types import DIRECT, OFFLINE, Tool

TOKENS_PER_PRICE = 1_000_000
MAX_BYTES_PER_TOKEN = 8
"""An upper bound for tool schemas over all tokenizers."""


class CallPath(str, Enum):
	"""How a provider's models are called, by its AI Provider record."""

	AUTOMATIC = "Automatic"
	DIRECT = "Direct"
	WRAPPED = "Wrapped"


@dataclass(frozen=True)
class UnsavedProvider:
	"""A provider that is tested before its record is stored."""

	api_key: str | None
	api_base: str | None
	is_local: bool
	call_way: str | None = None


@dataclass(frozen=True)
class Prices:
	"""USD per token."""

	input: float
	output: float
	cached: float

	@property
	def max_prices(self) -> tuple[float, float]:
		"""The highest price of an input token and of an output token."""
		return max(self.input, self.cached), self.output

	def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> float:
		# Some servers count cached tokens beside the others instead of among them.
		fresh = max(0, input_tokens - cached_tokens)
		return fresh * self.input + cached_tokens * self.cached + output_tokens * self.output


@dataclass(frozen=True)
class ModelFacts:
	"""The facts of an AI Model record; None and 0 mean: not entered."""

	model_id: str
	"""The provider's name for the model: its Model ID, else its record name."""
	prices: Prices | None = None
	window: int = 0
	"""Context window in tokens."""
	max_answer_tokens: int = 0
	"""Largest answer in tokens."""
	supports_vision: bool | None = None
	"""Whether images are sent to the model."""


def choose_model(agent, provider: str | None = None, model: str | None = None) -> tuple[str | None, str]:
	"""(provider, model) for a run: those requested, else the agent's, else the default, else (None,
	"Offline").

	Raises UsageError for a model or provider that does not exist.
	"""
	if model == DIRECT:
		return None, DIRECT
	model = model or agent.model or get_settings().default_model
	if not model:
		return None, OFFLINE
	row = find_cached("AI Model", model)
	if not row:
		raise UsageError(f"There is no AI Model {model!r}. Add it, or choose another one.")
	provider = provider or row.provider
	if not find_cached("AI Provider", provider):
		raise UsageError(f"There is no AI Provider {provider!r}. Add it, with its API key.")
	return provider, model


def find_listed_model(agent) -> tuple[str | None, str]:
	"""Like `choose_model`, but never raises: a missing model must not break the list of agents."""
	try:
		return choose_model(agent)
	except UsageError:
		return None, agent.model or get_settings().default_model or ""


def uses_planner(agent_name: str | None, model: str) -> bool:
	"""Whether the agent writes plans instead of tool calls: by its setting, else by its model's."""
	agent, row = find_cached("Agent", agent_name), find_cached("AI Model", model)
	chosen = agent.tool_mode if agent else None
	return chosen == "Planner" or (chosen != "Native" and bool(row and row.without_tool_calls))


def is_local_provider(provider: str | None) -> bool:
	row = find_cached("AI Provider", provider)
	return bool(row and row.is_local)


def read_model_facts(model: str) -> ModelFacts:
	doc = find_cached("AI Model", model)
	if not doc:
		return ModelFacts(model)
	supports_vision = doc.vision == "Yes" if doc.vision in ("Yes", "No") else None
	return ModelFacts(
		doc.model_id or model,
		read_site_prices(doc),
		doc.context_window or 0,
		doc.max_output_tokens or 0,
		supports_vision,
	)


def read_site_prices(doc) -> Prices | None:
	if doc.own_prices:
		cached = doc.cached_price or doc.input_price
		return Prices(
			doc.input_price / TOKENS_PER_PRICE, doc.output_price / TOKENS_PER_PRICE, cached / TOKENS_PER_PRICE
		)
	local = frappe.get_cached_value("AI Provider", doc.provider, "is_local")
	return Prices(0.0, 0.0, 0.0) if local else None


def hides_tools(tools: Sequence[Tool], input_tokens: int) -> bool:
	"""Whether a server does not pass tools on to its model: it counted fewer prompt tokens than the tools
	alone have. 0 tokens means that it did not count.
	"""
	return 0 < input_tokens < len(json.dumps([tool.as_spec() for tool in tools])) // MAX_BYTES_PER_TOKEN


def estimate_max_tokens(messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)) -> int:
	"""An upper bound for the tokens of a request: a token has at least one byte, and a message adds a few. An
	image counts as in most models.

	`counted`: (number of messages that the provider has counted, tokens of these messages and the tools).
	"""
	known, tokens = counted
	rest = [*messages[known:], *([] if known else [tool.as_spec() for tool in tools])]
	words = sum(len(json.dumps(each, ensure_ascii=False).encode()) for each in rest)
	return tokens + words + count_images(messages[known:]) * MAX_IMAGE_TOKENS
