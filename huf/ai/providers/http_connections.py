"""Pools HTTP connections per event loop for calls to models. Knows no provider and no frappe, and never
retries.
"""

import asyncio
import atexit
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp

KEEPALIVE_S = 30
"""How long an idle connection stays open."""

_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, aiohttp.ClientSession]] = (
	WeakKeyDictionary()
)


def post(
	url: str, headers: dict[str, str], body: bytes, timeout_s: float, verify: Any
) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
	"""Send a request; status and headers are available once the context is entered. Raises what aiohttp
	raises.

	Args:
		timeout_s: seconds without a byte, on connecting or reading, before the request is given up
		verify: how to verify the server's certificate, as aiohttp takes it for `ssl`
	"""
	timeout = aiohttp.ClientTimeout(total=None, sock_connect=timeout_s, sock_read=timeout_s)
	return get_session().post(
		url,
		data=body,
		headers=headers,
		timeout=timeout,
		ssl=verify,
		proxy=find_proxy(url),
		allow_redirects=False,
	)


def get_session() -> aiohttp.ClientSession:
	"""The session of the running event loop. A forked process does not reuse its parent's."""
	loop = asyncio.get_running_loop()
	pid, session = _sessions.get(loop, (0, None))
	if session is None or pid != os.getpid() or session.closed:
		# No limit: admission limits concurrent runs, and a request that waits for a connection would time out
		# here.
		session = aiohttp.ClientSession(
			connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S),
			skip_auto_headers=("User-Agent",),
			cookie_jar=aiohttp.DummyCookieJar(),
		)
		_sessions[loop] = (os.getpid(), session)
	return session


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
	"""The proxy that the environment configures for a URL, read once per URL."""
	parts = urlsplit(url)
	return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


async def read_lines(content: aiohttp.StreamReader) -> AsyncIterator[str]:
	"""The non-empty lines of a body, as they arrive."""
	rest = b""
	async for piece in content.iter_any():
		*whole, rest = (rest + piece).split(b"\n")
		for line in whole:
			if line and line != b"\r":
				yield line.decode("utf-8", "replace")
	if rest:
		yield rest.decode("utf-8", "replace")
