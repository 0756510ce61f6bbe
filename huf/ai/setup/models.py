"""Lists models with their prices, and adds a provider with a model in one step. Calls no model.

Saves with the user's permissions.
"""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.providers.models import TOKENS_PER_PRICE, read_model_facts
from huf.ai.providers.price_table import find_price

PROVIDER_FIELDS = ("name", "is_local", "api_base", "api_key")
MODEL_FIELDS = ("name", "provider", "tier", "context_window", "without_tool_calls", "own_prices")


def describe_models() -> dict:
	"""{default, models: [{name, provider, tier, ..., price, priced_by}], providers: [{name, is_local,
	api_base, has_key}]}.

	`price` is {input, output, cached} in USD per million tokens, or None; `priced_by` is "site" or "table".
	"""
	models = frappe.get_list(
		"AI Model", fields=list(MODEL_FIELDS), order_by="model_name asc", limit_page_length=0
	)
	providers = frappe.get_list(
		"AI Provider", fields=list(PROVIDER_FIELDS), order_by="provide_name asc", limit_page_length=0
	)
	for row in providers:
		row.has_key = bool(row.pop("api_key", None))
	return {
		"default": frappe.get_cached_doc("Huf Settings").default_model or None,
		"models": [{**row, **describe_price(row)} for row in models],
		"providers": providers,
	}


def describe_price(row) -> dict:
	own = read_model_facts(row.name).prices
	if own is None:
		return {"price": find_price(row.provider, row.name), "priced_by": "table"}
	price = {kind: round(getattr(own, kind) * TOKENS_PER_PRICE, 6) for kind in ("input", "output", "cached")}
	return {"price": price, "priced_by": "site"}


def connect_model(
	provider: str, model: str, api_key: str | None, api_base: str | None, is_local: bool
) -> str:
	"""Store a provider with its key and one of its models; returns the AI Model's name. The first model
	becomes the default.

	Existing records are kept; a new key or URL replaces the stored one. Raises UsageError.
	"""
	if not (provider and model):
		raise UsageError("Say which provider, and which of its models.")
	store_provider(provider, api_key, api_base, is_local)
	known = frappe.db.get_value("AI Model", model, "provider")
	if known and known != provider:
		raise UsageError(
			f"There is an AI Model {model} already, of {known}. Open it under Models to change its provider."
		)
	if not known:
		frappe.get_doc({"doctype": "AI Model", "model_name": model, "provider": provider}).insert()
	settings = frappe.get_doc("Huf Settings")
	if not settings.default_model:
		settings.default_model = model
		settings.save()
	return model


def store_provider(provider: str, api_key: str | None, api_base: str | None, is_local: bool) -> None:
	given = {"api_key": api_key, "api_base": api_base}
	given = {field: value.strip() for field, value in given.items() if value and value.strip()}
	if not frappe.db.exists("AI Provider", provider):
		values = {"doctype": "AI Provider", "provide_name": provider, "is_local": int(is_local)}
		frappe.get_doc({**values, **given}).insert()
	elif given:
		doc = frappe.get_doc("AI Provider", provider)
		doc.update(given)
		doc.save()
