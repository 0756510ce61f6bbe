"""Lists models with their prices, and adds a provider with a model once a test call has passed.

Saves with the user's permissions.
"""

import frappe
from frappe import _

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.stored_secrets import refuse_address
from huf.ai.providers.local_servers import is_local_address, read_window
from huf.ai.providers.models import (
	HTTP_ADDRESS,
	SELF_HOSTED,
	UnsavedProvider,
	find_prefix,
	find_price,
	list_providers,
	read_model_facts,
)
from huf.ai.setup.model_check import check_model, store_findings

PROVIDER_FIELDS = ("name", "is_local", "api_base", "api_key")
MODEL_FIELDS = (
	"name",
	"provider",
	"tier",
	"context_window",
	"without_tool_calls",
	"ask_before_writes",
	"tool_calls",
	"tokens_per_second",
	"checked_at",
	"own_prices",
)


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
	return {"price": own.per_million(), "priced_by": "site"}


def connect_model(
	provider: str, model: str, api_key: str | None, api_base: str | None, is_local: bool
) -> dict:
	"""Test a model of a provider, then store both; returns {model, ...} with `check_model`'s result.

	Nothing is stored before the test passes. The first model becomes the default. Existing records are
	kept; a new key or address replaces the stored one. Raises UsageError.
	"""
	if not (provider and model):
		raise UsageError(_("Say which provider, and which of its models."))
	for doctype in ("AI Provider", "AI Model"):
		frappe.has_permission(doctype, "create", throw=True)
	name = find_model_name(provider, model)
	api_base = check_address(api_base)
	unsaved = describe_unsaved(provider, api_key, api_base, is_local)
	if not unsaved.api_base and not has_known_address(provider, model):
		# LiteLLM would send the key to OpenAI.
		raise UsageError(
			_("Huf does not know where {0} is. Enter the Address of its server.").format(provider)
		)
	result, checked = check_model(model, provider, unsaved)
	if checked:
		# The server is asked before anything is written.
		local = read_local_facts(unsaved.api_base, model) if unsaved.is_local else {}
		store_provider(provider, {"api_key": api_key, "api_base": api_base}, unsaved.is_local)
		store_model(name, provider, model, local)
		store_findings(name, checked)
	return {"model": name, **result}


def check_address(api_base: str | None) -> str | None:
	"""The address without blanks, None if it is empty. Raises UsageError."""
	address = (api_base or "").strip() or None
	if address and not HTTP_ADDRESS.match(address):
		raise UsageError(_("Address must begin with http:// or https://"))
	return address


def has_known_address(provider: str, model: str) -> bool:
	"""Whether LiteLLM knows the provider's address, by its name or by the prefix of the model."""
	return not {find_prefix(provider), model.partition("/")[0]}.isdisjoint(list_providers() - SELF_HOSTED)


def find_model_name(provider: str, model: str) -> str:
	"""The AI Model's name: the model's own, or `provider/model` if another provider has it as well."""
	same = frappe.db.get_value("AI Model", {"provider": provider, "model_id": model})
	known = frappe.db.get_value("AI Model", model, "provider")
	return same or (model if known in (None, provider) else f"{provider}/{model}")


def describe_unsaved(
	provider: str, api_key: str | None, api_base: str | None, is_local: bool
) -> UnsavedProvider:
	"""The provider as the form has it; values that the form leaves out come from the stored provider."""
	if not frappe.db.exists("AI Provider", provider):
		return UnsavedProvider(api_key or None, api_base, is_local or is_local_address(api_base))
	doc = get_permitted("AI Provider", provider, "write")
	stored = doc.get_password("api_key", raise_exception=False)
	if stored and not api_key and api_base and api_base != doc.api_base:
		refuse_address(doc, "api_base", _(doc.meta.get_label("api_key")))
	base = api_base or doc.api_base
	is_local = bool(doc.is_local) or is_local_address(base)
	return UnsavedProvider(api_key or stored, base, is_local, doc.call_way)


def store_model(name: str, provider: str, model: str, local: dict) -> None:
	"""Store an AI Model, unless it exists, with the fields of `read_local_facts`."""
	if not frappe.db.exists("AI Model", name):
		frappe.get_doc({"doctype": "AI Model", "model_name": model, "provider": provider, **local}).insert()
	settings = frappe.get_doc("Huf Settings")
	if not settings.default_model:
		settings.default_model = name
		settings.save()


def read_local_facts(api_base: str | None, model: str) -> dict:
	"""Fields of a local server's AI Model: its window, and that agents ask before they write."""
	return {"context_window": read_window(api_base, model) if api_base else 0, "ask_before_writes": 1}


def store_provider(provider: str, given: dict, is_local: bool) -> None:
	given = {field: value.strip() for field, value in given.items() if value and value.strip()}
	if not frappe.db.exists("AI Provider", provider):
		values = {"doctype": "AI Provider", "provide_name": provider, "is_local": int(is_local)}
		frappe.get_doc({**values, **given}).insert()
	elif given:
		doc = frappe.get_doc("AI Provider", provider)
		doc.update({**given, "is_local": int(doc.is_local or is_local)})
		doc.save()
