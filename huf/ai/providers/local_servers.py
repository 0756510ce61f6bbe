"""Finds model servers on this machine: Ollama and LM Studio, only at their default addresses."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from urllib.error import URLError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

TIMEOUT_S = 1.0
"""A server on the same machine answers faster than this."""
SERVER_TIMEOUT_S = 5.0
MAX_MODELS = 500
MAX_ANSWER_BYTES = 1_000_000
EMBEDDING_NAME_PARTS = ("embed", "bge-", "minilm")
"""Parts of the names of embedding models, which cannot chat."""


@dataclass(frozen=True)
class LocalServer:
	"""`base` becomes the address of an AI Provider; `path` lists the models, `read` extracts their names."""

	provider: str
	base: str
	path: str
	read: Callable[[dict], list[str]]


def known_servers() -> list[LocalServer]:
	ollama = read_ollama_address()
	return [
		LocalServer("Ollama", ollama, "/api/tags", lambda body: [each["name"] for each in body["models"]]),
		LocalServer(
			"LM Studio", "http://127.0.0.1:1234/v1", "/models", lambda body: [e["id"] for e in body["data"]]
		),
	]


def read_ollama_address() -> str:
	"""The address in Ollama's variable OLLAMA_HOST, or its default port on this machine."""
	host = os.environ.get("OLLAMA_HOST", "").strip().rstrip("/").removeprefix("http://")
	if host.startswith("https://"):
		return host
	name, _, port = host.partition(":")
	return f"http://{'127.0.0.1' if name in ('', '0.0.0.0', 'localhost') else name}:{port or 11434}"  # noqa: S104 (an address to compare)


def find_local_servers() -> list[dict]:
	"""The servers that answer: [{provider, api_base, models}]."""
	found = ((server, fetch_models(server)) for server in known_servers())
	return [
		{"provider": server.provider, "api_base": server.base, "models": models}
		for server, models in found
		if models is not None
	]


def fetch_server_models(base: str, key: str = "") -> list[str]:
	"""The chat models of an OpenAI-compatible server at an address; [] if it does not answer."""
	if not re.match(r"https?://[^/\s]+", base):
		return []
	headers = {"Authorization": f"Bearer {key}"} if key else {}
	request = Request(f"{base.rstrip('/')}/models", headers=headers)  # noqa: S310 -- the scheme was just checked
	try:
		with build_opener(NoRedirects()).open(request, timeout=SERVER_TIMEOUT_S) as answer:
			names = [str(each["id"]) for each in json.loads(answer.read(MAX_ANSWER_BYTES))["data"]]
	except (URLError, OSError, ValueError, KeyError, TypeError, HTTPException):
		return []
	return [name for name in names if not any(part in name.lower() for part in EMBEDDING_NAME_PARTS)][
		:MAX_MODELS
	]


class NoRedirects(HTTPRedirectHandler):
	"""The key goes to the server that was named only."""

	def redirect_request(self, *args, **kwargs):
		return None


def fetch_models(server: LocalServer) -> list[str] | None:
	"""Names of the server's chat models; None if it does not answer."""
	try:
		# A proxy from the environment must not be used for this machine itself.
		with build_opener(ProxyHandler({})).open(server.base + server.path, timeout=TIMEOUT_S) as answer:
			names = server.read(json.loads(answer.read(MAX_ANSWER_BYTES)))
	except (URLError, OSError, ValueError, KeyError, TypeError):
		return None
	return [name for name in names if not any(part in name.lower() for part in EMBEDDING_NAME_PARTS)]
