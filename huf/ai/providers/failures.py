"""Converts exceptions of providers' clients to ModelErrors, which advise the operator and contain no API
key.
"""

import re
import socket
from collections.abc import Iterator

from frappe import _

from huf.ai.core.errors import ModelError, add_details
from huf.ai.core.secret_text import HIDDEN, mask_secrets
from huf.ai.core.stored_text import clip
from huf.ai.core.types import Usage

MAX_MESSAGE_CHARS = 300
RETRIED_STATUS = {408, 409, 429, 500, 502, 503, 504, 529}
OVERLOADED_STATUS = {503, 529}
CONNECTION_ERRORS = {"APIConnectionError", "Timeout", "TransportError", "ClientError", "TimeoutError"}
CONNECT_ERRORS = {
	"ClientConnectorError",
	"ConnectError",
	"ConnectTimeout",
	"ConnectionTimeoutError",
	"ConnectionRefusedError",
}
"""Those of aiohttp, httpx and sockets before the request is sent."""
MOVED = "The address of the provider leads to another one. Correct the Address of {provider}."
ADVICE = {
	**dict.fromkeys((301, 302, 303, 307, 308), MOVED),
	400: "The provider did not accept the request. Check the agent's settings and tools.",
	401: "The provider refused the API key. Check the API Key of {provider}.",
	402: "The account with the provider has too little credit. Check your plan with the provider.",
	403: "The provider refused the API key. Check the API Key of {provider}.",
	404: (
		"The provider does not know this model. Check the name of the model and, for a server of your own, "
		"the Address of {provider}: most end in /v1."
	),
	408: "The model sent nothing for too long. Try again, or raise Model Timeout in Huf Settings.",
	422: "The provider did not accept the request. Check the agent's settings and tools.",
	429: "The provider's rate limit or quota is used up. Wait, or check your plan with the provider.",
}
TOO_LONG = (
	"The conversation is too long for this model. Start a new one, or choose a model with a larger window."
)
UNREACHABLE = "The provider could not be reached. Check the Address of {provider}, and the network."
REFUSED = (
	"Nothing listens at the address of the provider. Start its server, or correct the Address of {provider}."
)
UNKNOWN_HOST = (
	"The host name in the address of the provider is unknown. Correct the Address of {provider}, or check "
	"the network."
)
BROKEN_OFF = "The connection broke off in the middle of the answer. Try again."
FAULT = "The provider failed. Try again later."
UNREADABLE = ("Invalid response object", "Error parsing chunk")
"""Parts of the errors that LiteLLM calls a failed connection, although an answer came."""
CLIENT_DETAILS = re.compile(r"\[Errno -?\d+\] | ssl:(?:<[^>]*>|\w+)(?= \[)")
"""What clients add for programmers to the reason of a failed connection."""


class AnswerTooLarge(Exception):
	"""A response exceeds a limit. The call is not retried."""

	def __init__(self, limit: int, unit: str):
		super().__init__(f"The answer is larger than {limit:,} {unit}.")


def model_error(
	error: Exception,
	provider: str,
	model: str,
	secret: str | None,
	has_begun: bool = False,
	is_partly_displayed: bool = False,
	is_check: bool = False,
) -> ModelError:
	"""The ModelError for an exception of a provider's client.

	`has_begun`: part of the answer has come. `is_partly_displayed`: a reader has seen part of it, so the call
	must not be retried. `is_check`: the reader is on the page of models.
	"""
	status = 408 if "Timeout" in type(error).__name__ else getattr(error, "status_code", None)
	reason = read_reason(error, secret)
	is_retryable = not is_partly_displayed and (status in RETRIED_STATUS or is_connection_error(error))
	place = provider if is_check else _("{0} under Models").format(provider)
	message = add_details(f"{provider} / {model}: {advise(error, status, place)}", reason)
	is_free = could_not_connect(error) or (is_refused_request(status) and not has_begun)
	return ModelError(
		message,
		provider=provider,
		status=status,
		retryable=is_retryable,
		usage=Usage() if is_free else None,
		retry_after=read_retry_after(error),
		is_too_long=is_too_long(error),
	)


def could_not_connect(error: Exception) -> bool:
	"""Whether there was no connection, so that the request was not sent."""
	return any(is_one_of(cause, CONNECT_ERRORS) for cause in list_causes(error))


def is_refused_request(status: int | None) -> bool:
	"""Whether the provider has refused the request and does not charge for it. After other server errors the
	usage is unknown.
	"""
	return status in OVERLOADED_STATUS or (status is not None and 400 <= status < 500 and status != 408)


def is_too_long(error: Exception) -> bool:
	return type(error).__name__ == "ContextWindowExceededError"


def read_retry_after(error: Exception) -> float:
	"""The seconds in an error's header Retry-After; 0 if it has none, or a date."""
	headers = dict(getattr(error, "litellm_response_headers", None) or {})
	given = next((value for name, value in headers.items() if name.lower() == "retry-after"), 0)
	try:
		return max(0.0, float(given))
	except ValueError:
		return 0.0


def invalid_answer_error(
	message: str, provider: str, model: str, retryable: bool, usage: Usage
) -> ModelError:
	"""The ModelError for an unusable answer; `usage` is what the provider reported."""
	return ModelError(
		f"{provider} / {model}: {_(message)}", provider=provider, retryable=retryable, usage=usage
	)


def advise(error: Exception, status: int | None, place: str) -> str:
	"""What happened and what the operator can do about it; `place`: where the provider is set up."""
	if is_too_long(error):
		return _(TOO_LONG)
	was_answered = any(each in str(error) for each in UNREADABLE)
	if is_connection_error(error) and status in (None, 500) and not was_answered:
		return _(describe_connection_error(error)).format(provider=place)
	return _(ADVICE.get(status or 0, FAULT)).format(provider=place)


def describe_connection_error(error: Exception) -> str:
	causes = list(list_causes(error))
	if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
		return REFUSED
	if any(isinstance(cause, socket.gaierror) for cause in causes):
		return UNKNOWN_HOST
	if any(is_one_of(cause, {"ClientPayloadError", "RemoteProtocolError"}) for cause in causes):
		return BROKEN_OFF
	return UNREACHABLE


def list_causes(error: BaseException | None) -> Iterator[BaseException]:
	"""An error and what caused it, outermost first."""
	while error is not None:
		yield error
		error = error.__cause__ or error.__context__


def is_connection_error(error: Exception) -> bool:
	return is_one_of(error, CONNECTION_ERRORS)


def is_one_of(error: BaseException, names: set[str]) -> bool:
	return bool(names & {cls.__name__ for cls in type(error).__mro__})


def read_reason(error: Exception, secret: str | None) -> str:
	"""The first line of an error's message, without API keys."""
	line = CLIENT_DETAILS.sub("", str(error).strip().split("\n", 1)[0])
	# Keys are hidden first: a key that the cut splits would no longer be recognized.
	return clip(mask_secrets(line.replace(secret, HIDDEN) if secret else line), MAX_MESSAGE_CHARS)


def known_errors() -> tuple[type[Exception], ...]:
	"""The exceptions that a failing provider or connection raises through LiteLLM."""
	import aiohttp
	import httpx
	import openai

	return (openai.APIError, httpx.HTTPError, aiohttp.ClientError, TimeoutError, ConnectionError, ValueError)
