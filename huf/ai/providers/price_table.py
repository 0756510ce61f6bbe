"""What LiteLLM's own table says of models: prices, names, windows, whether they see. Read from its file, so that no page loads LiteLLM for it."""

import json
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from huf.ai.providers.models import MILLION, facts_of

FILE = "model_prices_and_context_window_backup.json"
NAMES = {"google": "gemini", "azure openai": "azure", "lm studio": "lm_studio"}
"""Where the table's name of a provider is not the provider's."""


@lru_cache(maxsize=1)
def table() -> dict[str, dict]:
	spec = find_spec("litellm")
	path = Path(spec.submodule_search_locations[0], FILE) if spec else None
	return json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else {}


def prefix_of(provider: str) -> str:
	name = provider.strip().lower()
	return NAMES.get(name, name.replace(" ", "_"))


def rows_of(provider: str, model: str) -> Iterator[dict]:
	names = (f"{prefix_of(provider)}/{model}", model, model.partition("/")[2])
	return (row for name in names if (row := table().get(name)))


def can_see(provider: str | None, model: str) -> bool:
	"""Whether a model is shown pictures: as the site says, else as the table does."""
	said = facts_of(model).sees
	if said is None and provider:
		return any(row.get("supports_vision") for row in rows_of(provider, model))
	return bool(said)


def listed_window(provider: str | None, model: str) -> int:
	"""Tokens a model can read at once; 0: the table does not say."""
	return next(
		(row["max_input_tokens"] for row in rows_of(provider or "", model) if row.get("max_input_tokens")), 0
	)


def listed_price(provider: str, model: str) -> dict | None:
	"""{input, output, cached} in USD per million tokens; None: the table does not say."""
	rows = rows_of(provider, model)
	row = next((row for row in rows if row.get("input_cost_per_token") is not None), None)
	if row is None:
		return None
	price = row["input_cost_per_token"]
	costs = {"input": price, "output": row.get("output_cost_per_token") or 0}
	costs["cached"] = row.get("cache_read_input_token_cost") or price
	return {kind: round(cost * MILLION, 6) for kind, cost in costs.items()}


def listed_models(provider: str) -> list[str]:
	"""Names of a provider's models that one can chat with."""
	prefix = prefix_of(provider)
	rows = table().items()
	names = {
		name.removeprefix(f"{prefix}/")
		for name, row in rows
		if row.get("litellm_provider") == prefix and row.get("mode") == "chat" and not name.startswith("ft:")
	}
	return sorted(names)
