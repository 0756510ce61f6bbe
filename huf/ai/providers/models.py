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
"""No tokenizer makes fewer tokens of tool schemas."""


class CallWay(str, Enum):
	"""How the models of a provider are asked, as AI Provider says."""

	AUTOMATIC = "Automatic"
	DIRECT = "Direct"
	WRAPPED = "Wrapped"


@dataclass(frozen=True)
class UnsavedProvider:
	"""A provider as a form describes it, to be tested before it is stored."""

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
		fresh = input_tokens - cached_tokens
		return fresh * self.input + cached_tokens * self.cached + output_tokens * self.output


@dataclass(frozen=True)
class ModelFacts:
	"""What an AI Model record says of a model; None and 0 stand for nothing entered."""

	prices: Prices | None = None
	window: int = 0
	"""Context window in tokens."""
	max_answer_tokens: int = 0
	"""Largest answer in tokens."""
	supports_vision: bool | None = None
	"""Whether images are sent to it."""


def choose_model(agent, provider: str | None = None, model: str | None = None) -> tuple[str | None, str]:
	"""(provider, model) for a run: as asked for, else the agent's, else the default; (None, "Offline")
	without any.

	Raises UsageError for a model or provider that is not on record.
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
	"""As `choose_model`, for a list of agents: a missing model must not hide the other agents."""
	try:
		return choose_model(agent)
	except UsageError:
		return None, agent.model or get_settings().default_model or ""


def uses_planner(agent_name: str | None, model: str) -> bool:
	"""Whether the agent writes plans instead of tool calls: by its setting, else by what the model needs."""
	agent, row = find_cached("Agent", agent_name), find_cached("AI Model", model)
	chosen = agent.tool_mode if agent else None
	return chosen == "Planner" or (chosen != "Native" and bool(row and row.without_tool_calls))


def read_model_id(model: str) -> str:
	"""The name that the provider has for an AI Model: its Model ID, else its own name."""
	row = find_cached("AI Model", model)
	return (row and row.model_id) or model


def is_local_provider(provider: str | None) -> bool:
	row = find_cached("AI Provider", provider)
	return bool(row and row.is_local)


def asks_before_writes(model: str) -> bool:
	"""Whether a person allows each write that this model asks for, because it is weak."""
	row = find_cached("AI Model", model)
	return bool(row and row.ask_before_writes)


def read_model_facts(model: str) -> ModelFacts:
	doc = find_cached("AI Model", model)
	if not doc:
		return ModelFacts()
	supports_vision = doc.vision == "Yes" if doc.vision in ("Yes", "No") else None
	return ModelFacts(
		read_site_prices(doc), doc.context_window or 0, doc.max_output_tokens or 0, supports_vision
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
	"""Whether a server counted fewer prompt tokens than the tools alone have, so does not show them to the
	model. 0 tokens: it has not counted.
	"""
	return 0 < input_tokens < len(json.dumps([tool.as_spec() for tool in tools])) // MAX_BYTES_PER_TOKEN


def estimate_max_tokens(messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)) -> int:
	"""More tokens than any model makes of this: a token is a byte at least, and a message has a few around
	it; of a picture as many as most models make.

	`counted`: how many of the messages, with the tools, a provider has counted already, and what it said.
	"""
	known, tokens = counted
	rest = [*messages[known:], *([] if known else [tool.as_spec() for tool in tools])]
	words = sum(len(json.dumps(each, ensure_ascii=False).encode()) for each in rest)
	return tokens + words + count_images(messages[known:]) * MAX_IMAGE_TOKENS
