"""The kept connections of each event loop: a request goes out, an answer comes back whole or line by line.

Knows no provider and no frappe, repeats nothing, and gives up on an answer that is silent for too long.
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
"""Seconds that a connection nobody uses stays open."""

_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, aiohttp.ClientSession]] = (
	WeakKeyDictionary()
)


def post(
	url: str, headers: dict[str, str], body: bytes, timeout_s: float, verify: Any
) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
	"""Send a request; the answer's head is there when the context is entered.

	`timeout_s`: seconds without a byte after which it is given up. `verify`: how the other side proves who it is, as
	aiohttp takes it for `ssl`. Raises what aiohttp raises.
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
	"""The running loop's own, for as long as the loop lasts; a forked process has no share in its parent's."""
	loop = asyncio.get_running_loop()
	pid, kept = _sessions.get(loop, (0, None))
	if kept is None or pid != os.getpid() or kept.closed:
		# No limit: how many runs there may be at once is decided elsewhere, and who waits here would seem to be silent.
		kept = aiohttp.ClientSession(
			connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S),
			skip_auto_headers=("User-Agent",),
			cookie_jar=aiohttp.DummyCookieJar(),
		)
		_sessions[loop] = (os.getpid(), kept)
	return kept


@atexit.register
def close_sessions() -> None:
	for loop, (pid, kept) in list(_sessions.items()):
		if pid != os.getpid() or loop.is_closed():
			continue
		if loop.is_running():
			asyncio.run_coroutine_threadsafe(kept.close(), loop).result(1)
		else:
			loop.run_until_complete(kept.close())


@lru_cache(maxsize=256)
def find_proxy(url: str) -> str | None:
	"""The proxy that the environment names for an address. Read once: it is the same for every call."""
	parts = urlsplit(url)
	return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


async def read_lines(content: aiohttp.StreamReader) -> AsyncIterator[str]:
	"""The lines that have something in them, as they come."""
	rest = b""
	async for piece in content.iter_any():
		*whole, rest = (rest + piece).split(b"\n")
		for line in whole:
			if line and line != b"\r":
				yield line.decode("utf-8", "replace")
	if rest:
		yield rest.decode("utf-8", "replace")
