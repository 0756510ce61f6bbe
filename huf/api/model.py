"""Endpoints about models and providers, for people who configure them."""

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.providers.local_servers import fetch_server_models, find_local_servers
from huf.ai.providers.models import list_provider_models
from huf.ai.setup import models
from huf.ai.setup.model_check import try_model

MODEL, PROVIDER = "AI Model", "AI Provider"


@frappe.whitelist(methods=["GET"])
def get_models():
	"""Models, providers and prices; see `huf.ai.setup.models.describe_models`."""
	return models.describe_models()


@frappe.whitelist(methods=["GET"])
def get_known_models(provider: str):
	"""The models that LiteLLM lists for a provider."""
	frappe.has_permission(PROVIDER, "create", throw=True)
	return list_provider_models(provider)


@frappe.whitelist(methods=["POST"])
def list_server_models(api_base: str, api_key: str | None = None):
	"""The models that an OpenAI-compatible server lists under /models; [] if it does not answer."""
	frappe.has_permission(PROVIDER, "create", throw=True)
	return fetch_server_models(api_base.strip(), (api_key or "").strip())


@frappe.whitelist(methods=["GET"])
def get_local():
	"""Model servers found on the site's own machine: [{provider, api_base, models}]."""
	frappe.has_permission(PROVIDER, "create", throw=True)
	return find_local_servers()


@frappe.whitelist(methods=["POST"])
def connect(
	provider: str, model: str, api_key: str | None = None, api_base: str | None = None, is_local: bool = False
):
	"""Test a model, then create or update its provider and the model: {model, ok, said, error, took_ms}."""
	return models.connect_model(provider.strip(), model.strip(), api_key, api_base, is_local)


@frappe.whitelist(methods=["POST"])
def check(model: str):
	"""Test a model and how it calls tools; see `huf.ai.setup.model_check.try_model`."""
	get_permitted(MODEL, model, "write")
	return try_model(model)
