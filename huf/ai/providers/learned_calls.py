"""Model calls that run without importing LiteLLM, stored per site.

`import litellm` and the check of the direct path cost two seconds and 200 MB per process. A call in OpenAI's
format is therefore checked once per site, model and options, by `direct_path_check.py` in a child process
(`learning_process.py`), and what was learned is stored for all processes. Errors and responses of unusual
form still go through LiteLLM.
"""

import json
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import frappe

from huf.ai.providers import openai_format
from huf.ai.providers.answers import AnswerBuilder
from huf.ai.providers.direct_path import DirectPath
from huf.ai.providers.failures import AnswerTooLarge
from huf.ai.providers.http_connections import RequestTemplate, post_request, read_body, read_lines

FREE_ARGUMENTS = {"messages", "tools", "api_key", "timeout", "max_tokens", "response_format"}
"""Arguments of a LiteLLM call whose values affect only their own fields of the request."""
LIBRARIES = ("litellm", "openai", "httpx", "certifi")
VARIABLES = ("LITELLM", "OPENAI", "LM_STUDIO", "CEREBRAS", "SSL_")
"""Prefixes of environment variables that LiteLLM may read for calls in OpenAI's format."""
OTHER_VARIABLES = {"LITELLM_LOCAL_MODEL_COST_MAP"}
"""Set by Huf when it loads LiteLLM; it concerns prices only."""
CALLS_FILE = ("private", "huf-model-calls.json")
"""In the site's folder. Contains no API keys."""
MAX_CALLS, MAX_STAMPS = 1000, 4
SOURCES = (
	"answers",
	"direct_path",
	"direct_path_check",
	"direct_path_samples",
	"http_connections",
	"learned_calls",
	"openai_format",
)
"""Modules of this package that determine requests and how responses are read. A change invalidates the store.
"""
FindPath = Callable[[], Awaitable[DirectPath]]


@dataclass(frozen=True)
class LearnedCall:
	"""A call in OpenAI's format: what requests with the same options share.

	`token_field`: under which name max_tokens is sent, "" if it is not. `ciphers`: for HTTPS.
	"""

	template: RequestTemplate
	model: str
	options: dict[str, Any]
	token_field: str
	ciphers: str

	@classmethod
	def of(cls, stored: dict) -> "LearnedCall":
		template = {**stored["template"], "headers": tuple(map(tuple, stored["template"]["headers"]))}
		return cls(**{**stored, "template": RequestTemplate(**template)})

	def write_body(self, kwargs: dict) -> bytes | None:
		"""The request body; None if the messages or tools need LiteLLM's translation."""
		tools = kwargs.get("tools")
		try:
			messages = openai_format.write_messages(kwargs["messages"])
			if messages is None or not openai_format.has_usual_tools(tools or []):
				return None
		except openai_format.WRONG_SHAPE:
			return None
		body = {"model": self.model, "messages": messages, **self.options}
		if tools:
			body["tools"] = tools
		if self.token_field:
			body[self.token_field] = kwargs["max_tokens"]
		if "response_format" in kwargs:
			body["response_format"] = kwargs["response_format"]
		return self.template.serialize(body)

	async def complete(self, body: bytes, kwargs: dict, answer: AnswerBuilder, find_path: FindPath) -> None:
		"""Like `DirectPath.complete`. `find_path` loads LiteLLM if it turns out to be needed."""
		try:
			await self.send(body, kwargs, answer, find_path)
		except AnswerTooLarge:
			raise
		except Exception as error:  # re-raised as LiteLLM's, as in `DirectPath.complete`
			raise (await find_path()).translate_error(error, kwargs) from None

	async def send(self, body: bytes, kwargs: dict, answer: AnswerBuilder, find_path: FindPath) -> None:
		url, headers = self.template.fill_key(kwargs["api_key"])
		verify = make_tls(self.ciphers) if url.startswith("https:") else True
		async with post_request(url, headers, body, kwargs, verify) as content:
			if kwargs.get("stream"):
				await answer.read_stream(parse_stream(read_lines(content), find_path))
				return
			whole = await read_body(content)
			response = openai_format.read_response(whole)
			answer.read_response(response or (await find_path()).parse_response(kwargs, {}, whole))


async def parse_stream(lines: AsyncIterator[str], find_path: FindPath) -> AsyncIterator[Any]:
	"""The chunks of a stream. From the first chunk of unusual form on, LiteLLM's translation reads it."""
	async for line in lines:
		chunk = openai_format.read_chunk(line)
		if chunk is None:
			path = await find_path()
			async for each in path.parse_stream(prepend(line, lines)):
				yield each
			return
		yield chunk


async def prepend(line: str, lines: AsyncIterator[str]) -> AsyncIterator[str]:
	yield line
	async for each in lines:
		yield each


@lru_cache(maxsize=4)
def make_tls(ciphers: str) -> ssl.SSLContext:
	"""TLS settings like LiteLLM's, of whose environment variables only SSL_CERT_FILE is supported."""
	import certifi

	own = os.environ.get("SSL_CERT_FILE")
	context = ssl.create_default_context(cafile=own if own and os.path.exists(own) else certifi.where())
	context.minimum_version = ssl.TLSVersion.TLSv1_2
	context.set_ciphers(ciphers)
	return context


def make_key(kwargs: dict) -> str:
	"""A cache key: calls with equal keys differ only in FREE_ARGUMENTS."""
	fixed = {name: value for name, value in kwargs.items() if name not in FREE_ARGUMENTS}
	shape = kwargs.get("response_format", {}).get("type")
	text = json.dumps([fixed, "max_tokens" in kwargs, shape], sort_keys=True)
	return sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=1)
def make_stamp() -> str:
	"""A version stamp: changes whenever LiteLLM or Huf might send or read a call differently."""
	own = [Path(__file__).with_name(f"{name}.py").read_bytes() for name in SOURCES]
	variables = sorted(
		(name, value)
		for name, value in os.environ.items()
		if name.startswith(VARIABLES) and not name.endswith(("KEY", "TOKEN")) and name not in OTHER_VARIABLES
	)
	versions = [version(name) for name in LIBRARIES]
	return sha256(repr((versions, variables, own)).encode()).hexdigest()


class CallStore:
	"""Learned calls by `make_key`, in a file that all processes of a site share. None means: needs
	LiteLLM.

	The file has the calls of the latest MAX_STAMPS version stamps: {stamp: {key: call}}. Processes with other
	environment variables do not drop each other's.
	"""

	def __init__(self, path: str):
		self.path = Path(path)
		self.calls: dict[str, LearnedCall | None] = {}
		self.others: dict[str, dict] = {}
		self.read_at = 0

	def find(self, key: str) -> LearnedCall | None:
		"""The call in the form that needs no LiteLLM; None if it needs LiteLLM or has not been checked."""
		return self.calls[key] if key in self else None

	def __contains__(self, key: str) -> bool:
		if key not in self.calls:
			self.refresh()
		return key in self.calls

	@property
	def needs_litellm(self) -> bool:
		"""Whether the site has calls that need LiteLLM."""
		self.refresh()
		return None in self.calls.values()

	def refresh(self) -> None:
		try:
			changed_at = self.path.stat().st_mtime_ns
			if changed_at == self.read_at:
				return
			stored = json.loads(self.path.read_bytes())
			calls = stored.pop(make_stamp(), {}).items()
			new = {key: call for key, call in calls if key not in self.calls}
			self.calls |= {key: None if call is None else LearnedCall.of(call) for key, call in new.items()}
			self.others, self.read_at = stored, changed_at
		except (OSError, ValueError, KeyError, TypeError, AttributeError):
			# An unreadable store is learned again.
			return

	def add(self, key: str, call: LearnedCall | None) -> None:
		"""Store a result. Concurrent additions by other processes may be lost; those calls are learned
		again.
		"""
		self.refresh()
		self.calls[key] = call
		newest = [*self.calls.items()][-MAX_CALLS:]
		others = [*self.others.items()][1 - MAX_STAMPS :]
		draft = self.path.with_suffix(f".{uuid4().hex}")
		try:
			stored = {**dict(others), make_stamp(): dict(newest)}
			draft.write_text(json.dumps(stored, default=vars), encoding="utf-8")
			self.read_at = draft.stat().st_mtime_ns
			draft.replace(self.path)
		except OSError:
			# If the folder is not writable, each process learns on its own.
			draft.unlink(missing_ok=True)


open_store = lru_cache(maxsize=64)(CallStore)


def open_site_store() -> CallStore:
	return open_store(frappe.get_site_path(*CALLS_FILE))


def find_learned(kwargs: dict) -> LearnedCall | None:
	"""Like `CallStore.find`, for the arguments of a LiteLLM call."""
	return open_site_store().find(make_key(kwargs))


async def learn(kwargs: dict, check: Callable[[], Awaitable[LearnedCall | None]]) -> None:
	"""Store the result of `check` for a call that the site has not stored."""
	store, key = open_site_store(), make_key(kwargs)
	if key not in store.calls:
		store.add(key, await check())
