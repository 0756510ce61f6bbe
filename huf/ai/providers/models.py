"""Chooses an agent's model; reads limits and prices of models from AI Model and AI Provider, else from
LiteLLM's price table. Calls no provider and does not import LiteLLM.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import frappe

from huf.ai.core.attachments import MAX_IMAGE_TOKENS, count_images
from huf.ai.core.errors import ModelError, UsageError
from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.types import DIRECT, OFFLINE, Tool

TOKENS_PER_PRICE = 1_000_000
MAX_BYTES_PER_TOKEN = 8
"""An upper bound for tool schemas over all tokenizers."""
FILE = "model_prices_and_context_window_backup.json"
PROVIDERS = re.compile(r"^class LlmProviders\(.*\):\n((?:[ \t]+.*\n|\s*\n)*)", re.MULTILINE)
PROVIDER = re.compile(r"^[ \t]+[A-Z][A-Z0-9_]* = \"([^\"]+)\"", re.MULTILINE)
LONG_PRICE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
ALIASES = {"gemini": "google", "grok": "xai", "claude": "anthropic", "x.ai": "xai", "mistralai": "mistral"}
"""Aliases under which users enter providers."""
NAMES = {"google": "gemini", "azure openai": "azure", "lm studio": "lm_studio"}
"""Providers that have another name in the table."""
SELF_HOSTED = {"custom_openai", "hosted_vllm", "litellm_proxy", "lm_studio", "xinference"}
"""Providers that have no address of their own: without one, LiteLLM calls OpenAI."""


class CallPath(str, Enum):
	"""How a provider's models are called, by its AI Provider record."""

	AUTOMATIC = "Automatic"
	DIRECT = "Direct"
	WRAPPED = "Wrapped"


OWN_CREDENTIALS = {"gigachat", "vertex_ai", "vertex_ai_beta"}
"""Providers that LiteLLM calls with credentials of the machine, such as those of its cloud account, whatever
key it gets.
"""
HTTP_ADDRESS = re.compile(r"https?://[^/\s]+")
"""How the address of a provider begins."""


@dataclass(frozen=True)
class UnsavedProvider:
	"""A provider that is tested before its record is stored."""

	api_key: str | None
	api_base: str | None
	is_local: bool
	call_way: str | None = None


@dataclass(frozen=True)
class Prices:
	"""USD per token. `long`: the prices of calls with more than `long_above` input tokens, if they differ."""

	input: float
	output: float
	cached: float
	long_above: int = 0
	long: "Prices | None" = None

	def of_call(self, input_tokens: int) -> "Prices":
		return self.long if self.long and input_tokens > self.long_above else self

	def max_prices(self, input_tokens: int) -> tuple[float, float]:
		"""The highest price of an input token and of an output token, in a call of this size."""
		prices = self.of_call(input_tokens)
		return max(prices.input, prices.cached), prices.output

	def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> float:
		prices = self.of_call(max(input_tokens, cached_tokens))
		# Some servers count cached tokens beside the others instead of among them.
		fresh = max(0, input_tokens - cached_tokens)
		return fresh * prices.input + cached_tokens * prices.cached + output_tokens * prices.output

	def per_million(self) -> dict[str, float]:
		"""{input, output, cached} in USD per million tokens."""
		kinds = ("input", "output", "cached")
		return {kind: round(getattr(self, kind) * TOKENS_PER_PRICE, 6) for kind in kinds}


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
	calls_tools: bool = True
	"""False for a model that writes plans instead of tool calls."""


def get_model_row(model: str) -> Any:
	"""The AI Model of this name. Raises UsageError if there is none."""
	row = find_cached("AI Model", model)
	if not row:
		raise UsageError(f"There is no AI Model {model!r}. Add it, or choose another one.")
	return row


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
	row = get_model_row(model)
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
		not doc.without_tool_calls,
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


@lru_cache(maxsize=1)
def load_table() -> dict[str, dict]:
	"""LiteLLM's price table, from its file: {model: {input_cost_per_token, max_input_tokens, ...}}.

	An alias has the row of its model.
	"""
	rows = json.loads(read_litellm_file(FILE) or "{}")
	return {name: found for name, row in rows.items() if (found := rows.get(row.get("alias_of", name)))}


@lru_cache(maxsize=1)
def list_providers() -> frozenset[str]:
	"""Names of the providers that LiteLLM knows."""
	found = PROVIDERS.search(read_litellm_file("types", "utils.py"))
	return frozenset(PROVIDER.findall(found[1]) if found else ())


def hosts_models_of(prefix: str, maker: str) -> bool:
	"""Whether the price table has a maker's models at this provider, such as groq/openai/gpt-oss-120b."""
	return any(name.startswith(f"{prefix}/{maker}/") for name in load_table())


def read_litellm_file(*names: str) -> str:
	"""The text of one of LiteLLM's files; "" if it is missing."""
	spec = find_spec("litellm")
	path = Path((spec and spec.submodule_search_locations or [""])[0], *names)
	return path.read_text(encoding="utf-8") if spec and path.exists() else ""


def listed(name: str) -> dict:
	"""The table's row for a model, by LiteLLM's name."""
	table = load_table()
	return table.get(name) or table.get(name.partition("/")[2]) or {}


def listed_abilities(name: str) -> dict:
	"""Like `listed`, or the row of the same model at another host: its abilities are the same, its price may
	differ.
	"""
	return listed(name) or load_table().get(name.rpartition("/")[2]) or {}


def listed_prices(name: str) -> Prices | None:
	"""A model's prices in the table; None if it has none."""
	row = listed(name)
	if row.get("input_cost_per_token") is None:
		return None
	limits = sorted(int(found[1]) for found in map(LONG_PRICE.fullmatch, row) if found)
	long = read_listed_prices(row, f"_above_{limits[0]}k_tokens") if limits else None
	return replace(read_listed_prices(row), long_above=1000 * limits[0] if limits else 0, long=long)


def read_listed_prices(row: dict, suffix: str = "") -> Prices:
	price, output = row[f"input_cost_per_token{suffix}"], row.get("output_cost_per_token") or 0
	cached = row.get(f"cache_read_input_token_cost{suffix}") or price
	return Prices(price, row.get(f"output_cost_per_token{suffix}") or output, cached)


def prices_of(model: str, name: str) -> Prices | None:
	"""Prices of an AI Model: its own, else those of the table; None if unknown."""
	return read_model_facts(model).prices or listed_prices(name)


def clean_provider(provider: str | None) -> str:
	"""The usual name of a provider in lower case: xai for Grok."""
	name = (provider or "").strip().lower()
	return ALIASES.get(name, name)


def find_prefix(provider: str) -> str:
	name = clean_provider(provider)
	return NAMES.get(name, name.replace(" ", "_"))


def full_model_name(model: str, provider: str | None) -> str:
	"""LiteLLM's name of a model: OpenAI's gpt-4-turbo is openai/gpt-4-turbo. Names with a prefix are
	kept, unless the provider hosts models of that maker: Groq's openai/gpt-oss-120b is
	groq/openai/gpt-oss-120b.

	Raises ModelError for an address: LiteLLM would send the provider's key there.
	"""
	# Others are names: vLLM calls a model that it reads from S3 s3://bucket/name.
	if "http://" in model or "https://" in model:
		raise ModelError(f"{model} is an address. Enter it as the API Base of an AI Provider.")
	name = clean_provider(provider)
	if name == "openrouter":
		return model if model.startswith("openrouter/") else f"openrouter/{model}"
	head, slash, rest = model.partition("/")
	prefix = "ollama_chat" if name == "ollama" else find_prefix(name)
	if slash and head in list_providers() and not hosts_models_of(prefix, head):
		return model
	if prefix not in list_providers():
		# A self-hosted server; those speak OpenAI's protocol.
		return f"openai/{model}"
	# google/gemini-2.5-pro of Google: the provider's name, but not LiteLLM's prefix.
	return f"{prefix}/{rest if slash and clean_provider(head) == name else model}"


def check_server_credentials(name: str, provider: str) -> None:
	"""Raises ModelError for a model, by LiteLLM's name, whose calls carry credentials of the machine: they
	must not go to an address that a Huf Manager enters.
	"""
	if name.partition("/")[0] in OWN_CREDENTIALS:
		raise ModelError(
			f"{name} is called with credentials of this server, and only at the provider's own address. "
			f"Remove the Address of the AI Provider {provider}.",
			provider=provider,
		)


def supports_vision(provider: str | None, model: str) -> bool:
	"""Whether a model accepts images, by its AI Model record, else by the table."""
	own = read_model_facts(model).supports_vision
	return bool(find_abilities(provider, model).get("supports_vision") if own is None else own)


def find_context_window(provider: str | None, model: str) -> int:
	"""A model's context window in tokens; 0 if the table has none."""
	return find_abilities(provider, model).get("max_input_tokens") or 0


def find_abilities(provider: str | None, model: str) -> dict:
	"""The table's row that tells a model's abilities, or {}."""
	try:
		return listed_abilities(full_model_name(read_model_facts(model).model_id, provider))
	except ModelError:
		return {}


def find_price(provider: str, model: str) -> dict | None:
	"""{input, output, cached} in USD per million tokens; None if the table has no price."""
	try:
		prices = listed_prices(full_model_name(read_model_facts(model).model_id, provider))
	except ModelError:
		return None
	return prices.per_million() if prices else None


def list_provider_models(provider: str) -> list[str]:
	"""Names of a provider's chat models."""
	prefix = find_prefix(provider)
	rows = load_table().items()
	names = {
		name.removeprefix(f"{prefix}/")
		for name, row in rows
		if row.get("litellm_provider") == prefix and row.get("mode") == "chat" and not name.startswith("ft:")
	}
	return sorted(names)


def read_key(provider_name: str) -> str | None:
	"""The stored API key; None if there is none. Raises ModelError if it was encrypted with another key than
	the site's.
	"""
	from frappe.utils.password import get_decrypted_password

	messages, key = len(frappe.local.message_log), None
	# Frappe 15 raises for what it cannot decrypt; later versions only leave a message.
	with suppress(frappe.ValidationError):
		key = get_decrypted_password("AI Provider", provider_name, "api_key", raise_exception=False)
	del frappe.local.message_log[messages:]
	if key is None and frappe.db.get_value("AI Provider", provider_name, "api_key"):
		raise ModelError(
			f"The API key of AI Provider {provider_name} cannot be read with this site's encryption_key. "
			"Open the provider under Models and enter the key again, or restore the encryption_key.",
			provider=provider_name,
		)
	return key
