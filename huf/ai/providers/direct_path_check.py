"""Verifies that the direct path sends and reads exactly what LiteLLM's own call does.

Runs at a model's first use in a process. LiteLLM makes a call with sample messages and a placeholder key over
a mock transport; the direct path must send the same bytes and read the same answer. No connection is opened.
"""

import asyncio
import json
import os
import ssl
from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any

import httpx

from huf.ai.loop.model import ignore_text
from huf.ai.providers.answers import AnswerBuilder
from huf.ai.providers.direct_path import DirectPath
from huf.ai.providers.direct_path_samples import ANTHROPIC, MESSAGES, OPENAI, TOOLS, ResponseSamples
from huf.ai.providers.http_connections import JSON_STYLES, RequestTemplate
from huf.ai.providers.learned_calls import FREE_ARGUMENTS, LearnedCall, make_tls, parse_stream
from huf.ai.providers.openai_format import read_response

KEY_PLACEHOLDER = "placeholder-key"
CANDIDATES: dict[str, tuple[str, ResponseSamples]] = {
	**dict.fromkeys(("openai", "lm_studio", "perplexity", "cerebras", "deepinfra"), ("sdk", OPENAI)),
	**dict.fromkeys(
		("openrouter", "mistral", "groq", "deepseek", "xai", "together_ai", "hosted_vllm"), ("http", OPENAI)
	),
	"anthropic": ("http", ANTHROPIC),
}
"""By provider: the HTTP client that LiteLLM accepts for it, and sample responses."""
PER_REQUEST_HEADERS = ("host", "content-length", "connection", "accept-encoding", "x-stainless-")
"""Headers that vary by request or client; not part of a template."""
PROBE = 1357
"""A value of max_tokens by which the field that carries it is recognised in the body."""
TIMEOUT_S = 60
"""A check takes tens of milliseconds, but the first one in a process imports most of LiteLLM."""

VerifiedPath = tuple[DirectPath, RequestTemplate]
results: dict[tuple, VerifiedPath | str] = {}
running_checks: dict[tuple, asyncio.Task] = {}


class FailedCheck(str):
	"""The reason why a check failed to run. Another process may succeed."""


def uses_openai_format(provider: str) -> bool:
	"""Whether calls to a LiteLLM provider are checked with samples in OpenAI's format."""
	return CANDIDATES.get(provider, ("", None))[1] is OPENAI


async def find_direct_path(litellm, kwargs: dict) -> VerifiedPath | str:
	"""The direct path for the arguments of a LiteLLM call, or the reason why it has none. Checked once per
	model.
	"""
	key = make_cache_key(kwargs)
	if key not in results:
		# A forked process inherits the results of its parent's checks, not the running ones.
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
	except Exception as error:  # the boundary around LiteLLM's internals: without a path, it makes the call
		return FailedCheck(f"{type(error).__name__}: {error}")


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
		request, theirs = await call_litellm_offline(path, client, deepcopy(arguments), sample)
		found = learn_template(request, path.build_body(deepcopy(arguments)))
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


async def learn_call(found: VerifiedPath | str, kwargs: dict) -> LearnedCall | None:
	"""The call in the form that needs no LiteLLM; None if that would not send and read the same."""
	if isinstance(found, str):
		return None
	try:
		return await learn_from_path(*found, kwargs)
	except Exception:  # noqa: BLE001 (the boundary around LiteLLM's internals, as in `check_safely`)
		return None


async def learn_from_path(path: DirectPath, template: RequestTemplate, kwargs: dict) -> LearnedCall | None:
	if not uses_openai_format(path.provider) or not path.has_openai_format:
		return None
	own = FREE_ARGUMENTS - {"response_format"}
	limit = {"max_tokens": PROBE} if "max_tokens" in kwargs else {}
	fixed = {name: value for name, value in kwargs.items() if name not in own} | limit
	options = path.build_body(deepcopy({**fixed, "messages": MESSAGES}))
	model = options.pop("model")
	options.pop("messages")
	options.pop("response_format", None)
	(token_field,) = [name for name, value in options.items() if value == PROBE] or [""]
	options.pop(token_field, None)
	ciphers = find_ciphers(path) if template.url.startswith("https:") else ""
	call = LearnedCall(template, model, options, token_field, ciphers)
	for tools in ({}, {"tools": TOOLS}):
		arguments = {**fixed, **tools, "messages": MESSAGES}
		if call.write_body(arguments) != template.serialize(path.build_body(deepcopy(arguments))):
			return None
		if not await reads_the_same(path, bool(kwargs.get("stream")), with_calls=bool(tools)):
			return None
	return call


async def reads_the_same(path: DirectPath, stream: bool, with_calls: bool) -> bool:
	sample: Any = OPENAI[stream](with_calls)
	ours, theirs = AnswerBuilder(ignore_text), AnswerBuilder(ignore_text)
	if stream:
		await ours.read_stream(parse_stream(stream_lines(sample), refuse_litellm))
		await theirs.read_stream(path.parse_stream(stream_lines(sample)))
	else:
		content = json.dumps(sample).encode()
		ours.read_response(read_response(content))
		theirs.read_response(path.parse_response({"messages": MESSAGES}, {}, content))
	return summarize_answer(ours) == summarize_answer(theirs)


async def refuse_litellm() -> DirectPath:
	raise ValueError("The sample needs LiteLLM's translation.")


def find_ciphers(path: DirectPath) -> str:
	"""The ciphers with which `make_tls` reproduces LiteLLM's TLS settings. Raises ValueError if it cannot."""
	theirs = path.verify
	if not isinstance(theirs, ssl.SSLContext):
		raise ValueError("LiteLLM's certificate settings are not the usual ones.")
	names = [each["name"] for each in theirs.get_ciphers() if each["protocol"] != "TLSv1.3"]
	if describe_tls(make_tls(":".join(names))) != describe_tls(theirs):
		raise ValueError("LiteLLM's certificate settings are not the usual ones.")
	return ":".join(names)


def describe_tls(context: ssl.SSLContext) -> tuple:
	versions = context.minimum_version, context.maximum_version
	checks = context.verify_mode, context.check_hostname, context.verify_flags, context.options
	return context.get_ciphers(), context.get_ca_certs(), versions, checks


async def call_litellm_offline(
	path: DirectPath, client: str, kwargs: dict, sample: Any
) -> tuple[httpx.Request, AnswerBuilder]:
	"""Let LiteLLM make a call over a mock transport. Returns (the request it sends, the answer it reads from
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
		response = await litellm.acompletion(**kwargs, client=make_mock_client(path, client, http))
		if kwargs.get("stream"):
			await answer.read_stream(response)
		else:
			answer.read_response(response)
	(request,) = requests
	return request, answer


def make_mock_client(path: DirectPath, client: str, http: httpx.AsyncClient) -> Any:
	"""The HTTP client that LiteLLM accepts for this provider, over the mock transport."""
	litellm = path.litellm
	if client == "sdk":
		base = litellm.get_llm_provider(model=f"{path.provider}/{path.model}", api_base=path.base)[3]
		base = base or litellm.OpenAIGPTConfig.get_api_base(path.base)
		return litellm.openai.AsyncOpenAI(api_key=KEY_PLACEHOLDER, base_url=base, http_client=http)
	handler = litellm.llms.custom_httpx.http_handler.AsyncHTTPHandler()
	handler.client = http
	return handler


def learn_template(request: httpx.Request, body: dict) -> RequestTemplate | None:
	"""The template of a request that LiteLLM sent; None if no JSON style reproduces its bytes."""
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


async def stream_lines(sample: list[str]) -> AsyncIterator[str]:
	for line in sample:
		if line:
			yield line
