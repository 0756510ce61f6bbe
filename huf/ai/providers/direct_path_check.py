"""Finds out, at a model's first use in a process, whether it can be asked without LiteLLM's call around it.

LiteLLM is made to ask and to be answered, over a wire that leads nowhere and with a key that is none. What it sends must be
what our way sends, byte for byte; what it reads in the answers must be what our way reads. Nothing here opens a connection.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx

from huf.ai.providers.answers import AnswerBuilder
from huf.ai.providers.direct_path import JSON_STYLES, DirectPath, RequestTemplate
from huf.ai.providers.direct_path_samples import ANTHROPIC, MESSAGES, OPENAI, TOOLS

KEY_PLACEHOLDER = "huf-is-only-looking"
CANDIDATES = {
	**dict.fromkeys(("openai", "lm_studio", "perplexity", "cerebras", "deepinfra"), ("sdk", OPENAI)),
	**dict.fromkeys(
		("openrouter", "mistral", "groq", "deepseek", "xai", "together_ai", "hosted_vllm"), ("http", OPENAI)
	),
	"anthropic": ("http", ANTHROPIC),
}
"""Providers whose requests LiteLLM sends by a client it is given, and the form of their answers."""
PER_REQUEST_HEADERS = ("host", "content-length", "connection", "accept-encoding", "x-stainless-")
"""Headers that belong to one request or one client."""
TIMEOUT_S = 60
"""Seconds. It takes some hundredths, but the first one of a process on a busy machine imports most of LiteLLM."""

VerifiedPath = tuple[DirectPath, RequestTemplate]
results: dict[tuple, VerifiedPath | str] = {}
running_checks: dict[tuple, asyncio.Task] = {}


async def find_direct_path(litellm, kwargs: dict) -> VerifiedPath | str:
	"""How to ask the model of a LiteLLM call directly, or why it cannot be. Looked for once for each model, and kept."""
	key = make_cache_key(kwargs)
	if key not in results:
		# A forked process has what its parent knew, but nobody there goes on looking.
		mine = (os.getpid(), key)
		running_checks[mine] = running_checks.get(mine) or asyncio.ensure_future(
			check_safely(litellm, kwargs)
		)
		results[key] = await asyncio.shield(running_checks[mine])
		running_checks.pop(mine, None)
	return results[key]


def make_cache_key(kwargs: dict) -> tuple:
	"""Calls that are alike in this are made in the same way."""
	return kwargs["model"], kwargs.get("api_base"), bool(kwargs.get("stream")), frozenset(kwargs)


async def check_safely(litellm, kwargs: dict) -> VerifiedPath | str:
	try:
		return await asyncio.wait_for(check_direct_path(litellm, kwargs), TIMEOUT_S)
	except Exception as error:  # the boundary around the check: what cannot be found out is not relied on
		return f"{type(error).__name__}: {error}"


async def check_direct_path(litellm, kwargs: dict) -> VerifiedPath | str:
	path = DirectPath(litellm, kwargs["model"], kwargs.get("api_base"))
	client, samples = CANDIDATES.get(path.provider, (None, None))
	if client is None:
		return f"LiteLLM's provider {path.provider} is always asked by its own call."
	listed = litellm.model_cost.get(kwargs["model"]) or litellm.model_cost.get(path.model) or {}
	if listed.get("mode") == "responses":
		return "LiteLLM asks this model over another interface."
	stream = bool(kwargs.get("stream"))
	wishes = {"max_tokens": 50} | kwargs
	wishes |= {"messages": MESSAGES, "tools": TOOLS, "api_key": KEY_PLACEHOLDER, "timeout": TIMEOUT_S}
	template = None
	for with_calls in (False, True):
		sample = samples[stream](with_calls)
		asked, theirs = await call_litellm_offline(path, client, deep_copy(wishes), sample)
		found = learn_template(asked, path.build_body(deep_copy(wishes)))
		if found is None or template not in (None, found):
			return "The request is not what LiteLLM sends."
		template, ours = found, AnswerBuilder(ignore)
		if stream:
			await ours.read_stream(path.parse_stream(stream_lines(sample)))
		else:
			ours.read_response(path.parse_response(wishes, {}, json.dumps(sample).encode()))
		if (
			summarize_answer(ours) != summarize_answer(theirs)
			or not ours.text
			or bool(ours.calls) != with_calls
		):
			return "The answer is not what LiteLLM reads in it."
	return path, template


async def call_litellm_offline(
	path: DirectPath, client: str, kwargs: dict, sample: Any
) -> tuple[httpx.Request, AnswerBuilder]:
	"""What LiteLLM sends, and what it makes of an answer."""
	litellm, asked, answer = path.litellm, [], AnswerBuilder(ignore)

	def receive(request: httpx.Request) -> httpx.Response:
		asked.append(request)
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
	(request,) = asked
	return request, answer


def make_client(path: DirectPath, client: str, http: httpx.AsyncClient) -> Any:
	litellm = path.litellm
	if client == "sdk":
		base = litellm.get_llm_provider(model=f"{path.provider}/{path.model}", api_base=path.base)[3]
		base = base or litellm.OpenAIGPTConfig.get_api_base(path.base)
		return litellm.openai.AsyncOpenAI(api_key=KEY_PLACEHOLDER, base_url=base, http_client=http)
	made = litellm.llms.custom_httpx.http_handler.AsyncHTTPHandler()
	made.client = http
	return made


def learn_template(asked: httpx.Request, body: dict) -> RequestTemplate | None:
	"""What `asked` has in common with every request; None where our body is not the one it has."""
	sent = asked.content
	keys = {name: place for place, name in enumerate(json.loads(sent))}
	headers = tuple(
		(name, value)
		for name, value in asked.headers.items()
		if not name.lower().startswith(PER_REQUEST_HEADERS)
	)
	made = (
		RequestTemplate(str(asked.url), headers, keys, form, KEY_PLACEHOLDER)
		for form in range(len(JSON_STYLES))
	)
	return next((template for template in made if template.serialize(body) == sent), None)


def summarize_answer(answer: AnswerBuilder) -> tuple:
	usage = answer.usage
	cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None) or 0
	return (
		*(answer.text, answer.calls, answer.finish_reason),
		*(usage.prompt_tokens, usage.completion_tokens, cached),
	)


def deep_copy(kwargs: dict) -> dict:
	return json.loads(json.dumps(kwargs))


async def stream_lines(sample: list[str]) -> AsyncIterator[str]:
	for line in sample:
		if line:
			yield line


def ignore(text: str) -> None:
	"""Nobody reads what is only a sample."""
