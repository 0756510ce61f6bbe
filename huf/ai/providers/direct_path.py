"""The direct path to a model: requests and responses translated by LiteLLM, sent over our own connections.

Translation takes a tenth of the time of a LiteLLM call. `direct_path_check.py` learns the URL and headers of
a request from LiteLLM, and verifies that both paths send and read the same.
"""

import json
import pickle
from collections.abc import AsyncIterator, Callable
from functools import cached_property, lru_cache
from typing import Any

import aiohttp

from huf.ai.providers.answers import AnswerBuilder
from huf.ai.providers.failures import AnswerTooLarge
from huf.ai.providers.http_connections import (
	RefusedRequest,
	RequestTemplate,
	post_request,
	read_body,
	read_lines,
)

CALL_ONLY_ARGUMENTS = {"model", "messages", "api_key", "api_base", "timeout", "num_retries"}
"""Arguments of a LiteLLM call that are not options of the model."""
TRANSLATION = (
	"transform_request",
	"_transform_messages",
	"transform_response",
	"get_model_response_iterator",
)


class NullLogging:
	"""A null object for LiteLLM's call log."""

	def __init__(self):
		self.model_call_details: dict = {}
		self.optional_params: dict = {}

	def __getattr__(self, name: str) -> Callable[..., None]:
		return lambda *args, **kwargs: None


class DirectPath:
	"""Calls one model of one provider through LiteLLM's translation.

	Raises what LiteLLM raises, or AnswerTooLarge.
	"""

	def __init__(self, litellm, name: str, base: str | None):
		self.litellm, self.base = litellm, base
		self.model, self.provider, _, _ = litellm.get_llm_provider(model=name, api_base=base)
		self.config = litellm.utils.ProviderConfigManager.get_provider_chat_config(
			model=self.model, provider=litellm.LlmProviders(self.provider)
		)
		self.options = lru_cache(maxsize=64)(self.make_options)

	@property
	def has_openai_format(self) -> bool:
		"""Whether LiteLLM translates messages and responses of this provider as it does for OpenAI's."""
		own, common = type(self.config), self.litellm.OpenAIGPTConfig
		return all(getattr(own, name) is getattr(common, name) for name in TRANSLATION)

	@cached_property
	def verify(self) -> Any:
		"""LiteLLM's certificate settings."""
		return self.litellm.llms.custom_httpx.http_handler.get_ssl_configuration()

	def make_options(self, wanted_json: str) -> bytes:
		"""The call's model options under the provider's names. Pickled, because LiteLLM may mutate its
		arguments.
		"""
		wanted = {"stream": None, "drop_params": True, **json.loads(wanted_json)}
		options = self.litellm.utils.get_optional_params(
			model=self.model, custom_llm_provider=self.provider, **wanted
		)
		# LiteLLM adds options it does not know to the body unchanged.
		return pickle.dumps(options | options.pop("extra_body", {}))

	def build_body(self, kwargs: dict) -> dict:
		"""The request body for the arguments of a LiteLLM call."""
		wanted = {key: value for key, value in kwargs.items() if key not in CALL_ONLY_ARGUMENTS}
		messages = [dict(message) for message in kwargs["messages"]]
		body = self.config.transform_request(
			model=self.model,
			messages=self.litellm.utils.validate_and_fix_openai_messages(messages),
			optional_params=pickle.loads(self.options(json.dumps(wanted))),  # noqa: S301 (made above, never stored)
			litellm_params={"custom_llm_provider": self.provider, "api_base": self.base},
			headers={},
		)
		if kwargs.get("stream") and self.config.supports_stream_param_in_request_body:
			body["stream"] = True
		return body

	def parse_response(self, kwargs: dict, body: dict, content: bytes) -> Any:
		"""A whole response as LiteLLM's ModelResponse. Raises ValueError if it is not a JSON object."""
		import httpx

		response = httpx.Response(200, content=content)
		if not isinstance(response.json(), dict):
			raise ValueError("The response is not a JSON object.")
		return self.config.transform_response(
			model=self.model,
			raw_response=response,
			model_response=self.litellm.ModelResponse(),
			logging_obj=NullLogging(),
			request_data=body,
			messages=kwargs["messages"],
			optional_params={},
			litellm_params={},
			encoding=None,
		)

	async def parse_stream(self, lines: AsyncIterator[str]) -> AsyncIterator[Any]:
		"""The chunks of a streamed response as LiteLLM's objects, without those that have no content."""
		# LiteLLM keeps the stream reader for Anthropic outside its configuration.
		read = self.config.get_model_response_iterator
		if self.provider == "anthropic":
			read = self.litellm.llms.anthropic.chat.handler.ModelResponseIterator
		async for piece in read(streaming_response=lines, sync_stream=False):
			if not isinstance(piece, dict):
				yield piece

	async def complete(self, template: RequestTemplate, kwargs: dict, answer: AnswerBuilder) -> None:
		"""Make one call and read the response into `answer`.

		Raises what `litellm.acompletion` would raise.
		"""
		try:
			await self.send(template, kwargs, answer)
		except AnswerTooLarge:
			raise
		except Exception as error:  # re-raised as LiteLLM's: its parser may raise anything
			raise self.translate_error(error, kwargs) from None

	async def send(self, template: RequestTemplate, kwargs: dict, answer: AnswerBuilder) -> None:
		body = self.build_body(kwargs)
		url, headers = template.fill_key(kwargs["api_key"])
		verify = self.verify if url.startswith("https:") else True
		async with post_request(url, headers, template.serialize(body), kwargs, verify) as content:
			if kwargs.get("stream"):
				await answer.read_stream(self.parse_stream(read_lines(content)))
			else:
				answer.read_response(self.parse_response(kwargs, body, await read_body(content)))

	def translate_error(self, error: Exception, kwargs: dict) -> Exception:
		"""The exception that `litellm.acompletion` raises for an error of `send`."""
		if isinstance(error, TimeoutError | aiohttp.ServerTimeoutError):
			message = f"Nothing came for {kwargs['timeout']} seconds. {error}"
			return self.litellm.Timeout(message, self.model, self.provider)
		if isinstance(error, ValueError):
			message = f"The answer cannot be read. {error}"
			return self.litellm.InternalServerError(message, self.provider, self.model)
		if isinstance(error, aiohttp.ClientError | OSError):
			return self.litellm.APIConnectionError(str(error), self.provider, self.model)
		if isinstance(error, RefusedRequest):
			error = self.config.get_error_class(error.message, error.status, error.headers)
		try:
			return self.litellm.exception_type(
				model=self.model, original_exception=error, custom_llm_provider=self.provider
			)
		except self.litellm.openai.APIError as mapped:
			return mapped
