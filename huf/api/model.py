"""REST about models and providers, for people who set them up."""

import frappe

from huf.ai.providers.local_servers import find_local
from huf.ai.providers.price_table import listed_models
from huf.ai.setup import models
from huf.ai.setup.model_check import try_model

MODEL, PROVIDER = "AI Model", "AI Provider"


@frappe.whitelist(methods=["GET"])
def get_models():
	"""Models, providers and prices; see `huf.ai.setup.models.describe_models`."""
	return models.describe_models()


@frappe.whitelist(methods=["GET"])
def get_known_models(provider: str):
	"""Names of a provider's models, as far as LiteLLM knows them."""
	frappe.has_permission(PROVIDER, "create", throw=True)
	return listed_models(provider)


@frappe.whitelist(methods=["GET"])
def get_local():
	"""Model servers on the site's own machine: [{provider, api_base, models}]."""
	frappe.has_permission(PROVIDER, "create", throw=True)
	return find_local()


@frappe.whitelist(methods=["POST"])
def connect(
	provider: str, model: str, api_key: str | None = None, api_base: str | None = None, is_local: bool = False
):
	"""Add a provider and a model of it in one step; gives the AI Model's name."""
	return models.connect(provider.strip(), model.strip(), api_key, api_base, is_local)


@frappe.whitelist(methods=["POST"])
def check(model: str):
	"""Ask a model for one word: {ok, said, error, took_ms}."""
	frappe.get_doc(MODEL, model).check_permission("write")
	return try_model(model)
