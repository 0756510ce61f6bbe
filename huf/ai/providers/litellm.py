"""Asks models through LiteLLM. The only module that imports litellm, and only when a model is asked.

There are three ways: calls in OpenAI's format that have been checked once (`learned_calls.py`), which do not
even import LiteLLM; its translation over our own connections (`direct_path.py`), where `direct_path_check.py`
finds that it does the same; and else LiteLLM's call as a whole, which costs ten times as much.

Keys travel with each call, never through the environment, and are cut out of every message that leaves here.
"""

import asyncio
import gc
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import ModelError
from huf.ai.core.event_loops import run_on_model_loop
from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.telemetry import trace_headers
from huf.ai.core.types import ModelReply, Outcome, StopReason, Tool, Usage
from huf.ai.loop.context_window import DEFAULT_WINDOW, Room
from huf.ai.loop.model import Model, OnText, ignore_text
from huf.ai.loop.planner import PlanningModel
from huf.ai.loop.run_context import RunContext
from huf.ai.providers.answers import AnswerBuilder, TextRelay
from huf.ai.providers.failures import AnswerTooLarge, invalid_answer_error, known_errors, model_error
from huf.ai.providers.images import insert_images
from huf.ai.providers.models import (
	CallWay,
	Prices,
	UnsavedProvider,
	estimate_max_tokens,
	hides_tools,
	read_model_facts,
	read_model_id,
	uses_planner,
)
from huf.ai.providers.price_table import (
	list_providers,
	listed,
	listed_answer,
	listed_prices,
	load_table,
)
from huf.ai.providers.sdk_agent import _execute_tool_call, _find_tool, run_sdk_agent
from huf.ai.providers.tokens import TokenCounter

__all__ = [
	"_execute_tool_call",
	"_find_tool",
	"_normalize_model_name",
	"_setup_api_key",
	"run",
]

ALIASES = {"gemini": "google", "grok": "xai", "claude": "anthropic", "x.ai": "xai", "mistralai": "mistral"}
PREFIXES = {"google": "gemini", "ollama": "ollama_chat", "lm studio": "lm_studio", "azure openai": "azure"}
HIDDEN_TOOLS = (
	"%s read %d tokens, fewer than the tools of the run have: its server does not show them to the model. "
	"Test the model again under Models."
)
SCHEMA_REFUSALS = {400, 415, 422, 500, 501}
LOCAL_ANSWER_SHARE = 4
"""A local model's answer takes a quarter of its window at most, unless its agent says how much."""
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
WHOLE_ANSWER_TIMEOUT_S = 120
"""At least this long is waited for an answer that does not stream: it shows no token before its end."""


@lru_cache(maxsize=1)
def load():
	"""litellm itself, set up to make no calls of its own. Takes seconds the first time."""
	os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
	# None of what is imported is garbage, and looking for some takes a fifth of the time.
	is_collecting = gc.isenabled()
	gc.disable()
	try:
		import litellm
	finally:
		if is_collecting:
			gc.enable()

	litellm.telemetry = False
	litellm.suppress_debug_info = True
	litellm.drop_params = True
	# Counting tokens opens no connection.
	litellm.disable_hf_tokenizer_download = True
	return litellm


async def warm_up(needs_litellm: bool = True) -> None:
	"""Load what the first call would load. Asks nobody, and leaves no thread and no connection behind."""
	list_providers()
	load_table()
	if not needs_litellm:
		return
	for wishes in ({}, STREAMED):
		await check_directly({"model": "openai/gpt-4o-mini", **wishes})


async def run(
	agent: Any,
	enhanced_prompt: str,
	provider: str | None,
	model: str,
	context: RunContext | Mapping[str, Any] | None = None,
) -> Outcome:
	"""Run an SDK agent with a model of `provider`. A model that fails ends the Outcome; it does not raise."""
	context = RunContext.of(context)
	settings = request_settings(agent, context.agent_name)

	def connect_model(provider: str | None, model: str) -> Model:
		call = connect(provider or "", model, settings, context.is_streamed)
		return PlanningModel(call) if uses_planner(context.agent_name, model) else call

	def escalate(is_unreachable: bool) -> Model | None:
		larger = context.larger_model(is_unreachable) if context.larger_model else None
		if larger is None:
			return None
		context.journal.provider, context.journal.model = larger
		return connect_model(*larger)

	try:
		first = connect_model(provider, model)
	except ModelError as error:
		return Outcome(StopReason.ERROR, error=str(error))
	return await run_sdk_agent(agent, enhanced_prompt, first, context, escalate)


def connect(
	provider: str, model: str, wanted: dict[str, Any], stream: bool, unsaved: UnsavedProvider | None = None
) -> "ModelCall":
	"""What every call of a run has in common. Raises ModelError where the provider is not set up.

	`stream`: somebody watches. An answer nobody watches is asked for whole, which costs a fraction; except
	from a local model, which may be slow: while it works, tokens arrive.
	`unsaved` takes the place of the AI Provider.
	"""
	settings = get_settings()
	row = unsaved or find_cached("AI Provider", provider)
	stream = stream or bool(row and row.is_local)
	name = _normalize_model_name(read_model_id(model), provider)
	fixed = {
		**wanted,
		"model": name,
		"timeout": settings.model_timeout if stream else max(settings.model_timeout, WHOLE_ANSWER_TIMEOUT_S),
		# Ours are the retries: LiteLLM's would repeat an answer that a reader has seen begin.
		"num_retries": 0,
		"max_retries": 0,
	}
	if stream:
		fixed |= STREAMED
	_setup_api_key(provider, unsaved.api_key if unsaved else read_key(provider), fixed, row)
	site, table = read_model_facts(model), listed(name)
	answer_tokens = site.max_answer_tokens or int(min(settings.answer_tokens, listed_answer(name)))
	prices = site.prices or listed_prices(name)
	window = site.window or table.get("max_input_tokens") or DEFAULT_WINDOW
	sees = table.get("supports_vision") if site.supports_vision is None else site.supports_vision
	if row.is_local:
		# A small model may never end by itself.
		fixed.setdefault("max_tokens", max(1, min(answer_tokens, window // LOCAL_ANSWER_SHARE)))
	return ModelCall(
		*(provider, model, fixed, prices, settings.model_retries, answer_tokens, window, bool(row.is_local)),
		CallWay(row.call_way or CallWay.AUTOMATIC),
		bool(sees),
	)


def request_settings(agent: Any, agent_name: str | None) -> dict[str, Any]:
	"""temperature, top_p and max_tokens: the Agent record's, else the SDK agent's. What a model does not take
	is dropped.
	"""
	doc = find_cached("Agent", agent_name)
	fallback = agent.model_settings
	wanted = {
		"temperature": doc.temperature if doc else fallback.temperature,
		"top_p": (doc.top_p or None) if doc else fallback.top_p,
		"max_tokens": (doc.max_tokens or None) if doc else fallback.max_tokens,
	}
	return {key: value for key, value in wanted.items() if value is not None}


def _normalize_model_name(model: str, provider: str | None) -> str:
	"""The model in LiteLLM's form: gpt-4-turbo of OpenAI is openai/gpt-4-turbo; what has its prefix stays."""
	name = ALIASES.get((provider or "").strip().lower(), (provider or "").strip().lower())
	if name == "openrouter":
		return model if model.startswith("openrouter/") else f"openrouter/{model}"
	head, slash, _ = model.partition("/")
	if slash and is_known(head):
		return model
	prefix = PREFIXES.get(name, name.replace(" ", "_"))
	# A provider LiteLLM does not know is somebody's own server; those speak OpenAI's language.
	return f"{prefix if is_known(prefix) else 'openai'}/{model}"


def is_known(prefix: str) -> bool:
	return prefix in list_providers()


def _setup_api_key(
	provider_name: str, api_key: str | None, completion_kwargs: dict[str, Any], row: Any = None
) -> None:
	"""Put the key into the call. Raises ModelError where one is needed and missing."""
	row = row or find_cached("AI Provider", provider_name)
	if not row:
		raise ModelError(f"There is no AI Provider {provider_name!r}.", provider=provider_name)
	if row.api_base:
		completion_kwargs["api_base"] = row.api_base
	if api_key:
		completion_kwargs["api_key"] = api_key
	elif row.is_local or row.api_base:
		# LiteLLM's clients insist on some key, and would look for one in the environment.
		completion_kwargs["api_key"] = "not-needed"
	else:
		raise ModelError(
			f"AI Provider {provider_name} has no API key. Open it under Models and enter one.",
			provider=provider_name,
		)


def read_key(provider_name: str) -> str | None:
	from frappe.utils.password import get_decrypted_password

	return get_decrypted_password("AI Provider", provider_name, "api_key", raise_exception=False)


@dataclass(frozen=True)
class ModelCall:
	"""One model as a run asks it; `fixed` are the arguments of LiteLLM that stay the same."""

	provider: str
	model: str
	fixed: dict[str, Any]
	prices: Prices | None
	retries: int
	answer_tokens: int
	"""How long an answer may be where a limit has to be kept and the agent does not say."""
	window: int
	is_local: bool
	"""What it answers passes the response guard."""
	way: CallWay
	sees: bool = False
	"""Whether it is shown pictures."""

	reports_prompt_tokens: bool = True
	refused_schemas: list[str] = field(default_factory=list, compare=False)
	"""Why the server takes no JSON schema, once it has said so in this run."""

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		"""Call the model once and return the whole reply; text is passed on as it streams in. Raises
		ModelError.
		"""
		return await self.request(messages, tools, on_text, max_tokens)

	async def complete_json(
		self, messages: list[dict], schema: dict, max_tokens: int | None = None
	) -> ModelReply:
		"""A reply that fits a JSON schema, where the server takes one. Raises ModelError."""
		form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
		if not self.refused_schemas:
			try:
				return await self.request(messages, [], ignore_text, max_tokens, {"response_format": form})
			except ModelError as error:
				if error.status not in SCHEMA_REFUSALS:
					raise
				self.refused_schemas.append(str(error))
		return await self.request(messages, [], ignore_text, max_tokens)

	async def request(
		self,
		messages: list[dict],
		tools: list[Tool],
		on_text: OnText,
		max_tokens: int | None,
		options: Mapping[str, Any] | None = None,
	) -> ModelReply:
		kwargs = {**self.fixed, "messages": insert_images(messages, self.sees), **(options or {})}
		if tools:
			kwargs["tools"] = [tool.as_spec() for tool in tools]
		if max_tokens is not None:
			kwargs["max_tokens"] = max_tokens
		known = {tool.name: tool.parameters for tool in tools} if self.is_local else None
		relay = TextRelay(on_text)
		answer = AnswerBuilder(relay.add, known)
		try:
			await fetch(kwargs, answer, self.way)
		except AnswerTooLarge as error:
			raise invalid_answer_error(
				str(error), self.provider, self.model, retryable=False, usage=Usage(cost=None)
			) from None
		except Exception as error:  # the clients' classes are imported only after an error
			if not isinstance(error, known_errors()):
				raise
			secret = self.fixed.get("api_key")
			raise model_error(
				error, self.provider, self.model, secret, is_partly_displayed=bool(answer.text)
			) from None
		finally:
			relay.flush()
		usage = self.usage_of(answer.usage)
		if self.is_local and hides_tools(tools, usage.input_tokens):
			logging.getLogger("huf").warning(HIDDEN_TOOLS, self.model, usage.input_tokens)
		if fault := answer.fault:
			raise invalid_answer_error(
				fault, self.provider, self.model, retryable=answer.is_empty, usage=usage
			)
		return answer.to_reply(self.model, usage)

	def worst_case(
		self, messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)
	) -> WorstCase:
		"""The most that this call can use."""
		prices = self.prices.max_prices if self.prices else (None, None)
		output = self.fixed.get("max_tokens") or self.answer_tokens
		return WorstCase(self.model, estimate_max_tokens(messages, tools, counted), output, *prices)

	def room(self, tools: list[Tool]) -> Room:
		"""How much can be sent, by LiteLLM's tokenizer for the model."""
		name, allowed = self.fixed["model"], Room(self.window).allowed
		return Room(
			self.window,
			TokenCounter(lambda text: load().token_counter(model=name, text=text), tools, allowed),
		)

	def usage_of(self, usage: Any) -> Usage:
		"""Tokens and cost of a call; without usage, or without a price, the cost is unknown."""
		if usage is None or not (usage.prompt_tokens or usage.completion_tokens):
			# LiteLLM puts zeros where a provider said nothing.
			return Usage(cost=None)
		cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None) or 0
		tokens = (usage.prompt_tokens or 0, usage.completion_tokens or 0, cached)
		return Usage(*tokens, cost=self.prices.cost(*tokens) if self.prices else None)


async def fetch(kwargs: dict, answer: AnswerBuilder, way: CallWay) -> None:
	"""One call over the wire. Raises ValueError where only the direct way may be gone and it cannot."""
	if way is not CallWay.WRAPPED:
		from huf.ai.providers.learned_calls import find_learned

		learned = find_learned(kwargs)
		if learned and (body := learned.write_body(kwargs)) is not None:
			return await learned.complete(body, kwargs, answer, partial(load_path, kwargs))
		found = await direct_way(kwargs)
		if not isinstance(found, str):
			path, template = found
			return await path.complete(template, kwargs, answer)
		if way is CallWay.DIRECT:
			raise ValueError(f"Connection is Direct, but this model cannot be called that way. {found}")
	if headers := trace_headers():
		kwargs = {**kwargs, "extra_headers": headers}
	await run_on_model_loop(ask_wrapped(kwargs, answer))


async def load_path(kwargs: dict):
	"""LiteLLM's translation for a call. It is imported beside the event loop, on which others may wait."""
	from huf.ai.providers.direct_path import DirectPath

	return DirectPath(await asyncio.to_thread(load), kwargs["model"], kwargs.get("api_base"))


async def ask_wrapped(kwargs: dict, answer: AnswerBuilder) -> None:
	response = await load().acompletion(**kwargs)
	if kwargs.get("stream"):
		await answer.read_stream(response)
	else:
		answer.read_response(response)


async def direct_way(kwargs: dict):
	"""How a call can be made directly, or why it cannot. What is learned of the call is stored."""
	from huf.ai.providers import direct_path_check, learned_calls

	found = await check_directly(kwargs)
	if not isinstance(found, direct_path_check.FailedCheck):
		await learned_calls.learn(kwargs, partial(direct_path_check.learn_call, found, kwargs))
	return found


async def check_directly(kwargs: dict):
	"""See `direct_path_check`, which brings HTTP clients that only calls need."""
	from huf.ai.providers import direct_path_check

	if found := direct_path_check.results.get(direct_path_check.make_cache_key(kwargs)):
		return found
	found = await run_on_model_loop(direct_path_check.find_direct_path(load(), kwargs))
	# Half a million objects are here to stay: to look through them for garbage holds all threads up for a
	# quarter of a second.
	gc.freeze()
	return found
