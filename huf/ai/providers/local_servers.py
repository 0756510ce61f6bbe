"""Finds model servers on this machine at their default addresses, and reads models' properties from them."""

import ipaddress
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from huf.ai.providers.models import HTTP_ADDRESS

TIMEOUT_S = 1.0
"""For probing default addresses: a server on the same machine answers faster."""
SERVER_TIMEOUT_S = 5.0
"""For a configured server: one that is busy generating may take seconds to list its models."""
MAX_MODELS = 500
MAX_ANSWER_BYTES = 1_000_000
EMBEDDING_NAME_PARTS = ("embed", "bge-", "minilm")
"""Marks names of embedding models, which cannot chat."""
OLLAMA_WINDOW = 4096
"""Ollama's default num_ctx in tokens, which applies whatever context length the model supports."""
NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)
LOCAL_SUFFIXES = (".local", ".localhost", ".lan", ".internal", ".home.arpa")
READ_FAULTS = (
	OSError,
	HTTPException,
	ValueError,
	OverflowError,
	RecursionError,
	KeyError,
	TypeError,
	AttributeError,
	StopIteration,
)


@dataclass(frozen=True)
class LocalServer:
	"""`base` becomes the address of an AI Provider; `path` lists the models, `read` extracts their names."""

	provider: str
	base: str
	path: str
	read: Callable[[dict], list[str]]


def known_servers() -> list[LocalServer]:
	return [
		LocalServer("Ollama", read_ollama_address(), "/api/tags", partial(read_column, "models", "name")),
		LocalServer("LM Studio", "http://127.0.0.1:1234/v1", "/models", partial(read_column, "data", "id")),
		LocalServer("llama.cpp", "http://127.0.0.1:8080/v1", "/models", read_llama_cpp_names),
	]


def read_column(rows: str, column: str, body: dict) -> list[str]:
	return [row[column] for row in body[rows]]


def read_llama_cpp_names(body: dict) -> list[str]:
	"""Raises KeyError for other servers, many of which use the same port."""
	names = [row["id"] for row in body["data"] if row["owned_by"] == "llamacpp"]
	if not names:
		raise KeyError("owned_by")
	return names


def read_ollama_address() -> str:
	"""The address in Ollama's variable OLLAMA_HOST, or its default port on this machine."""
	host = os.environ.get("OLLAMA_HOST", "").strip().rstrip("/").removeprefix("http://")
	if host.startswith("https://"):
		return host
	name, _, port = host.partition(":")
	# Ollama may listen on all interfaces; this machine reaches it on loopback.
	if name in ("", "0.0.0.0", "localhost"):  # noqa: S104
		name = "127.0.0.1"
	return f"http://{name}:{port or 11434}"


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
	if not HTTP_ADDRESS.match(base):
		return []
	headers = {"Authorization": f"Bearer {key}"} if key else {}
	try:
		# The scheme was checked above.
		request = Request(f"{base.rstrip('/')}/models", headers=headers)  # noqa: S310
		with build_opener(NoRedirects()).open(request, timeout=SERVER_TIMEOUT_S) as answer:
			names = [str(each["id"]) for each in json.loads(answer.read(MAX_ANSWER_BYTES))["data"]]
	except READ_FAULTS:
		return []
	return keep_chat_models(names)[:MAX_MODELS]


class NoRedirects(HTTPRedirectHandler):
	"""Keeps the key from being sent to a server that a redirect names."""

	def redirect_request(self, *args, **kwargs):
		return None


def fetch_models(server: LocalServer) -> list[str] | None:
	"""Names of the server's chat models; None if it does not answer."""
	try:
		return keep_chat_models(server.read(fetch_json(server.base + server.path, timeout_s=TIMEOUT_S)))
	except READ_FAULTS:
		return None


def keep_chat_models(names: list[str]) -> list[str]:
	return [name for name in names if not any(part in name.lower() for part in EMBEDDING_NAME_PARTS)]


def is_local_address(url: str | None) -> bool:
	"""Whether a URL names this machine or a private network. Does not resolve host names."""
	try:
		host = (urlsplit(url or "").hostname or "").lower()
	except ValueError:  # such as http://[x
		return False
	try:
		return not ipaddress.ip_address(host).is_global
	except ValueError:
		return host == "localhost" or host.endswith(LOCAL_SUFFIXES)


def read_window(api_base: str, model: str) -> int:
	"""A model's context window in tokens, as a local server reports it; 0 if it does not.

	Reads /v1/models of llama.cpp and vLLM, llama.cpp's /props, LM Studio's list, and Ollama's show.
	"""
	if not HTTP_ADDRESS.match(api_base):
		return 0
	base = api_base.rstrip("/")
	root = base.removesuffix("/v1")
	readers: tuple[Callable[[], Any], ...] = (
		lambda: fetch_json(f"{root}/props")["default_generation_settings"]["n_ctx"],
		lambda: read_listed_window(find_row(fetch_json(f"{base}/models"), model)),
		lambda: find_row(fetch_json(f"{root}/api/v0/models"), model)["loaded_context_length"],
		lambda: fetch_ollama_window(root, model),
	)
	for read in readers:
		try:
			if window := int(read()):
				return window
		except READ_FAULTS:
			continue
	return 0


def find_row(body: dict, model: str) -> dict:
	return next(row for row in [*body["data"], {}] if row.get("id") in (model, None))


def read_listed_window(row: dict) -> int:
	meta = row.get("meta") or {}
	return row.get("max_model_len") or meta.get("n_ctx") or meta.get("n_ctx_train") or 0


def fetch_ollama_window(root: str, model: str) -> int:
	# Other servers may take any POST for a request to their model.
	fetch_json(f"{root}/api/tags")["models"]
	body = fetch_json(f"{root}/api/show", {"model": model})
	known = next(value for name, value in body["model_info"].items() if name.endswith(".context_length"))
	chosen = NUM_CTX.search(body.get("parameters") or "")
	return min(known, int(chosen[1]) if chosen else OLLAMA_WINDOW)


def fetch_json(url: str, body: dict | None = None, timeout_s: float = SERVER_TIMEOUT_S) -> Any:
	data = None if body is None else json.dumps(body).encode()
	# Callers pass http(s) URLs only.
	request = Request(url, data, {"Content-Type": "application/json"})  # noqa: S310
	# A proxy from the environment does not apply to this machine.
	with build_opener(ProxyHandler({}), NoRedirects()).open(request, timeout=timeout_s) as answer:
		return json.loads(answer.read(MAX_ANSWER_BYTES))
