"""Error bodies for OpenAI's clients.

Imported with every request of the site, so it imports little.
"""

import json

from werkzeug.wrappers import Response

TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
CODES = {401: "invalid_api_key", 403: "permission_denied", 404: "not_found", 429: "rate_limit_exceeded"}
STOPS = {"context_budget": (400, "context_length_exceeded"), "money_budget": (429, "insufficient_quota")}
"""Status and code of the error of a run without an answer, by its stop reason."""
FINAL = {"x-should-retry": "false"}
"""Header for errors after a run: OpenAI's clients repeat requests answered with 409 or 500, and would run the
agent again.
"""


def openai_error(status: int, message: str, code: str | None = None, is_final: bool = False) -> Response:
	body = json.dumps(error_body(status, message, code), ensure_ascii=False)
	return Response(body, status=status, headers=FINAL if is_final else None, mimetype="application/json")


def failure_status(stop_reason: str | None) -> tuple[int, str]:
	"""The status and code for a run that ended without an answer."""
	return STOPS.get(stop_reason or "", (500, "agent_error"))


def error_body(status: int, message: str, code: str | None = None) -> dict:
	"""An error as OpenAI's API sends it."""
	kind = TYPES.get(status) or ("invalid_request_error" if status < 500 else "server_error")
	return {"error": {"message": message, "type": kind, "param": None, "code": code or CODES.get(status)}}
