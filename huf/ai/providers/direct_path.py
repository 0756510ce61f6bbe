"""A model asked without LiteLLM's call around it: LiteLLM's own translation of request and answer, over our connections.

Nine tenths of what a LiteLLM call costs is not the translation. Where each request goes, with which headers, is not known
here: `direct_path_check.py` learns it from LiteLLM itself, and finds out whether both ways do the same.
"""

import json
import pickle
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import aiohttp

from huf.ai.providers.answers import AnswerBuilder
from huf.ai.providers.http_connections import post, read_lines

CALL_ONLY_ARGUMENTS = {"model", "messages", "api_key", "api_base", "timeout", "num_retries"}
"""Arguments of a LiteLLM call that are no wishes to the model."""
JSON_STYLES: tuple[Callable[[Any], str], ...] = (
	partial(json.dumps, ensure_ascii=False, separators=(",", ":"), allow_nan=False),
	json.dumps,
)
"""In which way a body may be written; which one is learnt."""


class NullLogging:
	"""In the place of LiteLLM's log of a call: takes everything, keeps nothing."""

	def __init__(self):
		self.model_call_details: dict = {}
		self.optional_params: dict = {}

	def __getattr__(self, name: str) -> Callable[..., None]:
		return lambda *args, **kwargs: None


class RawResponse:
	"""An answer that came whole, as LiteLLM's translation looks at one. Raises ValueError for what is no JSON object."""

	status_code = 200

	def __init__(self, content: bytes):
		self.content, self.headers = content, {}
		self.parsed = json.loads(content)
		if not isinstance(self.parsed, dict):
			raise ValueError("The answer is no JSON object.")

	@property
	def text(self) -> str:
		return self.content.decode("utf-8", "replace")

	def json(self) -> dict:
		return self.parsed


@dataclass(frozen=True)
class RequestTemplate:
	"""What is the same for every request to a model: where it goes, its headers, and how its body is written.

	`keys`: the order of the body's keys. In the address and the headers, `mark` stands for the key.
	"""

	url: str
	headers: tuple[tuple[str, str], ...]
	keys: dict[str, int]
	form: int
	mark: str

	def fill_key(self, key: str) -> tuple[str, dict[str, str]]:
		return self.url.replace(self.mark, key), {
			name: value.replace(self.mark, key) for name, value in self.headers
		}

	def serialize(self, body: dict) -> bytes:
		last = len(self.keys)
		ordered = {name: body[name] for name in sorted(body, key=lambda name: self.keys.get(name, last))}
		return JSON_STYLES[self.form](ordered).encode()


class DirectPath:
	"""One model of one provider, in LiteLLM's words. Raises what LiteLLM raises."""

	def __init__(self, litellm, name: str, base: str | None):
		self.litellm, self.base = litellm, base
		self.model, self.provider, _, _ = litellm.get_llm_provider(model=name, api_base=base)
		self.config = litellm.utils.ProviderConfigManager.get_provider_chat_config(
			model=self.model, provider=litellm.LlmProviders(self.provider)
		)
		self.fix_messages = litellm.utils.validate_and_fix_openai_messages
		self.options = lru_cache(maxsize=64)(self.make_options)

	@cached_property
	def verify(self) -> Any:
		"""What LiteLLM was told of certificates."""
		return self.litellm.llms.custom_httpx.http_handler.get_ssl_configuration()

	def make_options(self, wishes: str) -> bytes:
		"""The wishes of a call in the provider's words, packed: what they are unpacked to may be changed."""
		wanted = {"stream": None, "drop_params": True, **json.loads(wishes)}
		options = self.litellm.utils.get_optional_params(
			model=self.model, custom_llm_provider=self.provider, **wanted
		)
		# What has no place in LiteLLM's table is added to the body as it is.
		return pickle.dumps(options | options.pop("extra_body", {}))

	def build_body(self, kwargs: dict) -> dict:
		"""The body of a request for a LiteLLM call's arguments."""
		wishes = {key: value for key, value in kwargs.items() if key not in CALL_ONLY_ARGUMENTS}
		body = self.config.transform_request(
			model=self.model,
			messages=self.fix_messages([dict(message) for message in kwargs["messages"]]),
			optional_params=pickle.loads(self.options(json.dumps(wishes))),
			litellm_params={"custom_llm_provider": self.provider, "api_base": self.base},
			headers={},
		)
		if kwargs.get("stream") and self.config.supports_stream_param_in_request_body:
			body["stream"] = True
		return body

	def parse_response(self, kwargs: dict, body: dict, said: bytes) -> Any:
		"""An answer that came in one piece, as LiteLLM gives it."""
		return self.config.transform_response(
			model=self.model,
			raw_response=RawResponse(said),
			model_response=self.litellm.ModelResponse(),
			logging_obj=NullLogging(),
			request_data=body,
			messages=kwargs["messages"],
			optional_params={},
			litellm_params={},
			encoding=None,
		)

	async def parse_stream(self, said: AsyncIterator[str]) -> AsyncIterator[Any]:
		"""The pieces of a streamed answer, as LiteLLM gives them; without those that say nothing."""
		# Of Anthropic's, LiteLLM keeps the reader elsewhere.
		read = self.config.get_model_response_iterator
		if self.provider == "anthropic":
			read = self.litellm.llms.anthropic.chat.handler.ModelResponseIterator
		async for piece in read(streaming_response=said, sync_stream=False):
			if not isinstance(piece, dict):
				yield piece

	async def complete(self, template: RequestTemplate, kwargs: dict, answer: AnswerBuilder) -> None:
		"""One call over the wire. Raises what `litellm.acompletion` raises for the same answer."""
		try:
			await self.send(template, kwargs, answer)
		except (TimeoutError, aiohttp.ServerTimeoutError) as error:
			raise self.litellm.Timeout(
				f"Nothing came for {kwargs['timeout']} seconds. {error}", self.model, self.provider
			) from None
		except ValueError as error:
			raise self.litellm.InternalServerError(
				f"The answer cannot be read. {error}", self.provider, self.model
			) from None
		except (aiohttp.ClientError, OSError) as error:
			raise self.litellm.APIConnectionError(str(error), self.provider, self.model) from None
		except (
			Exception
		) as error:  # the boundary around LiteLLM's translation: whatever it makes of a stranger's answer
			raise self.map_error(error) from None

	async def send(self, template: RequestTemplate, kwargs: dict, answer: AnswerBuilder) -> None:
		body = self.build_body(kwargs)
		url, headers = template.fill_key(kwargs["api_key"])
		verify = self.verify if url.startswith("https:") else True
		async with post(url, headers, template.serialize(body), kwargs["timeout"], verify) as response:
			if response.status >= 400:
				said = await response.text(errors="replace")
				raise self.config.get_error_class(said, response.status, dict(response.headers))
			if kwargs.get("stream"):
				await answer.read_stream(self.parse_stream(read_lines(response.content)))
			else:
				answer.read_response(self.parse_response(kwargs, body, await response.read()))

	def map_error(self, error: Exception) -> Exception:
		"""The exception that LiteLLM raises for it."""
		try:
			return self.litellm.exception_type(
				model=self.model, original_exception=error, custom_llm_provider=self.provider
			)
		except self.litellm.openai.APIError as mapped:
			return mapped
