"""Answers of endpoints that other front ends define: plain JSON bodies, and errors that say what to do."""

import json

from werkzeug.wrappers import Response

from huf.ai.core.errors import UsageError


class BadRequest(Exception):
	"""The body is not what the endpoint takes; says what it should be."""


def as_json(body: dict, status: int = 200) -> Response:
	return Response(
		json.dumps(body, ensure_ascii=False, default=str), status=status, mimetype="application/json"
	)


def as_error(status: int, code: str, error: str, suggestion: str) -> Response:
	return as_json({"error": error, "code": code, "suggestion": suggestion}, status)


def refuse(error: Exception) -> Response:
	"""The answer to a request that was not begun."""
	if isinstance(error, BadRequest):
		return as_error(400, "BAD_REQUEST", str(error), "Send a JSON body as the endpoint describes it.")
	if isinstance(error, UsageError):
		return as_error(409, "CANNOT_RUN", str(error), "Nothing was begun; change that and send it again.")
	return as_error(403, "NOT_PERMITTED", str(error), "Sign in as somebody who may, or ask a Huf Manager.")


def read_text(value, name: str, required: bool = True) -> str:
	if value is None and not required:
		return ""
	if not isinstance(value, str):
		raise BadRequest(f"{name} is missing, or no text.")
	if required and not value.strip():
		raise BadRequest(f"{name} is empty.")
	return value


def read_flag(value, name: str) -> bool:
	"""true or false; a form sends them as words."""
	if isinstance(value, str):
		value = {"true": True, "1": True, "false": False, "0": False, "": False}.get(value.lower(), value)
	if value is None or isinstance(value, bool | int):
		return bool(value)
	raise BadRequest(f"{name} is neither true nor false.")


def read_texts(value, name: str) -> tuple[str, ...]:
	if value is None:
		return ()
	if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
		raise BadRequest(f"{name} is no list of texts.")
	return tuple(value)
