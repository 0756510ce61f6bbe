"""HTTP requests of model calls, on connection pools, one per event loop. Independent of providers and frappe.

The only retry: if the server has closed a pooled connection, the request is sent once more on a new one.
"""

import asyncio
import atexit
import contextvars
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp

from huf.ai.core.event_loops import on_loop_close
from huf.ai.core.telemetry import trace_headers
from huf.ai.providers.failures import AnswerTooLarge

MAX_BODY_BYTES = 16_000_000
MAX_STREAM_BYTES = 64_000_000
"""For streamed bodies, in which each token has an envelope of a few hundred bytes."""
MAX_LINE_BYTES = 8_000_000
MAX_ERROR_BYTES = 100_000
KEEPALIVE_S = 30
"""How long an idle connection stays open."""
JSON_STYLES: tuple[Callable[[Any], str], ...] = (
	partial(json.dumps, ensure_ascii=False, separators=(",", ":"), allow_nan=False),
	json.dumps,
)
"""How a provider's client may serialize a body; the check finds out which style LiteLLM uses."""

_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, aiohttp.ClientSession]] = (
	WeakKeyDictionary()
)


class RefusedRequest(Exception):
	"""A response with an error status, or a redirection, which is not followed."""

	def __init__(self, status: int, message: str, headers: dict[str, str]):
		super().__init__(message)
		self.status, self.message, self.headers = status, message, headers


@dataclass(frozen=True)
class RequestTemplate:
	"""What all requests to a model share: URL, headers, body serialization.

	`keys`: the position of each key of the body. `style`: index into JSON_STYLES. `placeholder` stands for
	the API key in the URL and the headers.
	"""

	url: str
	headers: tuple[tuple[str, str], ...]
	keys: dict[str, int]
	style: int
	placeholder: str

	def fill_key(self, key: str) -> tuple[str, dict[str, str]]:
		"""(URL, headers) with the API key filled in."""
		return self.url.replace(self.placeholder, key), {
			name: value.replace(self.placeholder, key) for name, value in self.headers
		}

	def serialize(self, body: dict) -> bytes:
		last = len(self.keys)
		ordered = {name: body[name] for name in sorted(body, key=lambda name: self.keys.get(name, last))}
		return JSON_STYLES[self.style](ordered).encode()


@dataclass
class ConnectionUse:
	"""Records whether a request reused a pooled connection."""

	is_reused: bool = False


async def note_reuse(session: aiohttp.ClientSession, context: SimpleNamespace, params: Any) -> None:
	context.trace_request_ctx.is_reused = True


TRACE = aiohttp.TraceConfig()
"""Shared by all sessions: it has 16 lists, and under load one for each session would leave megabytes to the
garbage collector.
"""
TRACE.on_connection_reuseconn.append(note_reuse)


@asynccontextmanager
async def post_request(
	url: str, headers: dict[str, str], body: bytes, kwargs: dict, verify: Any
) -> AsyncIterator[aiohttp.StreamReader]:
	"""POST a model call and yield the response body. Raises RefusedRequest, and whatever `post` raises."""
	async with post(url, headers | trace_headers(), body, kwargs["timeout"], verify) as response:
		if response.status >= 300:
			message = await read_error(response.content)
			raise RefusedRequest(response.status, message, dict(response.headers))
		yield response.content


@asynccontextmanager
async def post(
	url: str, headers: dict[str, str], body: bytes, timeout_s: float, verify: Any
) -> AsyncIterator[aiohttp.ClientResponse]:
	"""Send a request; entering the context yields the response with status and headers. Raises what aiohttp
	raises.

	Args:
		timeout_s: seconds without a byte, on connecting or reading, before the request fails
		verify: how to verify the server's certificate, as aiohttp takes it for `ssl`
	"""
	request: dict[str, Any] = {
		"data": body,
		"headers": headers,
		"timeout": aiohttp.ClientTimeout(total=None, sock_connect=timeout_s, sock_read=timeout_s),
		"ssl": verify,
		"proxy": find_proxy(url),
		"allow_redirects": False,
	}
	if response := await post_on_kept_connection(url, request):
		async with response:
			yield response
		return
	async with (
		make_session() as fresh,
		fresh.post(url, **request, trace_request_ctx=ConnectionUse()) as response,
	):
		yield response


async def post_on_kept_connection(url: str, request: dict[str, Any]) -> aiohttp.ClientResponse | None:
	"""The response; None if a pooled connection broke before its first byte.

	llama.cpp's server closes the connection after each stream without announcing it, so the next request may
	be sent on a connection that is about to close.
	"""
	use = ConnectionUse()
	try:
		return await get_session().post(url, **request, trace_request_ctx=use)
	except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
		if not use.is_reused:
			raise
		return None


def get_session() -> aiohttp.ClientSession:
	"""The session of the running event loop. A forked process does not reuse its parent's."""
	loop = asyncio.get_running_loop()
	pid, session = _sessions.get(loop, (0, None))
	if session is None or pid != os.getpid() or session.closed:
		# No limit: admission limits concurrent runs, and waiting for a free connection would count as a
		# time-out.
		session = make_session()
		_sessions[loop] = (os.getpid(), session)
		on_loop_close(close_session)
	return session


class DetachedConnector(aiohttp.TCPConnector):
	"""Opens and keeps connections outside the context of the run that asks for one.

	asyncio holds the context in which a connection was opened or a timer was started. A run's context holds
	its request, documents and database object, which would stay in memory long after the run.
	"""

	async def _create_connection(self, *args: Any) -> Any:
		opening = super()._create_connection(*args)
		return await contextvars.Context().run(asyncio.ensure_future, opening)

	def _release(self, *args: Any, **options: Any) -> None:
		contextvars.Context().run(super()._release, *args, **options)


async def close_session() -> None:
	_pid, session = _sessions.pop(asyncio.get_running_loop())
	await session.close()


def make_session() -> aiohttp.ClientSession:
	return aiohttp.ClientSession(
		connector=DetachedConnector(limit=0, keepalive_timeout=KEEPALIVE_S),
		skip_auto_headers=("User-Agent",),
		cookie_jar=aiohttp.DummyCookieJar(),
		trace_configs=[TRACE],
	)


@atexit.register
def close_sessions() -> None:
	for loop, (pid, session) in list(_sessions.items()):
		if pid != os.getpid() or loop.is_closed():
			continue
		if loop.is_running():
			asyncio.run_coroutine_threadsafe(session.close(), loop).result(1)
		else:
			loop.run_until_complete(session.close())


@lru_cache(maxsize=256)
def find_proxy(url: str) -> str | None:
	"""The proxy configured in the environment for a URL. Cached: a look-up costs a twentieth of a step."""
	parts = urlsplit(url)
	return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


async def read_body(content: aiohttp.StreamReader) -> bytes:
	"""The whole body. Raises AnswerTooLarge."""
	pieces, size = [], 0
	async for piece in content.iter_any():
		size += len(piece)
		if size > MAX_BODY_BYTES:
			raise AnswerTooLarge(MAX_BODY_BYTES, "bytes")
		pieces.append(piece)
	return b"".join(pieces)


async def read_error(content: aiohttp.StreamReader) -> str:
	"""The beginning of an error's body."""
	pieces, size = [], 0
	async for piece in content.iter_any():
		pieces.append(piece)
		size += len(piece)
		if size >= MAX_ERROR_BYTES:
			break
	return b"".join(pieces)[:MAX_ERROR_BYTES].decode("utf-8", "replace")


async def read_lines(content: aiohttp.StreamReader) -> AsyncIterator[str]:
	"""Yield the non-empty lines of a body as they arrive. Raises AnswerTooLarge."""
	rest, size = b"", 0
	async for piece in content.iter_any():
		size += len(piece)
		*whole, rest = (rest + piece).split(b"\n")
		if size > MAX_STREAM_BYTES:
			raise AnswerTooLarge(MAX_STREAM_BYTES, "bytes")
		if len(rest) > MAX_LINE_BYTES:
			raise AnswerTooLarge(MAX_LINE_BYTES, "bytes in one line")
		for line in whole:
			if line and line != b"\r":
				yield line.decode("utf-8", "replace")
	if rest:
		yield rest.decode("utf-8", "replace")
