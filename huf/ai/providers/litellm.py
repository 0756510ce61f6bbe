"""Calls models through LiteLLM, or sends what LiteLLM would send.

A call takes the first of three routes that is available: without LiteLLM, if it is in OpenAI's format and was
checked before (`learned_calls.py`); LiteLLM's translation over our own connections, if `direct_path_check.py`
finds it equivalent (`direct_path.py`); `litellm.acompletion`, which costs ten times as much.

API keys are passed with each call, never through the environment, and are removed from all error messages.
"""

import asyncio
import gc
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import ModelError
from huf.ai.core.event_loops import run_on_model_loop
from huf.ai.core.secret_text import SecretText
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
from huf.ai.providers.litellm_module import STREAMED, load
from huf.ai.providers.models import (
	CallPath,
	Prices,
	UnsavedProvider,
	check_server_credentials,
	estimate_max_tokens,
	hides_tools,
	list_providers,
	listed_abilities,
	listed_prices,
	load_table,
	read_key,
	read_model_facts,
)
from huf.ai.providers.models import full_model_name as _normalize_model_name
from huf.ai.providers.sdk_agent import _execute_tool_call, _find_tool, run_sdk_agent
from huf.ai.providers.tokens import TokenCounter, count_text

__all__ = [
	"_execute_tool_call",
	"_find_tool",
	"_normalize_model_name",
	"_setup_api_key",
	"run",
]

HIDDEN_TOOLS = (
	"%s read %d tokens, fewer than the tools of the run have: its server does not show them to the model. "
	"Test the model again under Models."
)
SCHEMA_REFUSALS = {400, 415, 422, 500, 501}
LOCAL_ANSWER_SHARE = 4
"""By default a local model's answer is limited to 1/4 of its context window."""
MAX_REPORTED_TOKENS = 50_000_000
"""More than any model reads at once. The sum of a run's calls must fit into a database's integer."""
WHOLE_ANSWER_TIMEOUT_S = 120
"""Minimum time-out of an answer that is not streamed: no token arrives before its end."""


async def warm_up(needs_litellm: bool = True) -> None:
	"""Import what the first call would import. Opens no connection and leaves no thread behind."""
	list_providers()
	load_table()
	if not needs_litellm:
		return
	for options in ({}, STREAMED):
		await check_directly({"model": "openai/gpt-4o-mini", **options})


async def run(
	agent: Any,
	enhanced_prompt: str,
	provider: str | None,
	model: str,
	context: RunContext | Mapping[str, Any] | None = None,
) -> Outcome:
	"""Run an SDK agent with a model of `provider`. A failing model becomes an Outcome, not an exception."""
	context = RunContext.of(context)
	doc = find_cached("Agent", context.agent_name)
	settings = request_settings(agent, doc)

	def connect_model(provider: str | None, model: str) -> Model:
		call = build_call_arguments(provider or "", model, settings, context.is_streamed)
		return PlanningModel(call) if uses_planner(doc, call) else call

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


def build_call_arguments(
	provider: str, model: str, wanted: dict[str, Any], stream: bool, unsaved: UnsavedProvider | None = None
) -> "ModelCall":
	"""The arguments that all calls of a run share. Raises ModelError if the provider is not set up.

	`stream`: a person watches. Otherwise the answer is requested whole, which is much cheaper; except from
	local models, which may be slow: arriving tokens show that they work. `unsaved` replaces the AI Provider.
	"""
	settings = get_settings()
	row = unsaved or find_cached("AI Provider", provider)
	stream = stream or bool(row and row.is_local)
	site = read_model_facts(model)
	name = _normalize_model_name(site.model_id, provider)
	fixed = {
		**wanted,
		"model": name,
		"timeout": settings.model_timeout if stream else max(settings.model_timeout, WHOLE_ANSWER_TIMEOUT_S),
		# The loop retries. LiteLLM would also repeat answers of which a reader has seen the beginning.
		"num_retries": 0,
		"max_retries": 0,
	}
	if stream:
		fixed |= STREAMED
	_setup_api_key(provider, unsaved.api_key if unsaved else read_key(provider), fixed, row)
	table = listed_abilities(name)
	answer_tokens = site.max_answer_tokens or min(
		settings.answer_tokens, table.get("max_output_tokens") or settings.answer_tokens
	)
	prices = site.prices or (Prices(0.0, 0.0, 0.0) if row.is_local else listed_prices(name))
	window = site.window or table.get("max_input_tokens") or DEFAULT_WINDOW
	sees = table.get("supports_vision") if site.supports_vision is None else site.supports_vision
	if row.is_local:
		# A small model may never stop.
		fixed.setdefault("max_tokens", max(1, min(answer_tokens, window // LOCAL_ANSWER_SHARE)))
	return ModelCall(
		provider=provider,
		model=model,
		fixed=fixed,
		prices=prices,
		retries=settings.model_retries,
		answer_tokens=answer_tokens,
		window=window,
		is_local=bool(row.is_local),
		call_path=CallPath(row.call_way or CallPath.AUTOMATIC),
		sees=bool(sees),
		calls_tools=site.calls_tools,
	)


def uses_planner(agent: Any, model: "ModelCall") -> bool:
	"""Whether the Agent writes plans instead of tool calls: by its setting, else by its model's."""
	chosen = agent.tool_mode if agent else None
	return chosen == "Planner" or (chosen != "Native" and not model.calls_tools)


def request_settings(agent: Any, doc: Any) -> dict[str, Any]:
	"""temperature, top_p and max_tokens of the Agent record `doc`, else of the SDK agent, without those that
	the model does not support.
	"""
	fallback = agent.model_settings
	wanted = {
		"temperature": doc.temperature if doc else fallback.temperature,
		"top_p": (doc.top_p or None) if doc else fallback.top_p,
		"max_tokens": (doc.max_tokens or None) if doc else fallback.max_tokens,
	}
	return {key: value for key, value in wanted.items() if value is not None}


def _setup_api_key(
	provider_name: str, api_key: str | None, completion_kwargs: dict[str, Any], row: Any = None
) -> None:
	"""Add the API key to the call, and the address of an AI Provider that has one. Raises ModelError if a
	required key is missing, or the model may have no address.
	"""
	row = row or find_cached("AI Provider", provider_name)
	if row and row.api_base:
		check_server_credentials(completion_kwargs["model"], provider_name)
		completion_kwargs["api_base"] = row.api_base
	if api_key:
		completion_kwargs["api_key"] = SecretText(api_key)
	elif not row:
		raise ModelError(f"There is no AI Provider {provider_name!r}.", provider=provider_name)
	elif row.is_local or row.api_base:
		# LiteLLM's clients require a key and would otherwise read one from the environment.
		completion_kwargs["api_key"] = "not-needed"
	else:
		raise ModelError(
			f"AI Provider {provider_name} has no API key. Open it under Models and enter one.",
			provider=provider_name,
		)


@dataclass(frozen=True)
class ModelCall:
	"""A model as a run calls it. `fixed`: the LiteLLM arguments that do not change between calls."""

	provider: str
	model: str
	fixed: dict[str, Any]
	prices: Prices | None
	retries: int
	answer_tokens: int
	"""Length of an answer that budgets assume if the agent sets none."""
	window: int
	is_local: bool
	"""Its answers go through the response guard."""
	call_path: CallPath
	sees: bool = False
	"""Whether images are sent to it."""
	calls_tools: bool = True
	reports_prompt_tokens: bool = True
	is_check: bool = False
	"""It is tested on the page that lists its provider."""
	refused_schemas: list[str] = field(default_factory=list, compare=False)
	"""Errors with which the server rejected JSON schemas in this run; empty if it accepts them."""

	async def complete(
		self,
		messages: list[dict],
		tools: list[Tool],
		on_text: OnText,
		max_tokens: int | None = None,
		options: Mapping[str, Any] | None = None,
	) -> ModelReply:
		"""Call the model once and return the whole reply; text is passed on while it streams. Raises
		ModelError.

		`options`: further LiteLLM arguments.
		"""
		kwargs = {**self.fixed, "messages": insert_images(messages, self.sees), **(options or {})}
		if tools:
			kwargs["tools"] = [tool.as_spec() for tool in tools]
		if max_tokens is not None:
			kwargs["max_tokens"] = max_tokens
		known = {tool.name: tool.parameters for tool in tools} if self.is_local else None
		relay = TextRelay(on_text)
		answer = AnswerBuilder(relay.add, known)
		try:
			await fetch(kwargs, answer, self.call_path)
		except AnswerTooLarge as error:
			raise invalid_answer_error(
				str(error), self.provider, self.model, retryable=False, usage=Usage(cost=None)
			) from None
		except Exception as error:  # the clients' classes are imported only after an error
			if not isinstance(error, known_errors()):
				raise
			secret = self.fixed.get("api_key")
			begun = bool(answer.chars), bool(answer.text)
			raise model_error(error, self.provider, self.model, secret, *begun, self.is_check) from None
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

	async def complete_json(
		self, messages: list[dict], schema: dict, max_tokens: int | None = None
	) -> ModelReply:
		"""A reply that conforms to a JSON schema, if the server supports schemas. Raises ModelError."""
		form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
		if not self.refused_schemas:
			try:
				return await self.complete(messages, [], ignore_text, max_tokens, {"response_format": form})
			except ModelError as error:
				if error.status not in SCHEMA_REFUSALS:
					raise
				self.refused_schemas.append(str(error))
		return await self.complete(messages, [], ignore_text, max_tokens)

	def worst_case(
		self, messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)
	) -> WorstCase:
		"""The most that this call can cost and use."""
		tokens = estimate_max_tokens(messages, tools, counted)
		prices = self.prices.max_prices(tokens) if self.prices else (None, None)
		return WorstCase(self.model, tokens, self.fixed.get("max_tokens") or self.answer_tokens, *prices)

	def room(self, tools: list[Tool]) -> Room:
		"""The room in the context window, counted by LiteLLM's tokenizer for the model."""
		count = partial(count_text, count_tokens, self.fixed["model"])
		return Room(self.window, TokenCounter(count, tools, Room(self.window).allowed))

	def usage_of(self, usage: Any) -> Usage:
		"""Tokens and cost of a call; without usage, or without a price, the cost is unknown."""
		cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
		counts = (*(getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")), cached)
		if not (counts[0] or counts[1]):
			# LiteLLM reports zeros if the provider reported nothing.
			return Usage(cost=None)
		sent, received, cached = (min(max(0, count or 0), MAX_REPORTED_TOKENS) for count in counts)
		cost = self.prices.cost(sent, received, cached) if self.prices else None
		return Usage(sent, received, cached, cost=cost)


def count_tokens(model: str, text: str) -> int:
	return load().token_counter(model=model, text=text)


async def fetch(kwargs: dict, answer: AnswerBuilder, call_path: CallPath) -> None:
	"""Make one call by the first available route. Raises ValueError if the provider allows only the direct
	path and there is none.
	"""
	if call_path is not CallPath.WRAPPED:
		from huf.ai.providers.learned_calls import find_learned
		from huf.ai.providers.learning_process import learn_apart

		learned = find_learned(kwargs) or await learn_apart(kwargs)
		if learned and (body := learned.write_body(kwargs)) is not None:
			answer.begin()
			return await learned.complete(body, kwargs, answer, partial(load_path, kwargs))
		found = await learn_direct_path(kwargs)
		if not isinstance(found, str):
			path, template = found
			answer.begin()
			return await path.complete(template, kwargs, answer)
		if call_path is CallPath.DIRECT:
			raise ValueError(f"Connection is Direct, but this model cannot be called that way. {found}")
	if headers := trace_headers():
		kwargs = {**kwargs, "extra_headers": headers}
	await run_on_model_loop(call_litellm(kwargs, answer))


async def load_path(kwargs: dict):
	"""LiteLLM's translation for a call. Imported in a thread, so that other tasks of the event loop can go
	on.
	"""
	from huf.ai.providers.direct_path import DirectPath

	return DirectPath(await asyncio.to_thread(load), kwargs["model"], kwargs.get("api_base"))


async def call_litellm(kwargs: dict, answer: AnswerBuilder) -> None:
	acompletion = load().acompletion
	answer.begin()
	response = await acompletion(**kwargs)
	if kwargs.get("stream"):
		await answer.read_stream(response)
	else:
		answer.read_response(response)


async def learn_direct_path(kwargs: dict):
	"""The direct path for a call, or the reason why it has none. Stores what is learned of the call."""
	from huf.ai.providers import direct_path_check, learned_calls

	found = await check_directly(kwargs)
	if not isinstance(found, direct_path_check.FailedCheck):
		await learned_calls.learn(kwargs, partial(direct_path_check.learn_call, found, kwargs))
	return found


async def check_directly(kwargs: dict):
	"""See `direct_path_check`, which imports HTTP clients that only a call needs."""
	from huf.ai.providers import direct_path_check

	if found := direct_path_check.results.get(direct_path_check.make_cache_key(kwargs)):
		return found
	found = await run_on_model_loop(direct_path_check.find_direct_path(load(), kwargs))
	# Freeze the half million objects of the import: scanning them would pause all threads for a quarter of a
	# second.
	gc.freeze()
	return found
