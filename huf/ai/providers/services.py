"""Embeddings, transcription and web search through LiteLLM. Calls are not retried."""

from typing import Any

from huf.ai.core.contacts import name_model_host, record_contact
from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped, ToolError
from huf.ai.core.event_loops import run_on_model_loop
from huf.ai.core.secret_text import SecretText
from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.types import Usage
from huf.ai.providers.failures import known_errors, model_error, read_reason
from huf.ai.providers.litellm import WHOLE_ANSWER_TIMEOUT_S, _setup_api_key
from huf.ai.providers.litellm_module import load
from huf.ai.providers.models import full_model_name, prices_of, read_key, read_model_facts
from huf.ai.providers.speech import read_speech_prices, speech_worst_case
from huf.ai.storage.standalone_calls import budgeted_call

SEARCH_PROVIDERS = {"SearXNG": "searxng", "Tavily": "tavily", "Brave": "brave"}


async def transcribe_audio(model: str, file_name: str, content: bytes | str) -> dict:
	"""Transcribe an audio file: {text}. Charged to the user's and the site's budget. Raises ModelError;
	commits.
	"""
	audio = content.encode() if isinstance(content, str) else content
	provider, kwargs = prepare_call(model)
	prices = read_speech_prices(model, kwargs["model"])
	kwargs["timeout"] = max(get_settings().model_timeout, WHOLE_ANSWER_TIMEOUT_S)
	try:
		with budgeted_call(speech_worst_case(model, file_name, len(audio), prices)) as used:
			try:
				answer = await run_on_model_loop(load().atranscription(file=(file_name, audio), **kwargs))
			except known_errors() as error:
				raise model_error(error, provider, model, kwargs["api_key"]) from None
			used.usage = prices.usage_of(answer.usage)
	except (RunStopped, BudgetReserved) as limit:
		raise ModelError(str(limit)) from None
	if not isinstance(answer.text, str):
		raise ModelError(f"{model} returned something other than a text.")
	return {"text": answer.text}


def prepare_call(model: str) -> tuple[str, dict[str, Any]]:
	"""The provider of an AI Model, and what each call of LiteLLM needs of both. Records the contact."""
	provider = find_cached("AI Model", model).provider
	kwargs: dict[str, Any] = {"model": read_full_name(model), "max_retries": 0}
	_setup_api_key(provider, read_key(provider), kwargs)
	record_contact("model", name_model_host(provider, kwargs.get("api_base")))
	return provider, kwargs


def read_full_name(model: str) -> str:
	"""LiteLLM's name of an AI Model."""
	return full_model_name(read_model_facts(model).model_id, find_cached("AI Model", model).provider)


async def embed(model: str, texts: list[str]) -> tuple[list[list[float]], Usage]:
	"""(vectors of the texts, usage) by an embedding model. Raises ModelError. Call it outside write
	transactions.
	"""
	provider, kwargs = prepare_call(model)
	timeout = get_settings().model_timeout
	try:
		answer = await run_on_model_loop(load().aembedding(input=texts, timeout=timeout, **kwargs))
	except known_errors() as error:
		raise model_error(error, provider, model, kwargs["api_key"]) from None
	tokens = answer.usage.prompt_tokens if answer.usage else 0
	if not isinstance(tokens, int):
		tokens = 0  # LiteLLM passes on what the server says
	prices = prices_of(model, kwargs["model"])
	cost = prices.cost(tokens, 0, 0) if prices and tokens else None
	return [each["embedding"] for each in answer.data or ()], Usage(tokens, cost=cost)


def embedding_worst_case(model: str, texts: list[str]) -> WorstCase:
	"""The most that `embed` can cost and use: a token has at least one byte."""
	prices = prices_of(model, read_full_name(model))
	tokens = sum(len(text.encode()) for text in texts)
	return WorstCase(model, tokens, 0, prices.input if prices else None, 0.0)


async def search_web(query: str, limit: int) -> list[dict]:
	"""Results of the site's search provider: [{title, url, text, date}]. Raises ToolError."""
	from frappe.utils.password import get_decrypted_password

	settings = get_settings()
	record_contact("search", settings.search_provider or "")
	key = get_decrypted_password("Huf Settings", "Huf Settings", "search_api_key", raise_exception=False)
	kwargs = {
		"query": query,
		"search_provider": SEARCH_PROVIDERS[settings.search_provider or ""],
		"max_results": limit,
		"api_key": SecretText(key) if key else None,
		"api_base": settings.search_base_url or None,
		"timeout": settings.tool_timeout,
	}
	try:
		answer = await run_on_model_loop(load().asearch(**kwargs))
	except known_errors() as error:
		reason = read_reason(error, key)
		raise ToolError(f"The web search by {settings.search_provider} failed: {reason}") from None
	return [
		{
			"title": each.title,
			"url": each.url,
			"text": each.snippet,
			**({"date": each.date} if each.date else {}),
		}
		for each in answer.results[:limit]
	]
