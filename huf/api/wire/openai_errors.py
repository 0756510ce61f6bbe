"""Error bodies for OpenAI's clients.

Imported with every request of the site, so it imports little.
"""

import json

from werkzeug.wrappers import Response

TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
CODES = {401: "invalid_api_key", 403: "permission_denied", 404: "not_found", 429: "rate_limit_exceeded"}
STOPS = {"context_budget": (400, "context_length_exceeded"), "money_budget": (402, "insufficient_quota")}
"""Status and code of the error of a run without an answer, by its stop reason."""
AFTER_RUN = 400
"""Status of errors after a run has begun. Clients repeat a request answered with 409, 422, 429 or 5xx, and
would run the agent again.
"""


def openai_error(status: int, message: str, code: str | None = None) -> Response:
	body = json.dumps(error_body(status, message, code), ensure_ascii=False)
	return Response(body, status=status, mimetype="application/json")


def failure_status(stop_reason: str | None) -> tuple[int, str]:
	"""The status and code for a run that ended without an answer."""
	return STOPS.get(stop_reason or "", (AFTER_RUN, "agent_error"))


def error_body(status: int, message: str, code: str | None = None) -> dict:
	"""An error as OpenAI's API sends it."""
	kind = TYPES.get(status) or ("invalid_request_error" if status < 500 else "server_error")
	return {"error": {"message": message, "type": kind, "param": None, "code": code or CODES.get(status)}}
