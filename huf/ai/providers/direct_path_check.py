"""Verifies, at a model's first use in a process, that the direct path does what LiteLLM's own call does.

LiteLLM makes a call with sample messages and a placeholder key over a mock transport. The direct path must
send the same bytes and read the same answer. Nothing here opens a connection.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx

from huf.ai.loop.model import ignore_text
from huf.ai.providers.answers import AnswerBuilder
from huf.ai.providers.direct_path import JSON_STYLES, DirectPath, RequestTemplate
from huf.ai.providers.direct_path_samples import ANTHROPIC, MESSAGES, OPENAI, TOOLS, ResponseSamples

KEY_PLACEHOLDER = "huf-is-only-looking"
CANDIDATES: dict[str, tuple[str, ResponseSamples]] = {
	**dict.fromkeys(("openai", "lm_studio", "perplexity", "cerebras", "deepinfra"), ("sdk", OPENAI)),
	**dict.fromkeys(
		("openrouter", "mistral", "groq", "deepseek", "xai", "together_ai", "hosted_vllm"), ("http", OPENAI)
	),
	"anthropic": ("http", ANTHROPIC),
}
"""Providers for which LiteLLM accepts a client, the kind of client, and samples of their responses."""
PER_REQUEST_HEADERS = ("host", "content-length", "connection", "accept-encoding", "x-stainless-")
"""Headers that differ by request or by client, so no template has them."""
TIMEOUT_S = 60
"""A check takes hundredths of a second, but the first one of a process imports most of LiteLLM."""

VerifiedPath = tuple[DirectPath, RequestTemplate]
results: dict[tuple, VerifiedPath | str] = {}
running_checks: dict[tuple, asyncio.Task] = {}


async def find_direct_path(litellm, kwargs: dict) -> VerifiedPath | str:
	"""The direct path for a LiteLLM call's arguments, or the reason why there is none. Checked once per
	model.
	"""
	key = make_cache_key(kwargs)
	if key not in results:
		# A forked process inherits its parent's results, but not its running checks.
		check = (os.getpid(), key)
		running_checks[check] = running_checks.get(check) or asyncio.ensure_future(
			check_safely(litellm, kwargs)
		)
		results[key] = await asyncio.shield(running_checks[check])
		running_checks.pop(check, None)
	return results[key]


def make_cache_key(kwargs: dict) -> tuple:
	"""Calls with the same key have the same URL, headers and body layout."""
	return kwargs["model"], kwargs.get("api_base"), bool(kwargs.get("stream")), frozenset(kwargs)


async def check_safely(litellm, kwargs: dict) -> VerifiedPath | str:
	try:
		return await asyncio.wait_for(check_direct_path(litellm, kwargs), TIMEOUT_S)
	except (
		Exception
	) as error:  # the boundary around the check: without a verified path, LiteLLM's call is used
		return f"{type(error).__name__}: {error}"


async def check_direct_path(litellm, kwargs: dict) -> VerifiedPath | str:
	path = DirectPath(litellm, kwargs["model"], kwargs.get("api_base"))
	if path.provider not in CANDIDATES:
		return f"LiteLLM's provider {path.provider} is always called through LiteLLM."
	listed = litellm.model_cost.get(kwargs["model"]) or litellm.model_cost.get(path.model) or {}
	if listed.get("mode") == "responses":
		return "LiteLLM calls this model through its Responses API."
	client, samples = CANDIDATES[path.provider]
	stream = bool(kwargs.get("stream"))
	arguments = {"max_tokens": 50} | kwargs
	arguments |= {"messages": MESSAGES, "tools": TOOLS, "api_key": KEY_PLACEHOLDER, "timeout": TIMEOUT_S}
	template = None
	for with_calls in (False, True):
		sample: Any = samples[stream](with_calls)
		request, theirs = await call_litellm_offline(path, client, deep_copy(arguments), sample)
		found = learn_template(request, path.build_body(deep_copy(arguments)))
		if found is None or template not in (None, found):
			return "The request differs from what LiteLLM sends."
		template, ours = found, AnswerBuilder(ignore_text)
		if stream:
			await ours.read_stream(path.parse_stream(stream_lines(sample)))
		else:
			ours.read_response(path.parse_response(arguments, {}, json.dumps(sample).encode()))
		is_complete = bool(ours.text) and bool(ours.calls) == with_calls
		if not is_complete or summarize_answer(ours) != summarize_answer(theirs):
			return "The answer differs from what LiteLLM reads."
	assert template is not None
	return path, template


async def call_litellm_offline(
	path: DirectPath, client: str, kwargs: dict, sample: Any
) -> tuple[httpx.Request, AnswerBuilder]:
	"""Have LiteLLM make a call over a mock transport: (the request it sends, the answer it reads in
	`sample`).
	"""
	litellm, requests, answer = path.litellm, [], AnswerBuilder(ignore_text)

	def receive(request: httpx.Request) -> httpx.Response:
		requests.append(request)
		if isinstance(sample, dict):
			return httpx.Response(200, json=sample)
		body = "\n\n".join(sample) if "" not in sample else "\n".join(sample)
		return httpx.Response(
			200, headers={"Content-Type": "text/event-stream"}, content=f"{body}\n\n".encode()
		)

	async with httpx.AsyncClient(transport=httpx.MockTransport(receive)) as http:
		response = await litellm.acompletion(**kwargs, client=make_client(path, client, http))
		if kwargs.get("stream"):
			await answer.read_stream(response)
		else:
			answer.read_response(response)
	(request,) = requests
	return request, answer


def make_client(path: DirectPath, client: str, http: httpx.AsyncClient) -> Any:
	litellm = path.litellm
	if client == "sdk":
		base = litellm.get_llm_provider(model=f"{path.provider}/{path.model}", api_base=path.base)[3]
		base = base or litellm.OpenAIGPTConfig.get_api_base(path.base)
		return litellm.openai.AsyncOpenAI(api_key=KEY_PLACEHOLDER, base_url=base, http_client=http)
	handler = litellm.llms.custom_httpx.http_handler.AsyncHTTPHandler()
	handler.client = http
	return handler


def learn_template(request: httpx.Request, body: dict) -> RequestTemplate | None:
	"""The template of a request that LiteLLM sent; None if no style serializes our body to the same bytes."""
	sent = request.content
	keys = {name: place for place, name in enumerate(json.loads(sent))}
	headers = tuple(
		(name, value)
		for name, value in request.headers.items()
		if not name.lower().startswith(PER_REQUEST_HEADERS)
	)
	templates = (
		RequestTemplate(str(request.url), headers, keys, style, KEY_PLACEHOLDER)
		for style in range(len(JSON_STYLES))
	)
	return next((template for template in templates if template.serialize(body) == sent), None)


def summarize_answer(answer: AnswerBuilder) -> tuple:
	usage = answer.usage
	cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None) or 0
	tokens = (usage.prompt_tokens, usage.completion_tokens, cached)
	return answer.text, answer.reasoning, answer.calls, answer.finish_reason, tokens


def deep_copy(kwargs: dict) -> dict:
	return json.loads(json.dumps(kwargs))


async def stream_lines(sample: list[str]) -> AsyncIterator[str]:
	for line in sample:
		if line:
			yield line
