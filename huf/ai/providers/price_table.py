"""Reads LiteLLM's price table: names, prices, context windows and vision support of models. Does not import
LiteLLM.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from huf.ai.providers.models import TOKENS_PER_PRICE, Prices, read_model_facts

FILE = "model_prices_and_context_window_backup.json"
PROVIDERS = re.compile(r"^class LlmProviders\(.*\):\n((?:[ \t]+.*\n|\s*\n)*)", re.MULTILINE)
PROVIDER = re.compile(r"^[ \t]+[A-Z][A-Z0-9_]* = \"([^\"]+)\"", re.MULTILINE)
NAMES = {"google": "gemini", "azure openai": "azure", "lm studio": "lm_studio"}
"""Providers that have another name in the table."""


@lru_cache(maxsize=1)
def load_table() -> dict[str, dict]:
	"""LiteLLM's price table, from its file: {model: {input_cost_per_token, max_input_tokens, ...}}."""
	return json.loads(read_litellm_file(FILE) or "{}")


@lru_cache(maxsize=1)
def list_providers() -> frozenset[str]:
	"""Names of the providers that LiteLLM knows."""
	found = PROVIDERS.search(read_litellm_file("types", "utils.py"))
	return frozenset(PROVIDER.findall(found[1]) if found else ())


def read_litellm_file(*names: str) -> str:
	"""The text of one of LiteLLM's files; "" if it is missing."""
	spec = find_spec("litellm")
	path = Path((spec and spec.submodule_search_locations or [""])[0], *names)
	return path.read_text(encoding="utf-8") if spec and path.exists() else ""


def listed(name: str) -> dict:
	"""The table's row for a model, by LiteLLM's name."""
	table = load_table()
	return table.get(name) or table.get(name.partition("/")[2]) or {}


def listed_answer(name: str) -> float:
	"""The maximum length of an answer in tokens; infinite if unknown."""
	return listed(name).get("max_output_tokens") or float("inf")


def listed_prices(name: str) -> Prices | None:
	"""A model's prices in the table; None if it has none."""
	row = listed(name)
	price = row.get("input_cost_per_token")
	if price is None:
		return None
	return Prices(
		price, row.get("output_cost_per_token") or 0, row.get("cache_read_input_token_cost") or price
	)


def prices_of(model: str, name: str) -> Prices | None:
	"""Prices of an AI Model: its own, else those of the table; None if unknown."""
	return read_model_facts(model).prices or listed_prices(name)


def find_prefix(provider: str) -> str:
	name = provider.strip().lower()
	return NAMES.get(name, name.replace(" ", "_"))


def find_rows(provider: str, model: str) -> Iterator[dict]:
	model = read_model_facts(model).model_id
	names = (f"{find_prefix(provider)}/{model}", model, model.partition("/")[2])
	return (row for name in names if (row := load_table().get(name)))


def supports_vision(provider: str | None, model: str) -> bool:
	"""Whether a model accepts images, by its AI Model record, else by the table."""
	own = read_model_facts(model).supports_vision
	if own is None and provider:
		return any(row.get("supports_vision") for row in find_rows(provider, model))
	return bool(own)


def find_context_window(provider: str | None, model: str) -> int:
	"""A model's context window in tokens; 0 if the table has none."""
	return next(
		(row["max_input_tokens"] for row in find_rows(provider or "", model) if row.get("max_input_tokens")),
		0,
	)


def find_price(provider: str, model: str) -> dict | None:
	"""{input, output, cached} in USD per million tokens; None if the table has no price."""
	rows = find_rows(provider, model)
	row = next((row for row in rows if row.get("input_cost_per_token") is not None), None)
	if row is None:
		return None
	price = row["input_cost_per_token"]
	costs = {"input": price, "output": row.get("output_cost_per_token") or 0}
	costs["cached"] = row.get("cache_read_input_token_cost") or price
	return {kind: round(cost * TOKENS_PER_PRICE, 6) for kind, cost in costs.items()}


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
