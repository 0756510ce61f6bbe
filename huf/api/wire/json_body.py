"""Plain JSON bodies for endpoints without Frappe's envelope: reading arguments, responses, errors."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

import frappe
from werkzeug.wrappers import Response

from huf.ai.chat.external import delete_refused_images
from huf.ai.core.errors import UsageError
from huf.ai.core.refusals import read_refusal

SIGN_IN = "Sign in: send an access token, or Authorization: Bearer <api key>:<api secret> of a Frappe user."
NOT_JSON = "Send JSON, with the header Content-Type: application/json."


class BadRequest(Exception):
	"""The body is not what the endpoint expects; the message says what is."""


def json_response(body: dict, status: int = 200) -> Response:
	text = json.dumps(body, ensure_ascii=False, default=str)
	return Response(text, status=status, mimetype="application/json")


def json_error(status: int, code: str, error: str, suggestion: str) -> Response:
	return json_response({"error": error, "code": code, "suggestion": suggestion}, status)


def refusal_response(error: Exception) -> Response:
	"""The response to a request that started nothing: 400 BadRequest, 409 UsageError, 403 anything else."""
	if isinstance(error, BadRequest):
		return json_error(400, "BAD_REQUEST", str(error), "Send a JSON body as the endpoint describes it.")
	if isinstance(error, UsageError):
		return json_error(
			409, "CANNOT_RUN", str(error), "Nothing was started. Correct this and send it again."
		)
	suggestion = "Sign in as a user who may do this, or ask a Huf Manager."
	return json_error(403, "NOT_PERMITTED", read_refusal(error), suggestion)


def refusing_with(respond: Callable[[Exception], Response], *errors: type[Exception]) -> Callable:
	"""A decorator for an endpoint that refuses a request by one of these errors, with its response.

	It rolls back first: Frappe commits the writes of a request that ends with a response. No image of the
	request stays.
	"""

	def decorate(function: Callable) -> Callable:
		@wraps(function)
		def answer(*args, **kwargs):
			try:
				check_content_type()
				return function(*args, **kwargs)
			except Exception as error:  # whatever the error, no image of the request stays
				frappe.db.rollback()
				delete_refused_images()
				if isinstance(error, errors):
					return respond(error)
				raise

		return answer

	return decorate


refusing = refusing_with(refusal_response, BadRequest, UsageError, frappe.PermissionError)


def check_content_type() -> None:
	"""Raises BadRequest for JSON sent as a form, as curl does by default: Frappe finds no field in
	it.
	"""
	request = frappe.local.request
	if not request.is_json and request.get_data().lstrip().startswith(b"{"):
		raise BadRequest(NOT_JSON)


def read_string(value: Any, name: str, required: bool = True) -> str:
	"""A string argument; "" for a missing optional one. Raises BadRequest, as the other readers do."""
	if value is None and not required:
		return ""
	if not isinstance(value, str):
		raise BadRequest(f"{name} is missing or not a string.")
	if required and not value.strip():
		raise BadRequest(f"{name} is empty.")
	return value


def read_flag(value: Any, name: str) -> bool:
	"""A boolean; forms send it as the words true, false, 1 or 0."""
	if isinstance(value, str):
		value = {"true": True, "1": True, "false": False, "0": False, "": False}.get(value.lower(), value)
	if value is None or isinstance(value, bool | int):
		return bool(value)
	raise BadRequest(f"{name} must be true or false.")


def read_strings(value: Any, name: str) -> tuple[str, ...]:
	"""A list of strings, empty for None. Raises BadRequest."""
	if value is None:
		return ()
	if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
		raise BadRequest(f"{name} must be a list of strings.")
	return tuple(value)
