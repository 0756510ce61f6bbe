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

from huf.ai.providers.answers import Answer
from huf.ai.providers.translation import FORMS, Envelope, Translation
from huf.ai.providers.wire_samples import ANTHROPIC, MESSAGES, OPENAI, TOOLS

MARK = "huf-is-only-looking"
CANDIDATES = {
	**dict.fromkeys(("openai", "lm_studio", "perplexity", "cerebras", "deepinfra"), ("sdk", OPENAI)),
	**dict.fromkeys(
		("openrouter", "mistral", "groq", "deepseek", "xai", "together_ai", "hosted_vllm"), ("http", OPENAI)
	),
	"anthropic": ("http", ANTHROPIC),
}
"""Providers whose requests LiteLLM sends by a client it is given, and the form of their answers."""
DROPPED = ("host", "content-length", "connection", "accept-encoding", "x-stainless-")
"""Headers that belong to one request or one client."""
TIMEOUT_S = 60
"""Seconds. It takes some hundredths, but the first one of a process on a busy machine imports most of LiteLLM."""

Found = tuple[Translation, Envelope]
known: dict[tuple, Found | str] = {}
looking: dict[tuple, asyncio.Task] = {}


async def find_translation(litellm, kwargs: dict) -> Found | str:
	"""How to ask the model of a LiteLLM call directly, or why it cannot be. Looked for once for each model, and kept."""
	key = key_of(kwargs)
	if key not in known:
		# A forked process has what its parent knew, but nobody there goes on looking.
		mine = (os.getpid(), key)
		looking[mine] = looking.get(mine) or asyncio.ensure_future(look(litellm, kwargs))
		known[key] = await asyncio.shield(looking[mine])
		looking.pop(mine, None)
	return known[key]


def key_of(kwargs: dict) -> tuple:
	"""Calls that are alike in this are made in the same way."""
	return kwargs["model"], kwargs.get("api_base"), bool(kwargs.get("stream")), frozenset(kwargs)


async def look(litellm, kwargs: dict) -> Found | str:
	try:
		return await asyncio.wait_for(check(litellm, kwargs), TIMEOUT_S)
	except Exception as error:  # the boundary around the check: what cannot be found out is not relied on
		return f"{type(error).__name__}: {error}"


async def check(litellm, kwargs: dict) -> Found | str:
	translation = Translation(litellm, kwargs["model"], kwargs.get("api_base"))
	client, samples = CANDIDATES.get(translation.provider, (None, None))
	if client is None:
		return f"LiteLLM's provider {translation.provider} is always asked by its own call."
	listed = litellm.model_cost.get(kwargs["model"]) or litellm.model_cost.get(translation.model) or {}
	if listed.get("mode") == "responses":
		return "LiteLLM asks this model over another interface."
	stream = bool(kwargs.get("stream"))
	wishes = {"max_tokens": 50} | kwargs
	wishes |= {"messages": MESSAGES, "tools": TOOLS, "api_key": MARK, "timeout": TIMEOUT_S}
	envelope = None
	for with_calls in (False, True):
		sample = samples[stream](with_calls)
		asked, theirs = await ask_nowhere(translation, client, copy(wishes), sample)
		found = envelope_of(asked, translation.request(copy(wishes)))
		if found is None or envelope not in (None, found):
			return "The request is not what LiteLLM sends."
		envelope, ours = found, Answer(ignore)
		if stream:
			await ours.take(translation.chunks(as_lines(sample)))
		else:
			ours.take_whole(translation.whole(wishes, {}, json.dumps(sample).encode()))
		if said(ours) != said(theirs) or not ours.text or bool(ours.calls) != with_calls:
			return "The answer is not what LiteLLM reads in it."
	return translation, envelope


async def ask_nowhere(
	translation: Translation, client: str, kwargs: dict, sample: Any
) -> tuple[httpx.Request, Answer]:
	"""What LiteLLM sends, and what it makes of an answer."""
	litellm, asked, answer = translation.litellm, [], Answer(ignore)

	def receive(request: httpx.Request) -> httpx.Response:
		asked.append(request)
		if isinstance(sample, dict):
			return httpx.Response(200, json=sample)
		body = "\n\n".join(sample) if "" not in sample else "\n".join(sample)
		return httpx.Response(
			200, headers={"Content-Type": "text/event-stream"}, content=f"{body}\n\n".encode()
		)

	async with httpx.AsyncClient(transport=httpx.MockTransport(receive)) as http:
		response = await litellm.acompletion(**kwargs, client=make_client(translation, client, http))
		if kwargs.get("stream"):
			await answer.take(response)
		else:
			answer.take_whole(response)
	(request,) = asked
	return request, answer


def make_client(translation: Translation, client: str, http: httpx.AsyncClient) -> Any:
	litellm = translation.litellm
	if client == "sdk":
		base = litellm.get_llm_provider(
			model=f"{translation.provider}/{translation.model}", api_base=translation.base
		)[3]
		base = base or litellm.OpenAIGPTConfig.get_api_base(translation.base)
		return litellm.openai.AsyncOpenAI(api_key=MARK, base_url=base, http_client=http)
	made = litellm.llms.custom_httpx.http_handler.AsyncHTTPHandler()
	made.client = http
	return made


def envelope_of(asked: httpx.Request, body: dict) -> Envelope | None:
	"""What `asked` has in common with every request; None where our body is not the one it has."""
	sent = asked.content
	keys = {name: place for place, name in enumerate(json.loads(sent))}
	headers = tuple(
		(name, value) for name, value in asked.headers.items() if not name.lower().startswith(DROPPED)
	)
	made = (Envelope(str(asked.url), headers, keys, form, MARK) for form in range(len(FORMS)))
	return next((envelope for envelope in made if envelope.write(body) == sent), None)


def said(answer: Answer) -> tuple:
	usage = answer.usage
	cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None) or 0
	return (
		*(answer.text, answer.calls, answer.finish_reason),
		*(usage.prompt_tokens, usage.completion_tokens, cached),
	)


def copy(kwargs: dict) -> dict:
	return json.loads(json.dumps(kwargs))


async def as_lines(sample: list[str]) -> AsyncIterator[str]:
	for line in sample:
		if line:
			yield line


def ignore(text: str) -> None:
	"""Nobody reads what is only a sample."""
