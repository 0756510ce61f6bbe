"""What endpoints of OpenAI's protocols share: refusals, requests to agents, and recognizing repeated ones."""

from typing import Any

import frappe
from werkzeug.wrappers import Response

from huf.ai.chat.external import build_external_request, find_repeated_run, store_image
from huf.ai.chat.run_states import may_read_run
from huf.ai.core.errors import TooManyRuns, UsageError
from huf.ai.core.refusals import read_refusal
from huf.ai.core.stored_text import digest
from huf.ai.core.types import AgentRequest
from huf.ai.runs import admission
from huf.api.wire.json_body import BadRequest, refusing_with
from huf.api.wire.openai import ONLY_TEXT_AND_IMAGES, read_image_urls, read_message_text
from huf.api.wire.openai_errors import openai_error
from huf.api.wire.responses import RESPONSE

CHANNEL = "openai"
CONVERSATION = "conv_"
MAX_METADATA = 16
OWN_TOOLS = "An agent uses its own tools. Leave tools and functions out."
ONLY_TEXT = "An agent answers with text. Leave response formats out."


class ModelNotFound(BadRequest):
	"""The user has no agent of that name."""


class NotFound(Exception):
	"""The user has no such response or conversation."""


def describe_refusal(error: Exception) -> Response:
	if isinstance(error, ModelNotFound):
		return openai_error(404, str(error), "model_not_found")
	if isinstance(error, (NotFound, frappe.DoesNotExistError)):
		return openai_error(404, str(error), "not_found")
	if isinstance(error, BadRequest):
		return openai_error(400, str(error), "invalid_value")
	if isinstance(error, frappe.PermissionError):
		return openai_error(403, read_refusal(error) or "You may not do this.", "permission_denied")
	return openai_error(429 if isinstance(error, TooManyRuns) else 400, str(error))


refusing_as_openai = refusing_with(
	describe_refusal, BadRequest, NotFound, frappe.DoesNotExistError, frappe.PermissionError, UsageError
)


def admit_as_model(model) -> None:
	"""Raises ModelNotFound."""
	if admission.find_admission_error(str(model), frappe.session.user, chat=True) is not None:
		raise ModelNotFound(describe_missing(model))


def describe_missing(name: Any) -> str:
	if not name or not isinstance(name, str):
		return "model must be the name of an agent. GET /v1/models lists those that you may use."
	return f"There is no agent {name!r} that you may use as a model. GET /v1/models lists them."


def build_openai_request(model, message: dict, **options) -> AgentRequest:
	"""A request with a message in OpenAI's chat format, whose images are stored. Raises BadRequest."""
	files = tuple(map(keep_image, read_image_urls(message)))
	prompt = read_message_text(message, image_text="")
	return build_external_request(CHANNEL, model, prompt, attachments=files, **options)


def keep_image(url) -> str:
	"""Store a data URL as a File of the caller; returns the File's name. Raises BadRequest."""
	try:
		return store_image(url)
	except ValueError:
		raise BadRequest(ONLY_TEXT_AND_IMAGES) from None


def check_format(given: Any) -> None:
	"""Raises BadRequest for a response format other than text."""
	if given is not None and not (isinstance(given, dict) and given.get("type") == "text"):
		raise BadRequest(ONLY_TEXT)


def read_metadata(metadata: Any) -> dict[str, str]:
	"""Metadata as strings, truncated to OpenAI's limits. Raises BadRequest."""
	if metadata is None:
		return {}
	if not isinstance(metadata, dict) or len(metadata) > MAX_METADATA:
		raise BadRequest(f"metadata must be an object of at most {MAX_METADATA} texts.")
	return {str(key)[:64]: str(value)[:512] for key, value in metadata.items()}


def read_response_run(response: str) -> Any:
	"""The Agent Run of a response, if the user may read it. Raises NotFound."""
	name = response.removeprefix(RESPONSE)
	if not response.startswith(RESPONSE) or not may_read_run(name):
		raise NotFound(f"There is no response {response!r}.")
	return frappe.get_doc("Agent Run", name)


def find_begun_run():
	"""The run, {name, agent}, of a request that its client sends again because it has lost the connection."""
	request = frappe.local.request
	is_repeated = request.headers.get("X-Stainless-Retry-Count", "0") != "0"
	return find_repeated_run(digest_request()) if is_repeated else None


def digest_request() -> str:
	request, user = frappe.local.request, frappe.session.user
	conversation = request.headers.get("X-Conversation-Id")
	return digest(user, request.path, conversation, request.get_data(as_text=True))
